// SPDX-License-Identifier: Apache-2.0
#include "neuronbook/backend/sim/host_arena.hpp"

#include <vector>

#include "support/catch.hpp"

using neuronbook::sim::HostArena;
using neuronbook::sim::Piece;
using neuronbook::sim::SegmentTree;

namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;
constexpr std::uint64_t kBase = std::uint64_t{1} << 44;

} // namespace

TEST_CASE("a host piece is aligned to its size and never above 4 MiB", "[sim][host_arena]") {
    HostArena arena(kBase, 64 * kMiB);
    CHECK(arena.take(4 * kKiB, 1)->pa == kBase);
    CHECK(arena.take(12 * kKiB, 1)->pa == kBase + 16 * kKiB);
    CHECK(arena.take(4 * kMiB, 1)->pa == kBase + 4 * kMiB);
    CHECK_FALSE(arena.take(4 * kMiB + 4096, 1).has_value());
}

TEST_CASE("smaller pieces outlast larger ones in the reserved pools", "[sim][host_arena]") {
    HostArena arena(kBase, 256 * kMiB);
    std::vector<Piece> pieces;
    while (const auto piece = arena.take(2 * kMiB, 7)) pieces.push_back(*piece);
    CHECK(pieces.size() == 64 + 16); // 128 MiB, then the pool of 2 MiB pages
    CHECK_FALSE(arena.take(4 * kMiB, 7).has_value());
    const auto small = arena.take(4 * kKiB, 8);
    REQUIRE(small.has_value());
    CHECK(arena.take(256 * kKiB, 8)->pa == small->pa + 256 * kKiB);
    CHECK(arena.owner_at(small->pa + 4095) == 8);
    for (const auto& piece : pieces) arena.release(piece);
    CHECK(arena.take(4 * kMiB, 7)->pa == kBase);
}

TEST_CASE("an arena of nothing gives nothing", "[sim][host_arena]") {
    HostArena arena(kBase, 0);
    CHECK_FALSE(arena.take(4096, 1).has_value());
    CHECK(arena.owner_at(kBase) == SegmentTree::kFree);
}
