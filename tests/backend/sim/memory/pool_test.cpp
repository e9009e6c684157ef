// SPDX-License-Identifier: Apache-2.0
#include "neuronbook/backend/sim/memory/pool.hpp"

#include "support/catch.hpp"

namespace {

using neuronbook::sim::HbmPool;
using neuronbook::sim::PoolKind;
using neuronbook::sim::SegmentTree;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

/// The first HBM of a Trn1 device with its carve-out taken.
struct Trn1 {
    HbmPool pool{0, 16 * kGiB};
    Trn1() { pool.take(16 * kMiB, 0, 1); }
};

} // namespace

TEST_CASE("pieces up to 512 KiB come from the last GiB, larger ones from the base", "[sim][pool]") {
    Trn1 hbm;
    CHECK(hbm.pool.take(4096, 0, 1)->pa == 0x3c0000000);
    CHECK(hbm.pool.take(512 * 1024, 0, 1)->pa == 0x3c0001000);
    CHECK(hbm.pool.take(512 * 1024 + 4096, 0, 1)->pa == 0x1000000);
}

TEST_CASE("either pool helps out when the other is full", "[sim][pool]") {
    Trn1 hbm;
    for (int i = 0; i < 2048; ++i) REQUIRE(hbm.pool.take(512 * 1024, 0, 1)->pa >= 0x3c0000000);
    CHECK(hbm.pool.take(512 * 1024, 0, 1)->pa == 0x1000000);
    Trn1 other;
    CHECK(other.pool.take(15 * kGiB - 16 * kMiB, 0, 1)->pa == 0x1000000);
    CHECK(other.pool.take(kGiB, 0, 1)->pa == 0x3c0000000);
    CHECK_FALSE(other.pool.take(4096, 0, 1).has_value());
}

TEST_CASE("the largest piece is the main pool without the carve-out", "[sim][pool]") {
    Trn1 hbm;
    CHECK_FALSE(hbm.pool.take(15 * kGiB - 16 * kMiB + 4096, 0, 1).has_value());
    CHECK(hbm.pool.take(15 * kGiB - 16 * kMiB, 0, 1).has_value());
}

TEST_CASE("alignments of any value give what was measured", "[sim][pool]") {
    struct Case {
        std::uint64_t align, pa;
    };
    const auto [align, pa] = GENERATE(values<Case>({{0, 0x1101000},
                                                    {1, 0x1101000},
                                                    {3, 0x1101000},
                                                    {0x1000, 0x1101000},
                                                    {0x1001, 0x1102000},
                                                    {0x1388, 0x1102000},
                                                    {0x2000, 0x1102000},
                                                    {0x3000, 0x1101000},
                                                    {0x10000, 0x1110000},
                                                    {0x186a0, 0x1101000},
                                                    {0x100000, 0x1200000},
                                                    {0x200000, 0x1200000},
                                                    {0x4000000, 0x4000000},
                                                    {0x40000000, 0x40000000},
                                                    {0x7fffffff, 0x80000000}}));
    Trn1 hbm;
    hbm.pool.take(0x101000, 0, 1);
    CHECK(hbm.pool.take(0x100000, align, 1)->pa == pa);
}

TEST_CASE("alignment does not choose the pool, but the fallback may satisfy it", "[sim][pool]") {
    Trn1 hbm;
    CHECK(hbm.pool.take(4096, 0x200000, 1)->pa == 0x3c0000000);
    CHECK(hbm.pool.take(4096, 0x200000, 1)->pa == 0x3c0200000);
    CHECK(hbm.pool.take(4096, 0x40000000, 1)->pa == 0x40000000);
}

TEST_CASE("the contiguous scratchpad grows down from the main pool's end", "[sim][pool]") {
    Trn1 hbm;
    const auto first = hbm.pool.take_scratchpad(0x100000, 1);
    const auto second = hbm.pool.take_scratchpad(0x200000, 1);
    CHECK(first->pa == 0x3bff00000);
    CHECK(second->pa == 0x3bfd00000);
    // out of order: the total shrinks, so the next one would lie on the second
    hbm.pool.release(*first);
    hbm.pool.forget_scratchpad(0x100000);
    CHECK_FALSE(hbm.pool.take_scratchpad(0x200000, 1).has_value());
    hbm.pool.release(*second);
    hbm.pool.forget_scratchpad(0x200000);
    CHECK(hbm.pool.take_scratchpad(0x1000, 1)->pa == 0x3bffff000);
}

TEST_CASE("an address finds the owner of its piece", "[sim][pool]") {
    HbmPool pool(std::uint64_t{1} << 36, 16 * kGiB);
    const auto large = pool.take(2 * kMiB, 0, 5);
    const auto small = pool.take(4096, 0, 6);
    CHECK(large->pa == std::uint64_t{1} << 36);
    CHECK(pool.owner_at(large->pa + 2 * kMiB - 1) == 5);
    CHECK(pool.owner_at(large->pa + 2 * kMiB) == SegmentTree::kFree);
    CHECK(pool.owner_at(small->pa + 4095) == 6);
    CHECK(pool.owner_at(0) == SegmentTree::kFree);
    CHECK(small->pool == PoolKind::Small);
}

TEST_CASE("the pools follow the module's parameters", "[sim][pool]") {
    using neuronbook::sim::PoolShape;
    CHECK(HbmPool(0, 16 * kGiB).main_end() == 15 * kGiB);
    CHECK(HbmPool(0, 16 * kGiB, PoolShape{4096, 16 * kGiB}).main_end() == 16 * kGiB);
    CHECK(HbmPool(0, 16 * kGiB, PoolShape{4096, kGiB + 1}).main_end() == 16 * kGiB);
    CHECK(HbmPool(0, 16 * kGiB, PoolShape{12288, kGiB}).main_end() == 16 * kGiB);
    HbmPool odd(0, 16 * kGiB, PoolShape{12288, 24576, 8192}); // granules of 8 KiB
    CHECK(odd.take(8192, 0, 7)->pa == 16 * kGiB - 24576);
    CHECK(odd.take(8192, 0, 7)->pa == 16 * kGiB - 24576 + 8192);
    CHECK(odd.owner_at(16 * kGiB - 24576 + 16383) == 7);
    CHECK(odd.owner_at(16 * kGiB - 1) == SegmentTree::kFree); // one more granule
    CHECK(odd.take(12288, 0, 8)->pa == 0);
    CHECK(odd.take(12288, 0, 8)->pa == 16384);
    CHECK(odd.take_scratchpad(4096, 9)->pa == 16 * kGiB - 24576 - 4096);
    CHECK_FALSE(odd.take_scratchpad(4096, 9).has_value()); // the same granule
}
