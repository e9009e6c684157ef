// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include "neuronbook/neuronbook.hpp"
#include "support/book.hpp"

using namespace neuronbook;
using test::Book;
using test::core;
using test::kQuiet;
using test::quiet_cores;
using test::SimMachine;
using test::up;

namespace {

struct Small : RuntimeShape {
    static constexpr std::uint32_t kNumMla = 2;
};

/// A tree that cannot hold a device of eight cores.
struct TwoCores : RuntimeShape {
    static constexpr std::uint32_t kNumTpb = 2;
};

} // namespace

TEST_CASE("every instance type comes up with its devices and cores and goes without a trace",
          "[runtime]") {
    const struct {
        const char* instance;
        const char* driver;
        std::uint32_t devices, cores;
    } rows[] = {{"trn1.2xlarge", "2.24.7", 1, 2},      {"trn1.32xlarge", "2.24.7", 16, 32},
                {"inf2.24xlarge", "2.26.5", 6, 12},    {"inf2.48xlarge", "2.30.2", 12, 24},
                {"trn2.3xlarge", "2.26.5", 1, 8},      {"trn2.48xlarge", "2.30.2", 16, 128},
                {"trn2u.48xlarge", "2.24.7", 16, 128}, {"trn3p.48xlarge", "2.26.5", 16, 128}};
    for (const auto& row : rows) {
        INFO(row.instance << " under " << row.driver);
        SimMachine machine(row.instance, row.driver);
        auto runtime = up(machine);
        CHECK(runtime->tree().device_count() == row.devices);
        CHECK(runtime->tree().core_count() == row.cores);
        CHECK(machine.kernel->census().marks == row.cores);
        CHECK(machine.kernel->census().open_files == row.devices + 1);
        runtime.reset();
        CHECK(machine.kernel->census() == machine.baseline);
        CHECK(machine.kernel->unknown().empty());
    }
}

TEST_CASE("A14: used, limit and what can be allocated come from the architecture's table",
          "[runtime][A14]") {
    const struct {
        const char* instance;
        std::uint64_t limit;
    } rows[] = {{"trn1.2xlarge", 0x400000000},
                {"inf2.xlarge", 0x400000000},
                {"trn2.3xlarge", 0x600000000},
                {"trn3pd98.3xlarge", 0x900000000}};
    for (const auto& row : rows) {
        INFO(row.instance);
        SimMachine machine(row.instance, "2.26.5");
        auto runtime = up(machine);
        auto tier = runtime->model_allocator(core(0, 1));
        REQUIRE(tier);
        const auto block = (*tier)->allocate({.size = Bytes{5000}, .usage = Usage::Weight});
        REQUIRE(block);
        const auto memory = runtime->memory(core(0, 1));
        REQUIRE(memory);
        CHECK(memory->used.count() == 8192);
        CHECK(memory->limit.count() == row.limit);
        CHECK(memory->allocatable.count() == row.limit - 0x1000000);
        CHECK(runtime->memory(core(0, 0))->used == Bytes{0});
    }
}

TEST_CASE("user cores lead to the physical cores of the driver's map", "[runtime]") {
    SimMachine machine("trn2.3xlarge", "2.26.5");
    auto runtime = up(machine, quiet_cores(1, 1)); // k = 2, 3 of device 0 are cores 6 and 7
    REQUIRE(runtime->tree().core_count() == 2);
    CHECK(runtime->tree().core_at(0)->id() == core(0, 6));
    CHECK(runtime->tree().core_at(0)->user() == UserCore{2});
    CHECK(runtime->tree().core_at(1)->id() == core(0, 7));
    CHECK_FALSE(runtime->tree().resolve(core(0, 0)));
    CHECK(machine.kernel->census().marks == 2);
    // Its memory is next to it: HBM 3.
    auto allocator = runtime->allocator(core(0, 6));
    REQUIRE(allocator);
    const auto block = (*allocator)->allocate({.size = Bytes{1u << 20}, .usage = Usage::Tensor});
    REQUIRE(block);
    CHECK(block->hbm() == 3);
    CHECK(block->address().value() == 0x804001000000);
}

TEST_CASE("more devices than the tree holds are refused with both numbers, nothing is claimed",
          "[runtime]") {
    SimMachine machine("trn1.32xlarge", "2.24.7");
    const auto refused =
        Runtime<test::SimDriver, Small>::open(kQuiet, test::SimDriver(machine.port()));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().detail == Detail::TooManyDevices);
    CHECK(refused.error().value == 16);
    CHECK(refused.error().limit == 2);
    CHECK(machine.kernel->census() == machine.baseline);
    auto runtime =
        Runtime<test::SimDriver, Small>::open(quiet_cores(4, 4), test::SimDriver(machine.port()));
    REQUIRE(runtime);
    CHECK((*runtime)->tree().device_count() == 2);
    CHECK((*runtime)->tree().find(DeviceIndex{0})->host() == HostDeviceId{2});
}

TEST_CASE("cores that are not there are refused with the number and the bound", "[runtime]") {
    SimMachine machine("trn1.2xlarge", "2.24.7");
    for (const auto& [first, count] : {std::pair{0u, 3u}, {2u, 1u}, {0u, 0u}, {1u, 2u}}) {
        const auto refused = Book::open(quiet_cores(first, count), test::SimDriver(machine.port()));
        REQUIRE_FALSE(refused);
        CHECK(static_cast<int>(refused.error().status) == 2);
        CHECK(machine.kernel->census() == machine.baseline);
        if (count == 0) {
            CHECK(refused.error().detail == Detail::CoreRangeInvalid);
            continue;
        }
        CHECK(refused.error().detail == Detail::CoresPastEnd);
        CHECK(refused.error().value == first + count - 1);
        CHECK(refused.error().limit == 2);
    }
}

TEST_CASE("a device that does not fit the tree's shape is refused with both numbers", "[runtime]") {
    SimMachine machine("trn2.3xlarge", "2.26.5");
    const auto refused =
        Runtime<test::SimDriver, TwoCores>::open(kQuiet, test::SimDriver(machine.port()));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().detail == Detail::ImpossibleGeometry);
    CHECK(refused.error().value == 8);
    CHECK(refused.error().limit == 2);
    CHECK(machine.kernel->census() == machine.baseline);
}
