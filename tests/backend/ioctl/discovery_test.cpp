// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include <cerrno>
#include <set>

#include "neuronbook/backend/ioctl_driver.hpp"
#include "neuronbook/base/describe.hpp"
#include "support/script_port.hpp"

using namespace neuronbook;
using test::Script;
using test::ScriptPort;

namespace {

std::shared_ptr<Script> machine() {
    auto script = std::make_shared<Script>();
    script->files["/sys/module/neuron"] = "";
    script->files["/sys/module/neuron/version"] = "2.24.7.0\n";
    script->files["/dev/neuron3"] = "";
    script->files["/dev/neuron5"] = "";
    return script;
}

Error connect_error(const std::shared_ptr<Script>& script) {
    IoctlDriver driver{ScriptPort(script)};
    const auto up = driver.connect();
    REQUIRE_FALSE(up);
    CHECK_FALSE(driver.usable());
    return up.error();
}

} // namespace

TEST_CASE("versions are read as three numbers or not at all", "[backend]") {
    using neuronbook::detail::parse_version;
    CHECK(parse_version("2.24.7.0") == DriverVersion{2, 24, 7});
    CHECK(parse_version("2.30.2") == DriverVersion{2, 30, 2});
    for (const char* text :
         {"", "2", "2.", "2.24", "2.24.", "a.b.c", ".1.2", "2,24,7", "-1.2.3", "99999999999.1.1"}) {
        INFO(text);
        CHECK_FALSE(parse_version(text));
    }
}

TEST_CASE("devices are the nodes present, in order, gaps allowed", "[backend]") {
    ScriptPort port(machine());
    CHECK(neuronbook::detail::present_devices(port) ==
          DeviceList{HostDeviceId{3}, HostDeviceId{5}});
}

TEST_CASE("D12: five ways of not reaching a device have five messages, each with its path",
          "[backend][D12]") {
    auto no_driver = std::make_shared<Script>();
    auto no_node = machine();
    no_node->files.erase("/dev/neuron3");
    no_node->files.erase("/dev/neuron5");
    auto forbidden = machine();
    forbidden->open_errors["/dev/neuron3"] = EACCES;
    auto gone = machine();
    gone->open_errors["/dev/neuron3"] = ENXIO;
    auto no_version = machine();
    no_version->files.erase("/sys/module/neuron/version");
    no_version->read_errors["/sys/module/neuron/version"] = EACCES;

    const struct {
        std::shared_ptr<Script> script;
        Detail detail;
        const char* path;
    } rows[] = {{no_driver, Detail::NoDriver, "/sys/module/neuron"},
                {no_node, Detail::NoDevices, "/dev/neuron"},
                {forbidden, Detail::NotPermitted, "/dev/neuron3"},
                {gone, Detail::DeviceGone, "/dev/neuron3"},
                {no_version, Detail::VersionUnreadable, "/sys/module/neuron/version"}};
    std::set<std::string> texts;
    for (const auto& row : rows) {
        const Error error = connect_error(row.script);
        const std::string text = describe(error);
        INFO(text);
        CHECK(error.detail == row.detail);
        CHECK(static_cast<int>(error.status) == 1);
        CHECK(text.find(row.path) != std::string::npos);
        texts.insert(text);
    }
    CHECK(texts.size() == 5);
}

TEST_CASE("a driver of another major release is refused before anything is opened", "[backend]") {
    const struct {
        const char* version;
        Detail detail;
        std::uint64_t value;
    } rows[] = {{"1.9.3.0", Detail::DriverTooOld, 1}, {"3.0.1.0", Detail::DriverTooNew, 3}};
    for (const auto& row : rows) {
        auto script = machine();
        script->files["/sys/module/neuron/version"] = row.version;
        const Error error = connect_error(script);
        CHECK(error.detail == row.detail);
        CHECK(error.value == row.value);
        CHECK(error.limit == 2);
        CHECK(script->calls.empty());
    }
}

TEST_CASE("a runtime number outside the driver's range is refused with both numbers", "[backend]") {
    const struct {
        std::uint32_t min, max;
        Detail detail;
        std::uint64_t value;
    } rows[] = {{2, 6, Detail::DriverTooOld, 6}, {8, 12, Detail::DriverTooNew, 8}};
    for (const auto& row : rows) {
        auto script = machine();
        script->ioctl = [&](std::uint32_t request, void* argument) -> std::int64_t {
            if (request == 0x80184E6E) // DRIVER_INFO_GET: second generation, first feature word
                *static_cast<uapi::DeviceDriverInfo*>(argument) = {.architecture = 2,
                                                                   .feature_flags1 = 0xFF};
            else // COMPATIBLE_VERSION
                *static_cast<uapi::CompatibleVersion*>(argument) = {.max = row.max, .min = row.min};
            return 0;
        };
        const Error error = connect_error(script);
        CHECK(error.detail == row.detail);
        CHECK(error.value == row.value);
        CHECK(error.limit == 7);
        CHECK(script->calls.back() == "close");
    }
}

TEST_CASE("D17: an unknown architecture is an error with its number, not an abort",
          "[backend][D17]") {
    for (const std::uint32_t number : {0u, 1u, 5u, 77u}) {
        auto script = machine();
        script->ioctl = [&](std::uint32_t, void* argument) -> std::int64_t {
            static_cast<uapi::DeviceDriverInfo*>(argument)->architecture = number;
            return 0;
        };
        const Error error = connect_error(script);
        CHECK(error.detail == Detail::UnknownArchitecture);
        CHECK(error.value == number);
    }
}

TEST_CASE("interrupted calls are made again", "[backend]") {
    auto script = machine();
    int interruptions = 3;
    script->ioctl = [&](std::uint32_t, void*) -> std::int64_t {
        return interruptions-- > 0 ? -EINTR : -EIO;
    };
    script->open_interruptions = 2;
    CHECK(connect_error(script).os_error == EIO);
    CHECK(interruptions == -1);
    CHECK(script->open_interruptions == 0);
}
