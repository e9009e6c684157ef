// SPDX-License-Identifier: Apache-2.0
#include "neuronbook/backend/sim/memory/first_fit.hpp"

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "support/catch.hpp"

namespace {

using neuronbook::sim::FirstFit;
using neuronbook::sim::SegmentTree;

/// The pool's loop over plain flags, one page each.
class Bitmap {
public:
    Bitmap(std::uint32_t pages, std::uint64_t first_page) : taken_(pages), first_(first_page) {}

    std::optional<std::uint64_t> take(std::uint64_t count, std::uint64_t mask) {
        for (std::uint64_t from = 0;;) {
            while (from < taken_.size() && taken_[from]) ++from;
            const auto at = ((from + first_ + mask) & ~mask) - first_;
            if (at + count > taken_.size()) return std::nullopt;
            auto i = at;
            while (i < at + count && !taken_[i]) ++i;
            if (i == at + count) {
                set(at, count, true);
                return at;
            }
            from = i + 1;
        }
    }

    bool take_at(std::uint64_t at, std::uint64_t count) {
        if (at + count > taken_.size()) return false;
        for (auto i = at; i < at + count; ++i)
            if (taken_[i]) return false;
        set(at, count, true);
        return true;
    }

    void set(std::uint64_t at, std::uint64_t count, bool taken) {
        for (auto i = at; i < at + count; ++i) taken_[i] = taken;
    }

    [[nodiscard]] std::uint64_t largest() const {
        std::uint64_t best = 0;
        std::uint64_t run = 0;
        for (const bool taken : taken_) {
            run = taken ? 0 : run + 1;
            best = std::max(best, run);
        }
        return best;
    }

private:
    std::vector<bool> taken_;
    std::uint64_t first_;
};

void check_order(const SegmentTree& tree, std::uint32_t pages) {
    std::uint64_t at = 0;
    bool hole_before = false;
    for (auto i = tree.find(0); i != SegmentTree::kNone; i = tree.next(i)) {
        REQUIRE(tree.start(i) == at);
        REQUIRE_FALSE((hole_before && tree.is_hole(i)));
        hole_before = tree.is_hole(i);
        at = tree.end(i);
        REQUIRE(tree.find(tree.start(i) + tree.pages(i) - 1) == i);
    }
    REQUIRE(at == pages);
}

} // namespace

TEST_CASE("every run is the one the pool's own loop over a bitmap finds", "[sim][first_fit]") {
    const auto seed = GENERATE(1u, 2u, 3u, 4u, 5u, 6u);
    const bool odd_alignments = seed % 2 == 0;
    std::mt19937 random(seed);
    constexpr std::uint32_t kPages = 600;
    const std::uint64_t first_page = random() % 4096;
    FirstFit pool(kPages, first_page);
    Bitmap reference(kPages, first_page);
    std::vector<FirstFit::Index> live;
    for (int step = 0; step < 4000; ++step) {
        const auto what = random() % 10;
        if (what < 5) {
            const auto count = 1 + random() % (1 + random() % 40);
            const auto mask = odd_alignments ? random() % 20 : (1u << random() % 6) - 1;
            const auto got = pool.take(count, mask, 7);
            const auto expected = reference.take(count, mask);
            REQUIRE((got != FirstFit::kNone) == expected.has_value());
            if (!expected) continue;
            REQUIRE(pool.segments().start(got) == *expected);
            REQUIRE(pool.segments().pages(got) == count);
            live.push_back(got);
        } else if (what == 5) {
            const auto at = random() % kPages;
            const auto count = 1 + random() % 30;
            const auto got = pool.take_at(at, count, 7);
            REQUIRE((got != FirstFit::kNone) == reference.take_at(at, count));
            if (got != FirstFit::kNone) live.push_back(got);
        } else if (!live.empty()) {
            const auto i = random() % live.size();
            reference.set(pool.segments().start(live[i]), pool.segments().pages(live[i]), false);
            pool.release(live[i]);
            live[i] = live.back();
            live.pop_back();
        }
        REQUIRE(pool.segments().largest_hole() == reference.largest());
        if (step % 100 == 0) check_order(pool.segments(), kPages);
    }
    for (const auto index : live) pool.release(index);
    CHECK(pool.segments().free_pages() == kPages);
    CHECK(pool.segments().largest_hole() == kPages);
}

TEST_CASE("a hole is reused first fit, not best fit", "[sim][first_fit]") {
    FirstFit pool(100, 0);
    const auto large = pool.take(20, 0, 1);
    const auto between = pool.take(5, 0, 1);
    const auto small = pool.take(5, 0, 1);
    pool.take(5, 0, 1);
    pool.release(large);
    pool.release(small);
    const auto again = pool.take(5, 0, 1);
    CHECK(pool.segments().start(again) == 0);
    CHECK(pool.segments().start(between) == 20);
}

TEST_CASE("alignment counts from page 0 of the address space", "[sim][first_fit]") {
    FirstFit pool(64, 3);                                   // pages 3 to 66
    CHECK(pool.segments().start(pool.take(1, 7, 1)) == 5);  // page 8
    CHECK(pool.segments().start(pool.take(1, 7, 1)) == 13); // page 16
    CHECK(pool.segments().start(pool.take(1, 0, 1)) == 0);
}

TEST_CASE("nothing is taken when nothing fits", "[sim][first_fit]") {
    FirstFit pool(10, 0);
    CHECK(pool.take(0, 0, 1) == FirstFit::kNone);
    CHECK(pool.take(11, 0, 1) == FirstFit::kNone);
    CHECK(pool.take_at(9, 2, 1) == FirstFit::kNone);
    CHECK(pool.take_at(10, 1, 1) == FirstFit::kNone);
    CHECK(pool.take(10, 0, 1) != FirstFit::kNone);
    CHECK(pool.take(1, 0, 1) == FirstFit::kNone);
    CHECK(pool.segments().free_pages() == 0);
}
