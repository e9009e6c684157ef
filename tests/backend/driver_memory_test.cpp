// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "support/sim_machine.hpp"

using namespace neuronbook;
using test::open_driver;
using test::SimMachine;

namespace {

constexpr HostDeviceId kDevice{0};

ChunkRequest device_chunk(std::uint64_t size, std::uint64_t alignment = 0) {
    return {.size = Bytes{size}, .alignment = Bytes{alignment}, .category = 9};
}

ChunkRequest host_chunk(std::uint64_t size) {
    return {.size = Bytes{size}, .location = MemoryLocation::Host, .category = 2};
}

std::vector<std::byte> pattern(std::size_t size) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + (i >> 8));
    return bytes;
}

} // namespace

TEST_CASE("memory comes from where the real driver takes it, in every form", "[backend][driver]") {
    for (const char* release : {"2.24.7", "2.26.5", "2.30.2"}) {
        INFO(release);
        SimMachine machine("trn1.2xlarge", release);
        auto driver = open_driver(machine);
        const auto small = driver.allocate(kDevice, device_chunk(100));
        REQUIRE(small);
        CHECK(small->address.value() == 0x3c0000000);
        CHECK(small->size.count() == 4096);
        const auto large = driver.allocate(kDevice, device_chunk((512 << 10) + 1, 1 << 20));
        REQUIRE(large);
        CHECK(large->address.value() == 0x1000000);
        CHECK(large->size.count() == 0x81000);
        auto on_other = device_chunk(4096);
        on_other.hbm = 1;
        const auto other = driver.allocate(kDevice, on_other);
        REQUIRE(other);
        CHECK(other->address.value() == 0x13c0000000);
        const auto host = driver.allocate(kDevice, host_chunk(4097));
        REQUIRE(host);
        CHECK((host->address.value() >> 44) == 1);
        CHECK(host->size.count() == 8192);
        for (const auto& chunk : {*small, *large, *other, *host})
            CHECK(driver.free(kDevice, chunk));
        driver.disconnect();
        CHECK(machine.kernel->census() == machine.baseline);
    }
}

TEST_CASE("what breaks a rule is refused with value and rule before any call",
          "[backend][driver]") {
    SimMachine machine("trn2.3xlarge", "2.26.5");
    auto driver = open_driver(machine);
    auto no_hbm = device_chunk(4096);
    no_hbm.hbm = 4;
    auto no_core = device_chunk(4096);
    no_core.core = CoreIndex{8};
    auto no_category = device_chunk(4096);
    no_category.category = 20;
    auto host_scratchpad = host_chunk(4096);
    host_scratchpad.category = 19;
    auto aligned_host = host_chunk(8192);
    aligned_host.alignment = Bytes{8192};
    const struct {
        ChunkRequest ask;
        Detail detail;
        int status;
        std::uint64_t value, limit;
    } rows[] = {
        {device_chunk(0), Detail::ZeroSize, 2, 0, 0},
        {device_chunk(4096, 3), Detail::BadAlignment, 2, 3, 1u << 30},
        {device_chunk(4096, 1u << 31), Detail::BadAlignment, 2, 1u << 31, 1u << 30},
        {aligned_host, Detail::BadAlignment, 2, 8192, 4096},
        {no_hbm, Detail::HbmOutOfRange, 2, 4, 4},
        {no_core, Detail::CoreOutOfRange, 2, 8, 8},
        {no_category, Detail::UsageInvalid, 2, 20, 20},
        {host_scratchpad, Detail::UsageNotHere, 2, 19, 0},
        {device_chunk(0x600000001), Detail::LargerThanHbm, 4, 0x600000001, 0x600000000},
        {host_chunk(1ull << 63), Detail::OutOfHostMemory, 11, 1ull << 63, (1ull << 63) - 1},
    };
    const auto calls = machine.counts.total();
    for (const auto& row : rows) {
        const auto refused = driver.allocate(kDevice, row.ask);
        REQUIRE_FALSE(refused);
        INFO("detail " << static_cast<int>(row.detail));
        CHECK(refused.error().detail == row.detail);
        CHECK(static_cast<int>(refused.error().status) == row.status);
        CHECK(refused.error().value == row.value);
        CHECK(refused.error().limit == row.limit);
        CHECK(refused.error().device == 0);
    }
    CHECK_FALSE(driver.allocate(HostDeviceId{1}, device_chunk(4096)));
    CHECK_FALSE(driver.chunks(kDevice, 4));
    CHECK_FALSE(driver.map(kDevice, {.size = Bytes{4096}, .hbm = 1'000'000}));
    CHECK(machine.counts.total() == calls);
}

TEST_CASE("B06: a request above the HBM's size is status 4 and never reaches the driver",
          "[backend][driver][B06]") {
    SimMachine machine;
    auto driver = open_driver(machine);
    const auto calls = machine.counts.total();
    const auto refused = driver.allocate(kDevice, device_chunk(0x400000001));
    REQUIRE_FALSE(refused);
    CHECK(static_cast<int>(refused.error().status) == 4);
    CHECK(refused.error().asked == 0x400000001);
    CHECK(machine.counts.total() == calls);
}

TEST_CASE("B08: alignments of 3 and 2^31, and any for host memory, are refused before a call",
          "[backend][driver][B08]") {
    SimMachine machine;
    auto driver = open_driver(machine);
    auto host = host_chunk(8192);
    host.alignment = Bytes{8192};
    const auto calls = machine.counts.total();
    for (const auto& ask : {device_chunk(4096, 3), device_chunk(4096, 1u << 31), host}) {
        const auto refused = driver.allocate(kDevice, ask);
        REQUIRE_FALSE(refused);
        CHECK(static_cast<int>(refused.error().status) == 2);
        CHECK(refused.error().detail == Detail::BadAlignment);
        CHECK(refused.error().value == ask.alignment.count());
    }
    CHECK(machine.counts.total() == calls);
    CHECK(driver.allocate(kDevice, device_chunk(4096, 1u << 30)));
}

TEST_CASE("G01: a host short of pieces serves up to 2 MiB from reserve, then says host memory",
          "[backend][driver][G01]") {
    SimMachine machine;
    auto driver = open_driver(machine);
    machine.kernel->set_faults(kDevice, {.largest_host_piece = Bytes{4096}});
    int served = 0;
    auto last = driver.allocate(kDevice, host_chunk(2u << 20));
    for (; last && served < 1000; ++served) last = driver.allocate(kDevice, host_chunk(2u << 20));
    CHECK(served == 16); // the driver's 32 MiB of that size
    REQUIRE_FALSE(last);
    CHECK(static_cast<int>(last.error().status) == 11);
    CHECK(last.error().detail == Detail::OutOfHostMemory);
    CHECK(last.error().os_error == ENOMEM);
    CHECK(last.error().hbm == Error::kNone);
    CHECK(driver.allocate(kDevice, device_chunk(2u << 20)));
}

TEST_CASE("a device out of memory is status 4 with the numbers, a host out of pieces is 11",
          "[backend][driver]") {
    SimMachine machine;
    auto driver = open_driver(machine);
    for (int i = 0; i < 15; ++i) REQUIRE(driver.allocate(kDevice, device_chunk(1u << 30)));
    const auto device = driver.allocate(kDevice, device_chunk(1u << 30));
    REQUIRE_FALSE(device);
    CHECK(static_cast<int>(device.error().status) == 4);
    CHECK(device.error().detail == Detail::OutOfDeviceMemory);
    CHECK(device.error().os_error == ENOMEM);
    CHECK(device.error().asked == 1u << 30);
    CHECK(device.error().limit == 0x400000000);
    CHECK(device.error().hbm == 0);
    const auto host = driver.allocate(kDevice, host_chunk((4u << 20) + 1));
    REQUIRE_FALSE(host);
    CHECK(static_cast<int>(host.error().status) == 11);
    CHECK(host.error().detail == Detail::OutOfHostMemory);
}

TEST_CASE("bytes written come back, on device and host, across pages", "[backend][driver]") {
    SimMachine machine("trn2.3xlarge", "2.30.2");
    auto driver = open_driver(machine);
    const auto bytes = pattern(300'001);
    for (const auto& ask : {device_chunk(1 << 20), host_chunk(1 << 20)}) {
        const auto chunk = driver.allocate(kDevice, ask);
        REQUIRE(chunk);
        REQUIRE(driver.write(kDevice, *chunk, Bytes{12'345}, bytes));
        std::vector<std::byte> back(bytes.size());
        REQUIRE(driver.read(kDevice, *chunk, Bytes{12'345}, back));
        CHECK(back == bytes);
        // New memory is not zero.
        std::byte first{};
        REQUIRE(driver.read(kDevice, *chunk, Bytes{0}, {&first, 1}));
        CHECK(first != std::byte{0});
        CHECK(driver.free(kDevice, *chunk));
    }
}

TEST_CASE("F07: an offset plus size that wraps is refused without a call",
          "[backend][driver][F07]") {
    SimMachine machine;
    auto driver = open_driver(machine);
    const auto chunk = driver.allocate(kDevice, device_chunk(4096));
    REQUIRE(chunk);
    std::byte buffer[32]{};
    const auto calls = machine.counts.total();
    for (const std::uint64_t offset :
         {~std::uint64_t{0} - 15, std::uint64_t{4096} - 31, std::uint64_t{4097}}) {
        const auto written = driver.write(kDevice, *chunk, Bytes{offset}, buffer);
        const auto read = driver.read(kDevice, *chunk, Bytes{offset}, buffer);
        REQUIRE_FALSE(written);
        REQUIRE_FALSE(read);
        CHECK(static_cast<int>(written.error().status) == 2);
        CHECK(static_cast<int>(read.error().status) == 2);
        CHECK(read.error().value == offset);
        CHECK(read.error().asked == 32);
        CHECK(read.error().limit == 4096);
    }
    CHECK_FALSE(driver.write(kDevice, *chunk, Bytes{0}, {static_cast<std::byte*>(nullptr), 16}));
    CHECK(driver.write(kDevice, *chunk, Bytes{4096}, {static_cast<std::byte*>(nullptr), 0}));
    CHECK(machine.counts.total() == calls);
}

TEST_CASE("a handle that the driver does not know is INVALID_HANDLE, old release and new",
          "[backend][driver]") {
    for (const char* release : {"2.24.7", "2.30.2"}) {
        SimMachine machine("trn1.2xlarge", release);
        auto driver = open_driver(machine);
        const auto chunk = driver.allocate(kDevice, device_chunk(4096));
        REQUIRE(chunk);
        REQUIRE(driver.free(kDevice, *chunk));
        const auto twice = driver.free(kDevice, *chunk);
        REQUIRE_FALSE(twice);
        CHECK(static_cast<int>(twice.error().status) == 3);
        CHECK(twice.error().value == chunk->handle.value());
    }
}

TEST_CASE("a mapping shows the chunk's bytes", "[backend][driver]") {
    SimMachine machine;
    auto driver = open_driver(machine);
    const auto chunk = driver.allocate(kDevice, device_chunk(1 << 20));
    REQUIRE(chunk);
    const auto mapped = driver.map(kDevice, *chunk);
    REQUIRE(mapped);
    const auto bytes = pattern(5000);
    std::memcpy(*mapped, bytes.data(), bytes.size());
    std::vector<std::byte> back(bytes.size());
    REQUIRE(driver.read(kDevice, *chunk, Bytes{0}, back));
    CHECK(back == bytes);
    CHECK(driver.unmap(*mapped, *chunk));
}

TEST_CASE("B09: a chunk at the very end of its HBM is mapped by 2.30 and refused before",
          "[backend][driver][B09]") {
    for (const char* release : {"2.24.7", "2.26.5", "2.30.2"}) {
        INFO(release);
        SimMachine machine("trn1.2xlarge", release);
        auto driver = open_driver(machine);
        // The small pool is the HBM's last GiB: fill it until a chunk touches the end.
        Chunk last;
        while (last.address.value() + last.size.count() != 0x400000000) {
            const auto next = driver.allocate(kDevice, device_chunk(512 << 10));
            REQUIRE(next);
            last = *next;
        }
        const auto calls = machine.counts.of(PortCall::Map);
        const auto mapped = driver.map(kDevice, last);
        if (std::string_view(release) == "2.30.2") {
            REQUIRE(mapped);
            CHECK(driver.unmap(*mapped, last));
        } else {
            REQUIRE_FALSE(mapped);
            CHECK(mapped.error().detail == Detail::TopOfHbmNotMappable);
            CHECK(mapped.error().limit == 0x400000000);
            CHECK(machine.counts.of(PortCall::Map) == calls);
        }
        CHECK(machine.kernel->would_have_crashed().empty());
    }
}

TEST_CASE("the driver's own list has its carve-out and grows past the first answer",
          "[backend][driver]") {
    SimMachine machine;
    auto driver = open_driver(machine);
    const auto fresh = driver.chunks(kDevice, 1);
    REQUIRE(fresh);
    REQUIRE(fresh->size() == 1);
    CHECK(fresh->front().address.value() == 0x1000000000);
    CHECK(fresh->front().size.count() == 16u << 20);
    CHECK(fresh->front().category == 13);
    for (int i = 0; i < 1000; ++i) REQUIRE(driver.allocate(kDevice, device_chunk(4096)));
    const auto many = driver.chunks(kDevice, 0);
    REQUIRE(many);
    CHECK(many->size() == 1001);
    CHECK(std::is_sorted(many->begin(), many->end(),
                         [](const auto& a, const auto& b) { return a.address < b.address; }));
}

TEST_CASE("a chunk whose address cannot be had is freed again", "[backend][driver]") {
    SimMachine machine; // 2.24 tells the address in a second call
    auto driver = open_driver(machine);
    machine.plan.fail_nth(2, -EFAULT);
    CHECK_FALSE(driver.allocate(kDevice, device_chunk(4096)));
    CHECK(machine.kernel->census().user_memory() == Holdings{});
}
