// SPDX-License-Identifier: Apache-2.0
// Which logical cores a runtime has, and what it answers about them.
#include "support/catch.hpp"

#include <string>
#include <vector>

#include "neuronbook/neuronbook.hpp"
#include "support/book.hpp"
#include "support/variable.hpp"

using namespace neuronbook;
using test::core;
using test::environment;
using test::kQuiet;
using test::quiet_cores;
using test::quiet_count;
using test::SimMachine;
using test::up;
using test::Variable;
using test::with_lnc;

namespace {

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("logical cores come two by two on trn2 and trn3, one by one elsewhere",
          "[runtime][cores]") {
    const struct {
        const char* instance;
        std::uint32_t size, cores;
    } rows[] = {{"trn1.32xlarge", 1, 32},
                {"inf2.48xlarge", 1, 24},
                {"trn2.3xlarge", 2, 4},
                {"trn3p.48xlarge", 2, 64}};
    for (const auto& row : rows) {
        INFO(row.instance);
        SimMachine machine(row.instance, "2.26.5");
        const auto book = up(machine);
        CHECK(book->logical_cores().size()->count() == row.size);
        CHECK(book->logical_cores().owned().size() == row.cores);
        CHECK(book->tree().core_count() == row.size * row.cores);
    }
}

TEST_CASE("C12: a second bring-up with another size has nothing of the first", "[runtime][C12]") {
    SimMachine machine("trn2.48xlarge", "2.26.5");
    auto pairs = up(machine, with_lnc(2));
    CHECK(pairs->logical_cores().owned().size() == 64);
    const auto pair = *pairs->logical_core(LogicalIndex{63});
    CHECK(pair->id == LogicalCore{63});
    CHECK(pair->fabric == FabricCore{5 * 4 + 3}); // device 15 has routing id 5
    CHECK(pair->all().size() == 2);
    pairs->close();
    CHECK(machine.kernel->census() == machine.baseline);
    CHECK(static_cast<int>(pairs->logical_core(LogicalIndex{0}).error().status) == 14);
    CHECK(pairs->logical_cores().owned().empty());
    CHECK_FALSE(pairs->logical_cores().size());

    const auto single = up(machine, with_lnc(1));
    CHECK(single->logical_cores().owned().size() == 128);
    const auto last = *single->logical_core(LogicalIndex{127});
    CHECK(last->id == LogicalCore{127});
    CHECK(last->fabric == FabricCore{5 * 8 + 7});
    CHECK(last->all().size() == 1);
    const auto memory = single->memory(LogicalIndex{127});
    REQUIRE(memory);
    CHECK(memory->limit.count() == 0x600000000);
    const auto again = up(machine, with_lnc(2, quiet_cores(0, 1)));
    CHECK(again->logical_cores().size()->count() == 2); // each runtime has a size of its own
}

TEST_CASE("every question about a logical core is answered by the runtime", "[runtime][cores]") {
    SimMachine machine("trn2.48xlarge", "2.26.5");
    const auto book = up(machine, quiet_cores(5, 3)); // device 1: users 10 to 15
    const auto* first = *book->logical_core(LogicalIndex{0});
    CHECK(first->id == LogicalCore{5});
    CHECK(first->fabric == FabricCore{8 * 4 + 1}); // device 1 has routing id 8
    CHECK(first->default_core() == core(0, 0));    // k = 2 and 3 of device 1 are cores 0 and 1
    CHECK(*book->logical_core(LogicalCore{5}) == first);
    CHECK(*book->logical_core(first->fabric) == first);
    CHECK(*book->logical_core(core(0, 1)) == first);
    CHECK(*book->default_core(LogicalIndex{1}) == core(0, 4));
    CHECK(*book->default_hbm(LogicalIndex{1}) == 2);
    CHECK(*book->place_of(core(0, 5)) == 1);
    CHECK(*book->peer(core(0, 5), 0) == core(0, 4));
    CHECK(*book->drives_collectives(core(0, 4)));
    CHECK_FALSE(*book->drives_collectives(core(0, 5)));
    const auto group = book->cores_on_hbm_of(core(0, 5));
    REQUIRE(group);
    CHECK(group->count == 2);
    CHECK(group->cores[0]->id() == core(0, 4));

    CHECK(book->logical_core(LogicalIndex{3}).error().limit == 3);
    CHECK(describe(book->logical_core(LogicalCore{4}).error()) ==
          "resolve a core: logical core 4 is not registered (INVALID, 2)");
    CHECK(has(describe(book->logical_core(FabricCore{0}).error()), "fabric core 0 is not"));
    CHECK(book->logical_core(core(0, 2)).error().detail == Detail::CoreNotOwned);
    CHECK(book->place_of(core(1, 0)).error().detail == Detail::DeviceOutOfRange);
    CHECK(book->peer(core(0, 4), 2).error().detail == Detail::SubgraphOutOfRange);
    CHECK(book->default_hbm(LogicalIndex{3}).error().detail == Detail::CoreOutOfRange);
}

TEST_CASE("memory of a logical core is what its physical cores use, within their HBM",
          "[runtime][cores]") {
    SimMachine machine("trn2.3xlarge", "2.26.5");
    const auto book = up(machine);
    const auto& record = **book->logical_core(LogicalIndex{2});
    std::vector<Block> held;
    for (std::uint32_t k = 0; k < 2; ++k) {
        auto block =
            (*book->allocator(record.cores[k]))->allocate({.size = Bytes{(k + 1) * 4096u}});
        REQUIRE(block);
        held.push_back(*std::move(block));
    }
    const auto memory = book->memory(LogicalIndex{2});
    REQUIRE(memory);
    CHECK(memory->used.count() == 3 * 4096);
    CHECK(memory->limit.count() == 0x600000000);
    CHECK(memory->allocatable.count() == 0x600000000 - 0x1000000);
    CHECK(memory->hbm == *book->default_hbm(LogicalIndex{2}));
    CHECK(book->memory(LogicalIndex{1})->used == Bytes{0});
    CHECK(book->memory(LogicalIndex{4}).error().detail == Detail::CoreOutOfRange);
}

TEST_CASE("C04: programs count visible cores from 0, whatever their numbers on the host",
          "[runtime][C04]") {
    SimMachine machine("trn1.32xlarge", "2.26.5");
    const Variable visible("NEURON_RT_VISIBLE_CORES", "5-7");
    const auto options = environment();
    const auto book = up(machine, options);
    CHECK((*book->logical_core(LogicalIndex{0}))->id == LogicalCore{5});
    CHECK((*book->logical_core(LogicalIndex{2}))->id == LogicalCore{7});
    const auto past = book->logical_core(LogicalIndex{3});
    REQUIRE_FALSE(past);
    CHECK(static_cast<int>(past.error().status) == 2);
    CHECK(past.error().value == 3);
    CHECK(past.error().limit == 3);
    const auto counts = count_cores(options, test::SimDriver(machine.port(300)));
    REQUIRE(counts);
    CHECK(*counts == CoreCounts{32, 3});
}

TEST_CASE("C08: memory works on a number of cores that no collective group could have",
          "[runtime][C08]") {
    SimMachine machine("trn1.32xlarge", "2.26.5");
    CHECK_FALSE(is_group_size(*instance_named("trn1.32xlarge"), 24));
    const auto book = up(machine, quiet_count(24));
    REQUIRE(book->logical_cores().owned().size() == 24);
    for (std::uint32_t i = 0; i < 24; ++i) {
        const auto owner = book->default_core(LogicalIndex{i});
        REQUIRE(owner);
        CHECK((*book->allocator(*owner))->allocate({.size = Bytes{4096}}));
    }
}

TEST_CASE("D14: a range over a missing device is refused naming it, a count stays on one side",
          "[runtime][D14]") {
    auto kernel = SimKernel::make(
        {.instance = "trn2.48xlarge", .visible = {{HostDeviceId{2}, HostDeviceId{4}}}});
    REQUIRE(kernel);
    const auto open = [&](const RuntimeOptions& options) {
        return Runtime<SimDriver>::open(options, SimDriver(SimPort(**kernel)));
    };
    const auto baseline = (*kernel)->census();
    {
        const auto all = open(kQuiet);
        REQUIRE(all);
        CHECK((*all)->logical_cores().owned().size() == 8);
        CHECK((*(*all)->logical_core(LogicalIndex{4}))->id == LogicalCore{16});
        CHECK((*kernel)->census().marks == 16);
    }
    const auto over = open(quiet_cores(10, 8));
    REQUIRE_FALSE(over);
    CHECK(over.error().detail == Detail::MissingDevice);
    CHECK(over.error().device == 3);
    CHECK(has(describe(over.error()), "'10-17' names cores of device 3, which is not here"));
    {
        const auto held = open(quiet_cores(8, 2));
        REQUIRE(held);
        const auto three = open(quiet_count(3)); // 10 and 11 are free, and too few
        REQUIRE(three);
        CHECK((*three)->logical_cores().owned()[0].id == LogicalCore{16});
    }
    const auto five = open(quiet_count(5));
    REQUIRE_FALSE(five);
    CHECK(five.error().detail == Detail::NotEnoughCores);
    CHECK(five.error().limit == 8);
    CHECK(count_cores(quiet_count(5), SimDriver(SimPort(**kernel))).error().largest == 4);
    CHECK(five.error().largest == 4);
    CHECK((*kernel)->census() == baseline);
}
