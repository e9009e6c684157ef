// SPDX-License-Identifier: Apache-2.0
#include "neuronbook/topology/logical_cores.hpp"

#include <array>
#include <cstdint>

#include "neuronbook/base/describe.hpp"
#include "support/catch.hpp"

using namespace neuronbook;

namespace {

constexpr PhysicalCore core(std::uint32_t device, std::uint32_t index) {
    return {DeviceIndex{device}, CoreIndex{index}};
}

const LncSize kPair = *LncSize::make(2, 2, 8);

/// Two devices of four logical cores each, the second one's numbers apart.
LogicalCores<8> two_devices() {
    LogicalCores<8> cores;
    cores.start(kPair);
    for (std::uint32_t device = 0; device < 2; ++device)
        for (std::uint32_t k = 0; k < 4; ++k) {
            const std::array pair{core(device, 2 * k), core(device, 2 * k + 1)};
            REQUIRE(cores.add(LogicalCore{device * 20 + k}, FabricCore{device * 40 + k}, pair));
        }
    return cores;
}

} // namespace

TEST_CASE("before a size is set every stateful translator says so", "[topology][logical_cores]") {
    LogicalCores<8> cores;
    const auto expect = [](const auto& result) {
        REQUIRE_FALSE(result.has_value());
        CHECK(result.error().status == Status::Invalid);
        CHECK(describe(result.error()).find("lnc context has not been initialized yet") !=
              std::string::npos);
    };
    const auto before = [&] {
        expect(cores.size());
        expect(cores.logical_of(UserCore{0}));
        expect(cores.core_of(LogicalCore{0}));
        expect(cores.logical_count(1));
        expect(cores.physical_count(1));
        expect(cores.add(LogicalCore{0}, FabricCore{0}, std::array{core(0, 0)}));
    };
    before();
    cores.start(kPair);
    CHECK(*cores.size() == kPair);
    CHECK(*cores.logical_of(UserCore{7}) == LogicalCore{3});
    CHECK(*cores.core_of(LogicalCore{3}, 1) == UserCore{7});
    CHECK(*cores.core_of(LogicalCore{255}, 1) == UserCore{511});
    CHECK(*cores.physical_count(256) == 512);
    CHECK(*cores.physical_count(0) == 0);
    CHECK(cores.core_of(LogicalCore{3}, 2).error().detail == Detail::SubgraphOutOfRange);
    CHECK(cores.core_of(LogicalCore{3}, 2).error().limit == 2);
    CHECK(cores.core_of(LogicalCore{256}).error().detail == Detail::CoreOutOfRange);
    CHECK(cores.core_of(LogicalCore{0x8000'0000u}).error().limit == 256);
    CHECK(cores.physical_count(257).error().detail == Detail::CoreOutOfRange);
    CHECK(cores.physical_count(0x8000'0001u).error().detail == Detail::CoreOutOfRange);
    CHECK(*cores.logical_count(7) == 4);
    CHECK(*cores.physical_count(4) == 8);
    cores.clear();
    before();
}

TEST_CASE("a logical core is found by index, host number, fabric number and physical core",
          "[topology][logical_cores]") {
    const auto cores = two_devices();
    REQUIRE(cores.owned().size() == 8);
    for (std::uint32_t i = 0; i < 8; ++i) {
        const auto* record = *cores.at(LogicalIndex{i});
        CHECK(record == &cores.owned()[i]);
        CHECK(record->index == LogicalIndex{i});
        CHECK(cores.find(LogicalCore{i / 4 * 20 + i % 4}) == record);
        CHECK(cores.find(FabricCore{i / 4 * 40 + i % 4}) == record);
        CHECK(cores.find(core(i / 4, 2 * (i % 4) + 1)) == record);
        CHECK(record->default_core() == core(i / 4, 2 * (i % 4)));
        CHECK(record->all().size() == 2);
    }
    CHECK(cores.find(LogicalCore{4}) == nullptr);
    CHECK(cores.find(FabricCore{4}) == nullptr);
    CHECK(cores.find(core(2, 0)) == nullptr);
    const auto past = cores.at(LogicalIndex{8});
    CHECK(past.error().status == Status::Invalid);
    CHECK(past.error().value == 8);
    CHECK(past.error().limit == 8);
}

TEST_CASE("a core's place in its logical core decides who drives the collectives",
          "[topology][logical_cores]") {
    const auto cores = two_devices();
    const auto& record = cores.owned()[5];
    CHECK(*record.place_of(core(1, 2)) == 0);
    CHECK(*record.place_of(core(1, 3)) == 1);
    CHECK(*record.drives_collectives(core(1, 2)));
    CHECK_FALSE(*record.drives_collectives(core(1, 3)));
    CHECK(*record.peer(0) == core(1, 2));
    CHECK(*record.peer(1) == core(1, 3));
    const auto miss = record.drives_collectives(core(0, 2));
    CHECK(describe(miss.error()) == "resolve a core: Failed to find physical core ND0 NC2 in "
                                    "logical core 21 (INVALID, 2)");
    CHECK(describe(record.peer(2).error()) ==
          "resolve a core: Invalid sg id 2 for LNC size 2 (INVALID, 2)");
}

TEST_CASE("what does not fit is refused and changes nothing", "[topology][logical_cores]") {
    LogicalCores<2> cores;
    cores.start(kPair);
    const std::array pair{core(0, 0), core(0, 1)};
    const std::array next{core(0, 2), core(0, 3)};
    REQUIRE(cores.add(LogicalCore{0}, FabricCore{0}, pair));
    CHECK(cores.add(LogicalCore{0}, FabricCore{1}, next).error().detail == Detail::Duplicate);
    CHECK(cores.add(LogicalCore{1}, FabricCore{1}, std::array{core(0, 2)}).error().detail ==
          Detail::LncSizeInvalid);
    REQUIRE(cores.add(LogicalCore{1}, FabricCore{1}, next));
    const auto full = cores.add(LogicalCore{2}, FabricCore{2}, pair);
    CHECK(full.error().status == Status::Resource);
    CHECK(full.error().limit == 2);
    CHECK(cores.owned().size() == 2);
}

TEST_CASE("C12: starting again with another size leaves nothing of the first",
          "[topology][logical_cores]") {
    auto cores = two_devices();
    cores.start(LncSize{});
    CHECK(cores.owned().empty());
    CHECK(cores.find(LogicalCore{0}) == nullptr);
    CHECK(*cores.logical_of(UserCore{7}) == LogicalCore{7});
    REQUIRE(cores.add(LogicalCore{7}, FabricCore{7}, std::array{core(0, 7)}));
    CHECK(cores.owned()[0].count == 1);
}
