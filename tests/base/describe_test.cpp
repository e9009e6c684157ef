// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <set>
#include <string>

#include "neuronbook/base/describe.hpp"
#include "support/catch.hpp"

using namespace neuronbook;

namespace {

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

std::string opening(Detail detail, std::int32_t os_error, const char* path) {
    return describe({.operation = Operation::BringUp,
                     .detail = detail,
                     .os_error = os_error,
                     .text = ShortText{path}});
}

} // namespace

TEST_CASE("sizes are printed as the runtime's reports print them", "[base][describe]") {
    CHECK(human(Bytes{0}) == "0.000B");
    CHECK(human(Bytes{1}) == "1.000B");
    CHECK(human(Bytes{1023}) == "1023.000B");
    CHECK(human(Bytes{1024}) == "1.000KB");
    CHECK(human(Bytes{13376}) == "13.062KB");
    CHECK(human(Bytes{13743184}) == "13.107MB");
    CHECK(human(Bytes{180355072}) == "172.000MB");
    CHECK(human(Bytes{4294967296}) == "4.000GB");
    CHECK(human(Bytes{0xFFFF'FFFF'FFFF'FFFFu}) == "17179869184.000GB");
}

TEST_CASE("sizes are rounded as printf rounds them, up to the last digit", "[base][describe]") {
    constexpr std::array<const char*, 4> units{"B", "KB", "MB", "GB"};
    std::mt19937_64 random(11);
    for (int i = 0; i < 20000; ++i) {
        const std::uint64_t size = random() >> (11 + random() % 53); // a double holds it
        double amount = static_cast<double>(size);
        std::size_t unit = 0;
        for (; amount >= 1024 && unit < 3; ++unit) amount /= 1024;
        char text[40];
        std::snprintf(text, sizeof text, "%.3f%s", amount, units[unit]);
        REQUIRE(human(Bytes{size}) == text);
    }
    CHECK(human(Bytes{1048575}) == "1023.999KB");
    CHECK(human(Bytes{1073741823}) == "1024.000MB");
    CHECK(human(Bytes{1024 + 64}) == "1.062KB"); // 1.0625: the tie goes to the even digit
    CHECK(human(Bytes{1024 + 192}) == "1.188KB");
}

TEST_CASE("errno numbers have names", "[base][describe]") {
    CHECK(errno_text(ENOMEM) == "ENOMEM");
    CHECK(errno_text(ENOENT) == "ENOENT");
    CHECK(errno_text(E2BIG) == "E2BIG");
    CHECK(errno_text(EOPNOTSUPP) == "EOPNOTSUPP");
    CHECK(errno_text(524) == "ENOTSUPP(524)");
    CHECK(errno_text(9999) == "errno 9999");
}

TEST_CASE("every detail has a sentence of its own, whatever the error knows", "[base][describe]") {
    std::set<std::string> seen;
    for (int i = 0; i < static_cast<int>(Detail::Count_); ++i) {
        Error error{.detail = static_cast<Detail>(i)};
        for (const bool filled : {false, true}) {
            if (filled) {
                error.os_error = EIO;
                error.device = error.core = error.hbm = 1;
                error.value = error.limit = error.asked = error.free = error.largest = 5;
                error.lnc = 5;
                error.text = ShortText{"the text"};
            }
            const auto text = describe(error);
            INFO(text);
            CHECK(seen.insert(text).second);
            for (const char* slip : {"{", "}", "[", "]", "  ", "?}", " :", " ,"})
                CHECK_FALSE(has(text, slip));
            CHECK(has(text, "(FAILURE, 1)"));
        }
    }
}

TEST_CASE("every operation has a name, and none stands for nothing", "[base][describe]") {
    std::set<std::string> seen;
    for (int i = 0; i < static_cast<int>(Operation::Count_); ++i) {
        const auto text = describe({.operation = static_cast<Operation>(i)});
        INFO(text);
        CHECK(seen.insert(text).second);
    }
    CHECK(describe({}) == "failed (FAILURE, 1)");
    CHECK(describe({.operation = Operation::ResetCores}) == "reset cores: failed (FAILURE, 1)");
}

TEST_CASE("numbers outside of the enumerations are described, not read past the table",
          "[base][describe]") {
    const Error error{.status = static_cast<Status>(77),
                      .operation = static_cast<Operation>(250),
                      .detail = static_cast<Detail>(250)};
    CHECK(describe(error) == "failed (UNKNOWN, 77)");
}

TEST_CASE("an error names its place, and each part only if it is known", "[base][describe]") {
    Error error{.operation = Operation::Copy};
    error.device = 3;
    CHECK(describe(error) == "copy on ND 3: failed (FAILURE, 1)");
    error.core = 0;
    error.hbm = 1;
    CHECK(describe(error) == "copy on ND 3 NC 0 HBM 1: failed (FAILURE, 1)");
}

TEST_CASE("a core of someone else is refused in the original's words", "[base][describe]") {
    const Error error{.status = Status::Invalid,
                      .operation = Operation::Resolve,
                      .detail = Detail::CoreNotOwned,
                      .device = 2,
                      .core = 5};
    CHECK(describe(error) == "resolve a core: NC 5 from device: 2 does not belong to this process "
                             "(INVALID, 2)");
}

TEST_CASE("A01: a failed allocation says how much, what for and how much there was",
          "[base][describe]") {
    Error error{.status = Status::Resource,
                .operation = Operation::Allocate,
                .detail = Detail::OutOfDeviceMemory,
                .os_error = ENOMEM,
                .device = 0,
                .core = 0,
                .hbm = 0,
                .value = 17147660042,
                .limit = 17179869184,
                .asked = 13743184,
                .text = ShortText{"dma_rings_io"}};
    auto text = describe(error);
    INFO(text);
    CHECK(has(text, "allocate on ND 0 NC 0 HBM 0: out of device memory: 13.107MB wanted"));
    CHECK(has(text, "dma_rings_io"));
    CHECK(has(text, "15.970GB"));
    CHECK(has(text, "16.000GB"));
    CHECK(has(text, "ENOMEM (RESOURCE, 4)"));
    CHECK_FALSE(has(text, "largest"));
    error.free = 16777216;
    error.largest = 8388608;
    text = describe(error);
    INFO(text);
    CHECK(has(text, "16.000MB free"));
    CHECK(has(text, "largest free block 8.000MB"));
    error.others = 4194304;
    error.free_blocks = 3;
    error.cause = FailureCause::Fragmentation;
    text = describe(error);
    INFO(text);
    CHECK(has(text, "15.970GB on the HBM of 16.000GB, others 4.000MB; 16.000MB free, "
                    "largest free block 8.000MB of 3: fragmentation"));
}

TEST_CASE("A06: running out of handles is not called running out of memory", "[base][describe]") {
    const auto text = describe({.status = Status::Resource, .detail = Detail::OutOfHandles});
    CHECK(has(text, "handle"));
    CHECK_FALSE(has(text, "out of"));
}

TEST_CASE("D12: five ways not to reach a device, five messages with path and remedy",
          "[base][describe]") {
    const auto no_module = opening(Detail::NoDriver, 0, "");
    const auto no_node = opening(Detail::NoDevices, 0, "");
    const auto denied = opening(Detail::NotPermitted, EACCES, "/dev/neuron0");
    const auto gone = opening(Detail::DeviceGone, ENXIO, "/dev/neuron0");
    const auto unreadable = opening(Detail::VersionUnreadable, EACCES, "");
    CHECK(std::set{no_module, no_node, denied, gone, unreadable}.size() == 5);

    CHECK(has(no_module, "/sys/module/neuron"));
    CHECK(has(no_module, "modprobe neuron"));
    CHECK(has(no_node, "/dev/neuron"));
    CHECK(has(no_node, "--device"));
    CHECK(has(denied, "/dev/neuron0"));
    CHECK(has(denied, "EACCES"));
    CHECK(has(denied, "udev"));
    CHECK(has(denied, "group"));
    CHECK(has(denied, "root"));
    CHECK(has(gone, "/dev/neuron0"));
    CHECK(has(gone, "ENXIO"));
    CHECK(has(gone, "kernel log"));
    CHECK(has(unreadable, "/sys/module/neuron/version"));
    CHECK(has(unreadable, "EACCES"));
}

TEST_CASE("G03: the errno's name is in the text, once", "[base][describe]") {
    for (const std::int32_t number : {ENOENT, E2BIG, EBUSY, EFAULT, ENXIO, 524}) {
        for (const Detail detail : {Detail::DriverErrno, Detail::UnknownHandle, Detail::CoresBusy,
                                    Detail::NotOnThisArchitecture}) {
            const auto text = describe({.detail = detail, .os_error = number});
            INFO(text);
            const auto at = text.find(errno_text(number));
            REQUIRE(at != std::string::npos);
            CHECK(text.find(errno_text(number), at + 1) == std::string::npos);
        }
    }
}

TEST_CASE("G03: a positive answer is told as a number, not as an errno", "[base][describe]") {
    const auto text = describe({.operation = Operation::Query,
                                .detail = Detail::DriverPositive,
                                .os_error = 8,
                                .value = 8});
    CHECK(has(text, "answered 8"));
    CHECK_FALSE(has(text, "ENOEXEC"));
    CHECK_FALSE(has(text, "errno"));
}
