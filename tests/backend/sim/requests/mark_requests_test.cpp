// SPDX-License-Identifier: Apache-2.0
// Requests about cores: marks in both forms, core resets.
#include <cerrno>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

struct Marker : Process {
    using Process::Process;
    uapi::CrwlNcMapExt map{};

    std::int64_t mark(std::uint32_t count, std::uint32_t first, std::uint32_t last) {
        map = {count, first, last, 77, {5, 5, 5, 5, 5, 5, 5, 5}};
        return ask(uapi::kCrwlNcRangeMarkExt0, map);
    }
    std::int64_t unmark(std::uint64_t bits) {
        map = {0, 0, 0, 0, {bits}};
        return ask(uapi::kCrwlNcRangeUnmarkExt0, map);
    }
};

} // namespace

TEST_CASE("marks fill the bitmap, whatever was in it", "[sim][marks]") {
    const auto kernel = make_kernel();
    Marker m(*kernel, 1, Access::WriteOnly);
    CHECK(m.mark(4, 2, 511) == 0);
    CHECK(m.map.bitmap[0] == 0x3C);
    CHECK(m.map.bitmap[1] == 0);
    CHECK(m.map.max_nc_available == 0);
    CHECK(m.mark(1, 511, 511) == 0);
    CHECK(m.map.bitmap[7] == 0x8000000000000000u);
    CHECK(m.mark(512, 0, 511) == -EBUSY);
    CHECK(m.map.max_nc_available == 505);
    CHECK(m.map.bitmap[0] == 0);
    CHECK(m.mark(0, 0, 1) == 0);
    CHECK(m.map.bitmap[0] == 0);
}

TEST_CASE("a range outside the table is refused, with another errno since 2.29", "[sim][marks]") {
    for (const auto& [driver, error] : {std::pair{"2.24.7", -EINVAL}, std::pair{"2.26.5", -EINVAL},
                                        std::pair{"2.30.2", -ENXIO}}) {
        const auto kernel = make_kernel("trn1.2xlarge", driver);
        Marker m(*kernel, 1, Access::WriteOnly);
        CHECK(m.mark(1, 1, 0) == error);
        CHECK(m.mark(1, 512, 512) == error);
        CHECK(m.mark(1, 0, 512) == error);
        CHECK(m.map.max_nc_available == 0);
    }
}

TEST_CASE("indexes and bits count from the opened device", "[sim][marks]") {
    const auto kernel = make_kernel("trn1.32xlarge");
    Marker first(*kernel, 1, Access::WriteOnly);
    Marker second(*kernel, 1, Access::WriteOnly, "/dev/neuron1");
    CHECK(second.mark(1, 0, 0) == 0);
    CHECK(second.map.bitmap[0] == 1);
    for (const auto& [start, bit] : {std::pair{0, 1}, {1, 2}, {2, 8}, {3, 16}}) {
        CHECK(first.mark(1, static_cast<std::uint32_t>(start), 63) == 0);
        CHECK(first.map.bitmap[0] == static_cast<std::uint64_t>(bit));
    }
    CHECK(first.mark(64, 0, 63) == -EBUSY);
    CHECK(first.map.max_nc_available == 59);
    CHECK(second.unmark(1) == 0);
    CHECK(first.mark(1, 2, 2) == 0);
    CHECK(second.mark(1, 0, 510) == -EINVAL); // two beyond the table
}

TEST_CASE("the legacy form has one word of bits", "[sim][marks]") {
    const auto kernel = make_kernel();
    Process process(*kernel, 1, Access::WriteOnly);
    uapi::CrwlNcMap map{2, 0, 1, 0, 0};
    CHECK(process.ask(uapi::kCrwlNcRangeMark, map) == 0);
    CHECK(map.bitmap == 3);
    map = {2, 63, 100, 0, 0};
    CHECK(process.ask(uapi::kCrwlNcRangeMark, map) == 0);
    CHECK(map.bitmap == 0x8000000000000000u);
    map.bitmap = ~std::uint64_t{0};
    CHECK(process.ask(uapi::kCrwlNcRangeUnmark, map) == 0);
    CHECK(kernel->census().marks == 1); // slot 64 has no bit
    CHECK(process.ask(uapi::kCrwlNcRangeMark, nullptr) == 24);
}

TEST_CASE("nobody clears another's marks", "[sim][marks]") {
    const auto kernel = make_kernel();
    Marker one(*kernel, 1, Access::WriteOnly);
    Marker two(*kernel, 2, Access::WriteOnly);
    CHECK(one.mark(1, 0, 0) == 0);
    CHECK(two.mark(1, 0, 0) == -EBUSY);
    CHECK(two.mark(1, 0, 1) == 0);
    CHECK(two.map.bitmap[0] == 2);
    CHECK(two.unmark(1) == 0);
    CHECK(two.mark(1, 0, 0) == -EBUSY);
}

TEST_CASE("closing any free-access file drops every mark of its process", "[sim][marks]") {
    const auto kernel = make_kernel("trn1.32xlarge");
    Marker device(*kernel, 1);
    Marker one(*kernel, 1, Access::WriteOnly);
    Marker two(*kernel, 1, Access::WriteOnly, "/dev/neuron5");
    Marker other(*kernel, 2, Access::WriteOnly);
    CHECK(device.mark(1, 0, 31) == 0);
    CHECK(one.mark(1, 0, 31) == 0);
    CHECK(other.mark(1, 0, 31) == 0);
    CHECK(two.port.close(two.fd) == 0);
    CHECK(kernel->census().marks == 1);
    CHECK(one.mark(2, 0, 1) == 0);
}

TEST_CASE("marks made on a device file outlive it and its process", "[sim][marks]") {
    const auto kernel = make_kernel();
    Marker m(*kernel, 1);
    CHECK(m.mark(1, 1, 1) == 0);
    m.port.close(m.fd);
    kernel->end_process(1);
    CHECK(kernel->census().marks == 1);
}

TEST_CASE("a core reset is collected once and memory survives it", "[sim][reset]") {
    const auto kernel = make_kernel();
    Process process(*kernel, 321);
    const auto handle = process.allocate(4096);
    uapi::DeviceReset reset{1, 0};
    CHECK(process.ask(uapi::kNcReset, reset) == 0);
    CHECK(reset.request_id == 321);
    CHECK(process.ask(uapi::kNcReset, reset) == 1); // one pending per process
    uapi::DeviceReady ready{321, 77};
    CHECK(process.ask(uapi::kNcResetReady, ready) == 0);
    CHECK(ready.result == 0);
    CHECK(kernel->now().count == 100'000'000);
    CHECK(process.ask(uapi::kNcResetReady, ready) == 0);
    CHECK(ready.result == 1);
    CHECK(process.free(handle) == 0);
    CHECK(process.ask(uapi::kNcReset, reset) == 0);
}

TEST_CASE("a mark without an argument is answered like any bad range since 2.29", "[sim][marks]") {
    const auto older = make_kernel();
    CHECK(Process(*older).ask(uapi::kCrwlNcRangeMarkExt0, nullptr) == 80);
    const auto newer = make_kernel("trn1.2xlarge", "2.30.2");
    Process process(*newer);
    CHECK(process.ask(uapi::kCrwlNcRangeMarkExt0, nullptr) == -ENXIO);
    CHECK(process.ask(uapi::kCrwlNcRangeUnmarkExt0, nullptr) == -EFAULT);
}
