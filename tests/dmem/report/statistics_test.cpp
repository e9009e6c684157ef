// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "neuronbook/dmem/report/leak_report.hpp"
#include "neuronbook/dmem/report/statistics.hpp"
#include "neuronbook/dmem/report/usage_difference.hpp"
#include "support/catch.hpp"

using namespace neuronbook;

namespace {

LedgerSnapshot holding(std::uint32_t hbm, std::uint64_t bytes) {
    LedgerSnapshot counters;
    counters.on_channel[hbm] = bytes;
    return counters;
}

} // namespace

TEST_CASE("A13: own bytes, others' and the limit stand apart, and headroom is limit less all",
          "[dmem][report][A13]") {
    const auto& geometry = *geometry_of(Architecture::Sunda);
    const auto use = hbm_use(holding(1, 5u << 20), geometry, 1, Bytes{7u << 20});
    CHECK(use.own == Bytes{5242880});
    CHECK(use.others == Bytes{7340032});
    CHECK(use.reserved == Bytes{16777216});
    CHECK(use.limit == Bytes{17179869184});
    REQUIRE(use.all());
    CHECK(*use.all() == Bytes{5242880 + 7340032 + 16777216});
    CHECK(use.headroom() == Bytes{17179869184 - 5242880 - 7340032 - 16777216});
    const auto unknown = hbm_use(holding(1, 5u << 20), geometry, 1, std::nullopt);
    CHECK_FALSE(unknown.all());
    CHECK_FALSE(unknown.headroom());
    const std::array both{use, unknown};
    CHECK(sum_of(both).own == Bytes{10485760});
    CHECK_FALSE(sum_of(both).others);
}

TEST_CASE("A14: the limit is the generation's, not a constant", "[dmem][report][A14]") {
    const struct {
        Architecture generation;
        std::uint64_t limit;
    } rows[] = {{Architecture::Sunda, 17179869184},
                {Architecture::Cayman, 25769803776},
                {Architecture::Mariana, 38654705664}};
    for (const auto& row : rows)
        CHECK(hbm_use({}, *geometry_of(row.generation), 0, Bytes{0}).limit == Bytes{row.limit});
}

TEST_CASE("a difference tells what grew and what shrank, by HBM, core, usage and owner",
          "[dmem][report]") {
    DeviceUsage before{.device = HostDeviceId{2}};
    before.counters.on_channel[0] = 8192;
    before.counters.by_core[1][6] = 8192; // weights
    before.owners.push_back({.id = 1001, .tier = "MODEL", .core = CoreIndex{1}});
    DeviceUsage after = before;
    CHECK(difference(before, after).empty());
    after.counters.on_channel[0] = 4096;
    after.counters.by_core[1][6] = 0;
    after.counters.by_core[1][12] = 4096; // tensors
    after.owners[0].id = 1002;
    const auto change = difference(before, after);
    CHECK(change.on_channel[0] == -4096);
    CHECK(change.by_core[1][6] == -8192);
    CHECK(change.by_core[1][12] == 4096);
    REQUIRE(change.owners.size() == 2);
    CHECK(change.owners[0].fate == OwnerFate::Came);
    CHECK(change.owners[1].fate == OwnerFate::Went);
    const auto text = describe(change);
    INFO(text);
    for (const char* part : {"ND 2", "-4.000KB", "weights -8.000KB", "tensors +4.000KB", "1002"})
        CHECK(text.find(part) != std::string::npos);
}

TEST_CASE("E20: pins are counted by owner, and the oldest come first", "[dmem][report][E20]") {
    std::vector<Survivor> rows(3);
    rows[0] = {.usage = Usage::Tensor,
               .charged = Bytes{4096},
               .hint = "young",
               .owner = 1,
               .tier = "GLOBAL",
               .number = 3,
               .age = Nanoseconds{1'000'000},
               .handles = 3};
    rows[1] = {.usage = Usage::Weight,
               .charged = Bytes{8192},
               .hint = "old",
               .owner = 1001,
               .tier = "MODEL",
               .label = "resnet50",
               .number = 1,
               .age = Nanoseconds{5'000'000'000},
               .mapped = true,
               .exported = 2};
    rows[2] = {.usage = Usage::Tensor,
               .charged = Bytes{4096},
               .hint = "free",
               .owner = 1,
               .tier = "GLOBAL",
               .number = 2,
               .age = Nanoseconds{2'000'000}};
    const auto pins = oldest_pins(rows);
    REQUIRE(pins.size() == 2);
    CHECK(pins[0].hint.view() == "old");
    CHECK(pins[1].hint.view() == "young");
    const auto owners = holdings_of(rows);
    REQUIRE(owners.size() == 2);
    CHECK(owners[0].id == 1001);
    CHECK(owners[0].pins.count() == 3);
    CHECK(owners[1].blocks == 2);
    CHECK(owners[1].charged == Bytes{8192});
    CHECK(owners[1].pins.handles == 2);
    const auto text = leak_report(rows);
    INFO(text);
    for (const char* part : {"old: weights", "8192", "5.000 s old", "resnet50", "mapped"})
        CHECK(text.find(part) != std::string::npos);
    CHECK(text.find("old: weights") < text.find("young: tensors"));
}
