// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "neuronbook/dmem/report/audit_text.hpp"
#include "neuronbook/neuronbook.hpp"
#include "support/book.hpp"

using namespace neuronbook;
using test::core;
using test::SimMachine;
using test::up;

TEST_CASE("A13, A14: a logical core tells own bytes, others' and its limit apart",
          "[runtime][A13][A14]") {
    const struct {
        const char* instance;
        std::uint64_t limit;
    } rows[] = {
        {"trn1.2xlarge", 17179869184}, {"inf2.xlarge", 17179869184}, {"trn2.3xlarge", 25769803776}};
    for (const auto& row : rows) {
        SimMachine machine(row.instance, "2.26.5");
        auto first = up(machine, test::quiet_cores(0, 1), 100);
        auto second = up(machine, test::quiet_cores(1, 1), 200);
        const auto mine = (*first->logical_core(LogicalIndex{0}))->default_core();
        const auto theirs = (*second->logical_core(LogicalIndex{0}))->default_core();
        const auto own = (**first->allocator(mine)).allocate({.size = Bytes{5u << 20}});
        const auto hbm = *first->used_by_logical_core(LogicalIndex{0});
        const auto other =
            (**second->allocator(theirs)).allocate({.size = Bytes{7u << 20}, .hbm = hbm.hbm});
        REQUIRE(own);
        REQUIRE(other);
        const auto use = *first->used_by_logical_core(LogicalIndex{0});
        CHECK(use.own == Bytes{5242880});
        CHECK(use.on_hbm.own == Bytes{5242880});
        CHECK(use.on_hbm.limit == Bytes{row.limit});
        REQUIRE(use.on_hbm.others);
        CHECK(*use.on_hbm.others >= Bytes{7340032});
        CHECK(*use.on_hbm.headroom() == Bytes{row.limit - use.on_hbm.all()->count()});
        CHECK(use.on_hbm.own.count() + use.on_hbm.others->count() <= row.limit);
        CHECK(first->used_on_device(DeviceIndex{0})->own == Bytes{5242880});
        CHECK(first->used_by_core(mine)->own == Bytes{5242880});
        CHECK_FALSE(first->used_on_hbm(DeviceIndex{0}, 9));
        CHECK_FALSE(first->used_on_device(DeviceIndex{7}));
    }
}

TEST_CASE("ledger, the driver's list and its counters agree, and what disagrees is named",
          "[runtime][audit]") {
    SimMachine machine(GENERATE("trn1.2xlarge", "trn2.3xlarge"), GENERATE("2.24.7", "2.30.2"));
    auto book = up(machine);
    auto& allocator = **book->allocator(core(0, 0));
    std::mt19937 random(5);
    std::vector<Block> held;
    for (int i = 0; i < 60; ++i) {
        auto block = allocator.allocate({.size = Bytes{1 + random() % 900'000},
                                         .usage = static_cast<Usage>(random() % 22),
                                         .hbm = random() % 2});
        REQUIRE(block);
        held.push_back(*std::move(block));
        if (held.size() > 30) held.erase(held.begin());
    }
    const auto good = book->audit_memory(DeviceIndex{0});
    REQUIRE(good);
    INFO(describe(*good));
    CHECK(good->agrees());
    CHECK(good->alone == true);
    CHECK(good->others == Bytes{0});

    // A chunk that the ledger knows nothing of.
    const auto behind = book->driver().allocate(
        HostDeviceId{0}, {.size = Bytes{8192}, .hbm = 1, .core = CoreIndex{0}, .category = 9});
    REQUIRE(behind);
    const auto bad = book->audit_memory(DeviceIndex{0});
    REQUIRE(bad);
    CHECK_FALSE(bad->agrees());
    const auto text = describe(*bad);
    INFO(text);
    CHECK(text.find("HBM 1") != std::string::npos);
    CHECK(text.find("NC 0 category 9 (tensors)") != std::string::npos);
    CHECK(book->driver().free(HostDeviceId{0}, *behind));
    CHECK(book->audit_memory(DeviceIndex{0})->agrees());
}

TEST_CASE("the table of cores and owners can be had at any time", "[runtime]") {
    SimMachine machine("trn1.2xlarge", "2.26.5");
    auto book = up(machine);
    auto model = *book->model_allocator(core(0, 1), {.name = {1001, "resnet50"}});
    const auto weights = model->allocate({.size = Bytes{3u << 20}, .usage = Usage::Weight});
    const auto text = book->memory_table();
    INFO(text);
    for (const char* part : {"TOTAL", "ND 0 HBM 1", "NC 1", "1001", "3.000MB", "resnet50"})
        CHECK(text.find(part) != std::string::npos);
    book->close();
    CHECK(book->memory_table().empty());
    CHECK(book->audit_memory(DeviceIndex{0}).error().status == Status::Closed);
}
