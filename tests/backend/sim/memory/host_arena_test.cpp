// SPDX-License-Identifier: Apache-2.0
#include "neuronbook/backend/sim/memory/host_arena.hpp"

#include <vector>

#include "support/catch.hpp"

using neuronbook::sim::HostArena;
using neuronbook::sim::Piece;
using neuronbook::sim::SegmentTree;

namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;
constexpr std::uint64_t kLargest = 4 * kMiB;
constexpr std::uint64_t kBase = std::uint64_t{1} << 44;

} // namespace

TEST_CASE("a host piece is aligned to its size and never above 4 MiB", "[sim][host_arena]") {
    HostArena arena(kBase, 64 * kMiB);
    CHECK(arena.take(4 * kKiB, kLargest, 1)->pa == kBase);
    CHECK(arena.take(12 * kKiB, kLargest, 1)->pa == kBase + 16 * kKiB);
    CHECK(arena.take(4 * kMiB, kLargest, 1)->pa == kBase + 4 * kMiB);
    CHECK_FALSE(arena.take(4 * kMiB + 4096, kLargest, 1).has_value());
}

TEST_CASE("when the host is short of large pieces the reserved pools still have some",
          "[sim][host_arena]") {
    HostArena arena(kBase, 256 * kMiB);
    const auto from_pool = arena.take(64 * kKiB, 32 * kKiB, 1);
    REQUIRE(from_pool.has_value());
    CHECK(from_pool->pa == kBase + 128 * kMiB); // the pool of 256 KiB pages
    CHECK(arena.take(32 * kKiB, 32 * kKiB, 1)->pa == kBase);
    CHECK_FALSE(arena.take(2 * kMiB + 4096, 32 * kKiB, 1).has_value());
}

TEST_CASE("a piece larger than all memory is not there, however it counts in pages",
          "[sim][host_arena]") {
    HostArena arena(kBase, 1024 * kMiB);
    for (const auto size : {1025 * kMiB, kBase - 4096, kBase + 4096, ~std::uint64_t{4095}})
        CHECK_FALSE(arena.take(size, ~std::uint64_t{0}, 1).has_value());
}

TEST_CASE("smaller pieces outlast larger ones in the reserved pools", "[sim][host_arena]") {
    HostArena arena(kBase, 256 * kMiB);
    std::vector<Piece> pieces;
    while (const auto piece = arena.take(2 * kMiB, kLargest, 7)) pieces.push_back(*piece);
    CHECK(pieces.size() == 64 + 16); // 128 MiB, then the pool of 2 MiB pages
    CHECK_FALSE(arena.take(4 * kMiB, kLargest, 7).has_value());
    const auto small = arena.take(4 * kKiB, kLargest, 8);
    REQUIRE(small.has_value());
    CHECK(arena.take(256 * kKiB, kLargest, 8)->pa == small->pa + 256 * kKiB);
    CHECK(arena.owner_at(small->pa + 4095) == 8);
    for (const auto& piece : pieces) arena.release(piece);
    CHECK(arena.take(4 * kMiB, kLargest, 7)->pa == kBase);
}

TEST_CASE("a reserved page serves several pieces, and none goes beyond it", "[sim][host_arena]") {
    constexpr std::uint64_t kNone = 0; // the host itself has nothing
    HostArena arena(kBase, 64 * kMiB, 4 * kMiB);
    const auto pool = kBase + 48 * kMiB; // 256 KiB pages first
    CHECK(arena.take(12 * kKiB, kNone, 1)->pa == pool);
    CHECK(arena.take(12 * kKiB, kNone, 1)->pa == pool + 12 * kKiB);
    CHECK(arena.take(240 * kKiB, kNone, 1)->pa == pool + 256 * kKiB);
    CHECK(arena.take(232 * kKiB, kNone, 1)->pa == pool + 24 * kKiB);
    CHECK(arena.take(4 * kKiB, kNone, 1)->pa == pool + (256 + 240) * kKiB);
    CHECK(arena.take(300 * kKiB, kNone, 1)->pa == pool + 4 * kMiB); // 512 KiB pages
    CHECK(arena.take(300 * kKiB, kNone, 1)->pa == pool + 4 * kMiB + 512 * kKiB);
    HostArena coarse(kBase, 64 * kMiB, 4 * kMiB, 24 * kKiB); // pieces of 16 KiB at least
    CHECK(coarse.take(4 * kKiB, kNone, 1)->pa == pool);
    CHECK(coarse.take(20 * kKiB, kNone, 1)->pa == pool + 16 * kKiB);
    CHECK(coarse.take(4 * kKiB, kNone, 1)->pa == pool + 48 * kKiB);
    CHECK_FALSE(HostArena(kBase, 64 * kMiB, 9 * kMiB).take(4096, kNone, 1).has_value());
    HostArena few(kBase, 64 * kMiB, kMiB); // no page of 2 MiB, one of 1 MiB
    CHECK(few.take(kMiB, kNone, 1)->pa == kBase + 63 * kMiB);
    CHECK_FALSE(few.take(kMiB, kNone, 1).has_value());
}

TEST_CASE("an arena of nothing gives nothing", "[sim][host_arena]") {
    HostArena arena(kBase, 0);
    CHECK_FALSE(arena.take(4096, kLargest, 1).has_value());
    CHECK(arena.owner_at(kBase) == SegmentTree::kFree);
}
