// SPDX-License-Identifier: Apache-2.0
#include "neuronbook/dmem/report/pool_view.hpp"

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "neuronbook/dmem/report/nearest_room.hpp"
#include "support/catch.hpp"
#include "support/chunk_lists.hpp"
#include "support/sim_machine.hpp"

using namespace neuronbook;
using test::ChunkList;
using test::kGiB;
using test::kMiB;

namespace {

const Geometry& sunda() { return *geometry_of(Architecture::Sunda); }
const Geometry& cayman() { return *geometry_of(Architecture::Cayman); }

PoolView view_of(const ChunkList& list, std::uint64_t ours = 0, std::uint32_t hbm = 0) {
    auto view = view_pools(HostDeviceId{3}, sunda(), hbm, list.records, Bytes{ours});
    REQUIRE(view);
    return *std::move(view);
}
Error refusal(const ChunkList& list, const Geometry& geometry, std::uint32_t hbm = 0) {
    const auto view = view_pools(HostDeviceId{3}, geometry, hbm, list.records, Bytes{});
    REQUIRE_FALSE(view);
    return view.error();
}

} // namespace

TEST_CASE("an idle HBM has two free blocks: the main pool without the carve-out, and the small one",
          "[dmem][pools]") {
    const auto view = view_of(ChunkList(1ull << 36), 0, 1);
    CHECK(view.main.begin == DeviceAddress{0x10'0100'0000});
    CHECK(view.main.end == DeviceAddress{0x13'C000'0000}); // base + 15 GiB
    CHECK(view.main.free == Bytes{15 * kGiB - 16 * kMiB});
    CHECK(view.main.largest == view.main.free);
    CHECK(view.small.begin == view.main.end);
    CHECK(view.small.end == DeviceAddress{0x14'0000'0000});
    CHECK(view.small.free == Bytes{kGiB});
    CHECK(view.blocks() == 2);
    CHECK(view.free() == Bytes{16 * kGiB - 16 * kMiB});
    CHECK(view.largest() == Bytes{15 * kGiB - 16 * kMiB});
    CHECK(view.others == Bytes{0});
    CHECK(view.scratchpad_room == view.main.free);
    CHECK(view.chunks.empty());
}

TEST_CASE("the third HBM of a device with two dies begins at 2^47, its main pool has 23 GiB",
          "[dmem][pools]") {
    const auto view = view_pools(HostDeviceId{0}, cayman(), 2, ChunkList(1ull << 47).records, {});
    REQUIRE(view);
    CHECK(view->main.begin == DeviceAddress{0x8000'0100'0000});
    CHECK(view->main.free == Bytes{23 * kGiB - 16 * kMiB});
    CHECK(refusal(ChunkList(0), cayman(), 2).detail == Detail::SelfCheckFailed);
    CHECK(refusal(ChunkList(0), cayman(), 4).detail == Detail::HbmOutOfRange);
}

TEST_CASE("figures of each pool: used, free, largest, blocks; ours and others apart",
          "[dmem][pools]") {
    ChunkList list;
    list.held(4 * kMiB).hole(kMiB).held(2 * kMiB, 13).hole(3 * kMiB).held(8192);
    list.at(15 * kGiB).held(4096).hole(8192).held(4096);
    const auto view = view_of(list, 4 * kMiB + 8192);
    CHECK(view.main.used == Bytes{6 * kMiB + 8192});
    CHECK(view.main.blocks == 3);
    CHECK(view.main.free == Bytes{15 * kGiB - 16 * kMiB - 6 * kMiB - 8192});
    CHECK(view.small.used == Bytes{8192});
    CHECK(view.small.blocks == 2);
    CHECK(view.small.largest == Bytes{kGiB - 16384});
    CHECK(view.others == Bytes{2 * kMiB + 8192});
    CHECK(view.driver == Bytes{2 * kMiB});
    CHECK(view.unlisted == Bytes{0});
    CHECK(view.holes.size() == 5);
    CHECK(view.free().count() + view.main.used.count() + view.small.used.count() ==
          16 * kGiB - 16 * kMiB);
}

TEST_CASE("a full pool and bytes that the list lacks: nothing goes below zero", "[dmem][pools]") {
    ChunkList list;
    list.held(15 * kGiB - 16 * kMiB).held(kGiB);
    const auto view = view_of(list, 17 * kGiB);
    CHECK(view.free() == Bytes{0});
    CHECK(view.largest() == Bytes{0});
    CHECK(view.blocks() == 0);
    CHECK(view.others == Bytes{0});
    CHECK(view.unlisted == Bytes{kGiB + 16 * kMiB});
    CHECK(view.scratchpad_room == Bytes{0});
}

TEST_CASE("an alignment takes from a block what lies before the first such address",
          "[dmem][pools]") {
    ChunkList list; // the hole is [17 MiB, 20 MiB)
    list.held(kMiB).hole(3 * kMiB).held(15 * kGiB - 20 * kMiB).held(kGiB);
    const auto view = view_of(list);
    CHECK(view.largest() == Bytes{3 * kMiB});
    CHECK(view.largest_at(Bytes{4096}) == Bytes{3 * kMiB});
    CHECK(view.largest_at(Bytes{2 * kMiB}) == Bytes{2 * kMiB});
    CHECK(view.largest_at(Bytes{kGiB}) == Bytes{0});
}

TEST_CASE("the next scratchpad page ends where the last one begins", "[dmem][pools]") {
    ChunkList list;
    list.held(4096).at(15 * kGiB - 3 * kMiB).held(kMiB, 19).held(2 * kMiB, 19);
    CHECK(view_of(list).scratchpad_room == Bytes{15 * kGiB - 3 * kMiB - 16 * kMiB - 4096});
    ChunkList taken; // somebody else lies right below
    taken.at(15 * kGiB - 2 * kMiB).held(kMiB).held(kMiB, 19);
    CHECK(view_of(taken).scratchpad_room == Bytes{0});
}

TEST_CASE("a list that contradicts itself or the geometry is refused with the address",
          "[dmem][pools]") {
    ChunkList twice;
    twice.held(8192).at(16777216 + 4096).held(4096);
    auto said = refusal(twice, sunda());
    CHECK(said.detail == Detail::SelfCheckFailed);
    CHECK(said.value == 16777216 + 4096);
    CHECK(said.device == 3);
    CHECK(refusal(ChunkList().at(16 * kGiB).held(4096), sunda()).value == 16 * kGiB);
    CHECK(refusal(ChunkList().at(16 * kGiB - 4096).held(8192), sunda()).value == 16 * kGiB - 4096);
    CHECK(refusal(ChunkList().held(~std::uint64_t{0}), sunda()).value == 16777216);
    CHECK(refusal(ChunkList().held(0), sunda()).value == 16777216);
    CHECK(refusal(ChunkList().at(15 * kGiB - 4096).held(8192), sunda()).value == 15 * kGiB - 4096);
    CHECK(refusal(ChunkList().at(8 * kMiB).held(16 * kMiB), sunda()).value == 8 * kMiB);
}

TEST_CASE("the order of the list does not matter", "[dmem][pools]") {
    ChunkList list;
    list.held(4096).hole(4096).held(4096).hole(4096).held(4096);
    std::swap(list.records[1], list.records[3]);
    CHECK(view_of(list).main.blocks == 3);
}

TEST_CASE("the cheapest room joins free blocks over the fewest bytes", "[dmem][pools]") {
    ChunkList list; // holes of 2, 3 and 1 MiB between chunks of 4 and 1 MiB; the rest is taken
    list.held(kMiB).hole(2 * kMiB).held(4 * kMiB).hole(3 * kMiB).held(kMiB).hole(kMiB);
    list.held(15 * kGiB - 28 * kMiB, 13).held(kGiB, 13);
    const auto view = view_of(list);
    auto room = nearest_room(view, Bytes{4 * kMiB}, Bytes{});
    REQUIRE(room);
    CHECK(room->to_free == Bytes{kMiB});
    CHECK(room->chunks == 1);
    room = nearest_room(view, Bytes{6 * kMiB}, Bytes{});
    REQUIRE(room);
    CHECK(room->to_free == Bytes{4 * kMiB}); // 2 + 4 + 3 beats 4 + 3 + 1 + 1 by its bytes
    CHECK(room->address == DeviceAddress{17 * kMiB});
    room = nearest_room(view, Bytes{3 * kMiB}, Bytes{});
    REQUIRE(room);
    CHECK(room->to_free == Bytes{0});
    CHECK_FALSE(nearest_room(view, Bytes{13 * kMiB}, Bytes{})); // the driver keeps the rest
    room = nearest_room(view, Bytes{12 * kMiB}, Bytes{});
    REQUIRE(room);
    CHECK(room->to_free == Bytes{6 * kMiB});
    CHECK(room->chunks == 3);
    room = nearest_room(view, Bytes{4 * kMiB}, Bytes{4 * kMiB}); // at 20 or 24 MiB
    REQUIRE(room);
    CHECK(room->to_free == Bytes{kMiB});
}

TEST_CASE("what a view says fits is what the simulated driver gives", "[dmem][pools]") {
    test::SimMachine machine;
    auto driver = test::open_driver(machine);
    const HostDeviceId device{0};
    std::mt19937_64 random(5);
    std::vector<Chunk> held;
    LedgerSnapshot counters;
    int refused = 0;
    for (int step = 0; step < 600; ++step) {
        if (random() % 3 == 0 && !held.empty()) {
            std::swap(held[random() % held.size()], held.back());
            REQUIRE(driver.free(device, held.back()));
            counters.on_channel[0] -= held.back().size.count();
            held.pop_back();
            continue;
        }
        const auto view = view_pools(driver, device, sunda(), 0, counters);
        REQUIRE(view);
        CHECK(view->others == Bytes{0});
        const Bytes size{(1 + random() % 511) << (12 + random() % 11)};
        const Bytes alignment{random() % 2 ? 0 : std::uint64_t{1} << (12 + random() % 19)};
        const auto made = driver.allocate(device, {.size = size, .alignment = alignment});
        INFO(size.count() << " aligned to " << alignment.count());
        REQUIRE(made.has_value() == (view->largest_at(alignment) >= *whole_pages(size)));
        refused += made ? 0 : 1;
        if (!made) {
            const auto room = nearest_room(*view, *whole_pages(size), alignment);
            REQUIRE(room);
            CHECK(room->to_free > Bytes{0});
            continue;
        }
        counters.on_channel[0] += made->size.count();
        held.push_back(*made);
    }
    CHECK(refused >= 20);
}
