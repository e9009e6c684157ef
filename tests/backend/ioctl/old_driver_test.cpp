// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include <array>
#include <memory>
#include <set>
#include <vector>

#include "neuronbook/runtime.hpp"
#include "support/old_driver_port.hpp"
#include "support/script_port.hpp"
#include "support/sim_machine.hpp"

using namespace neuronbook;
using test::OldDriver;
using test::OldDriverPort;

namespace {

constexpr HostDeviceId kDevice{0};

struct Era {
    const char* version;
    std::uint64_t features;
    std::uint32_t allocate; ///< the request word such a driver is asked for memory with
    bool aligns;
};

// What came when: driver-abi.md 4.2 and 7.
const Era kEras[] = {
    {"2.2.13.0", 0, 0x80084E15, false},    {"2.5.7.0", 0, 0x80084E66, true},
    {"2.12.11.0", 0x7, 0x80084E66, true},  {"2.17.17.0", 0x1F, 0x80304E66, true},
    {"2.20.28.0", 0x7F, 0x80384E66, true}, {"2.24.7.0", 0xFF, 0x80384E66, true},
};

/// Words of all forms of allocation, and of what came with a feature.
std::vector<std::uint32_t> later_than(const Era& era) {
    std::set<std::uint32_t> words{0x80084E15, 0x80084E66, 0x80304E66, 0x80384E66, 0xC0404E66};
    words.erase(era.allocate);
    if (era.features == 0) words.insert(0x80184E6E);                 // DRIVER_INFO_GET
    if (!(era.features & 0x08)) words.insert(0xC0504E55);            // marks of 512 cores
    if (!(era.features & 0x40)) words.insert(0xC0284E18);            // 64-bit buffer copy
    if (era.features < 0x1F) words.insert(0xC1044E73);               // routing map, 2.16
    if (era.features < 0x3F) words.insert({0xC1144E7A, 0xC10C4E7A}); // pod status, 2.19 and 2.23
    return {words.begin(), words.end()};
}

} // namespace

TEST_CASE("older drivers are only asked what they know, and serve the main job", "[backend]") {
    for (const auto& era : kEras) {
        INFO("driver " << era.version);
        SimOptions options{.instance = "trn1.32xlarge", .driver_version = "2.24.7"};
        options.without = {.requests = later_than(era), .features = 0xFF & ~era.features};
        const auto kernel = SimKernel::make(options);
        REQUIRE(kernel);
        const auto baseline = (*kernel)->census();
        auto old = std::make_shared<OldDriver>();
        old->version = era.version;
        {
            auto book = Runtime<IoctlDriver<OldDriverPort>>::open(
                {.log_level = LogLevel::Quiet}, IoctlDriver(OldDriverPort(**kernel, old)));
            INFO((book ? "" : describe(book.error())));
            REQUIRE(book);
            CHECK((*book)->tree().core_count() == 32);
            CHECK((*kernel)->census().marks == 32);
            // The family's table stands in for the driver's map: device 4 is at 1 (not identity).
            CHECK((*book)->tree().find(HostDeviceId{4})->routing() == RoutingId{1});
            auto tier = (*book)->model_allocator({DeviceIndex{0}, CoreIndex{0}});
            REQUIRE(tier);
            auto block = (*tier)->allocate({.size = Bytes{10'000}, .usage = Usage::Weight});
            REQUIRE(block);
            std::array<std::byte, 64> out{};
            std::array<std::byte, 64> in{};
            out.fill(std::byte{9});
            CHECK((*tier)->write(*block, Bytes{9'900}, out));
            CHECK((*tier)->read(*block, Bytes{9'900}, in));
            CHECK(in == out);
            const auto aligned = (*tier)->allocate({.size = Bytes{4096}, .alignment = Bytes{8192}});
            // Where the driver has no aligned call, a larger chunk has an aligned place.
            REQUIRE(aligned);
            CHECK(aligned->address().value() % 8192 == 0);
            CHECK(aligned->charged() == Bytes{era.aligns ? 4096u : 12288u});
        }
        CHECK(old->asked.contains(era.allocate));
        for (const auto word : options.without.requests) CHECK_FALSE(old->asked.contains(word));
        CHECK((*kernel)->unknown().empty());
        CHECK((*kernel)->census() == baseline);
    }
}

TEST_CASE("a driver with maps of 64 cores is looked at and claimed like any other, up to there",
          "[backend]") {
    SimOptions options{.instance = "trn1.32xlarge", .driver_version = "2.24.7"};
    options.without = {.requests = {0xC0504E55, 0x40504E56}, .features = 0xF8}; // leaves 0x7
    const auto kernel = SimKernel::make(options);
    REQUIRE(kernel);
    auto old = std::make_shared<OldDriver>();
    old->version = "2.12.11.0";
    IoctlDriver driver(OldDriverPort(**kernel, old));
    REQUIRE(driver.connect());
    REQUIRE(driver.claim_free(UserCore{3}, 2));
    const auto free = driver.free_cores(UserCore{0}, 32);
    REQUIRE(free);
    CHECK(free->count() == 30);
    CHECK_FALSE((*free)[4]);
    CHECK(driver.claim(UserCore{62}, 2));
    const auto past = driver.claim(UserCore{63}, 2);
    REQUIRE_FALSE(past);
    CHECK(past.error().detail == Detail::NotOnThisDriver);
    CHECK(past.error().limit == 64);
    CHECK(driver.release(UserCore{0}, 64));
    CHECK((*kernel)->census().marks == 0);
    for (const auto word : options.without.requests) CHECK_FALSE(old->asked.contains(word));
}

TEST_CASE("a driver that is too old or too new is refused with both numbers, and nothing is left",
          "[backend]") {
    const struct {
        const char* version;
        std::uint32_t min, max;
        Detail detail;
        std::uint64_t value, limit;
    } rows[] = {{"1.19.2.0", 5, 7, Detail::DriverTooOld, 1, 2},
                {"3.0.0.0", 5, 7, Detail::DriverTooNew, 3, 2},
                {"2.24.7.0", 2, 6, Detail::DriverTooOld, 6, 7},
                {"2.24.7.0", 8, 9, Detail::DriverTooNew, 8, 7}};
    for (const auto& row : rows) {
        const auto kernel =
            SimKernel::make({.instance = "trn1.32xlarge", .driver_version = "2.24.7"});
        REQUIRE(kernel);
        const auto baseline = (*kernel)->census();
        auto driver = std::make_shared<OldDriver>();
        driver->version = row.version;
        driver->serves = {.max = row.max, .min = row.min};
        const auto refused = Runtime<IoctlDriver<OldDriverPort>>::open(
            {.log_level = LogLevel::Quiet}, IoctlDriver(OldDriverPort(**kernel, driver)));
        REQUIRE_FALSE(refused);
        INFO(describe(refused.error()));
        CHECK(refused.error().status == Status::Failure);
        CHECK(refused.error().detail == row.detail);
        CHECK(refused.error().value == row.value);
        CHECK(refused.error().limit == row.limit);
        CHECK((*kernel)->census() == baseline);
    }
}

TEST_CASE("a range that an old driver cannot name is refused before its first piece", "[backend]") {
    SimOptions options{.instance = "trn1.2xlarge", .driver_version = "2.24.7"};
    options.without.features = 0xE0; // leaves 0x1F
    const auto kernel = SimKernel::make(options);
    REQUIRE(kernel);
    auto old = std::make_shared<OldDriver>();
    old->version = "2.17.17.0";
    IoctlDriver driver(OldDriverPort(**kernel, old));
    REQUIRE(driver.connect());
    REQUIRE(driver.open_device(kDevice));
    const auto chunk = driver.allocate(kDevice, {.size = Bytes{std::uint64_t{6} << 30}});
    REQUIRE(chunk);
    std::byte there{}; // never touched
    const auto refused = driver.write(kDevice, *chunk, Bytes{std::uint64_t{7} << 29},
                                      {&there, std::uint64_t{2} << 30});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().detail == Detail::NotOnThisDriver);
    CHECK_FALSE(old->asked.contains(0xC0084E18));
    CHECK(driver.write(kDevice, *chunk, Bytes{0xFFFF'FFFFu}, {&there, 1}));
}

TEST_CASE("a copy of more than 4 GiB is made in pieces that the kernel does not cut",
          "[backend][driver]") {
    auto script = std::make_shared<test::Script>();
    script->files = {{"/sys/module/neuron", ""},
                     {"/sys/module/neuron/version", "2.24.7.0"},
                     {"/dev/neuron0", ""}};
    std::vector<uapi::MemBufCopy64> copies;
    script->ioctl = [&](std::uint32_t word, void* argument) -> std::int64_t {
        if (word == 0x80184E6E)
            *static_cast<uapi::DeviceDriverInfo*>(argument) = {.architecture = 2,
                                                               .feature_flags1 = 0xFF};
        if (word == 0x40084E5D)
            *static_cast<uapi::CompatibleVersion*>(argument) = {.max = 7, .min = 5};
        if (word == 0xC0284E18) copies.push_back(*static_cast<uapi::MemBufCopy64*>(argument));
        return 0;
    };
    IoctlDriver driver{test::ScriptPort(script)};
    REQUIRE(driver.connect());
    REQUIRE(driver.open_device(kDevice));
    const std::uint64_t size = (std::uint64_t{5} << 30) + 17;
    const Chunk chunk{.handle = ChunkHandle{3}, .size = Bytes{size + 4096}};
    std::byte there{}; // never touched: the kernel of this test copies nothing
    REQUIRE(driver.write(kDevice, chunk, Bytes{100}, {&there, size}));
    std::uint64_t moved = 0;
    for (const auto& copy : copies) {
        CHECK(copy.size < std::uint64_t{1} << 32);
        CHECK(copy.offset == 100 + moved);
        CHECK(static_cast<std::byte*>(copy.buffer) == &there + moved);
        CHECK(copy.copy_to_mem_handle == 1);
        moved += copy.size;
    }
    CHECK(moved == size);
    CHECK(copies.size() == 6);
}
