// SPDX-License-Identifier: Apache-2.0
//
// Which run of pages a request gets: the lowest that fits, with the kernel pool's own arithmetic.
// Owns: the search. Does not own: the segments (segment_tree.hpp), what they are for (chunk.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 6.1 and 7
#pragma once

#include <algorithm>
#include <cstdint>

#include "neuronbook/backend/sim/memory/segment_tree.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// A first-fit pool of pages. Not thread-safe.
class FirstFit {
public:
    using Index = SegmentTree::Index;
    static constexpr Index kNone = SegmentTree::kNone;

    /// `first_page`: number of the pool's first page in its address space; alignment is a matter of
    /// addresses, not of offsets in the pool.
    FirstFit(std::uint32_t pages, std::uint64_t first_page)
        : segments_(pages), pages_(pages), first_page_(first_page) {}

    /// Takes the first run of `count` pages that begins at (i + mask) & ~mask for a free page i. A
    /// mask of 2^k - 1 is an alignment; for any other value the pool's loop is followed step by
    /// step, because what it gives then is odd. kNone when nothing fits.
    Index take(std::uint32_t count, std::uint32_t mask, std::uint32_t owner) {
        if (count == 0 || count > pages_) return kNone;
        if ((mask & (mask + 1)) != 0) return take_odd(count, mask, owner);
        for (Index hole = segments_.first_hole(count); hole != kNone;
             hole = segments_.next_hole(hole, count)) {
            const auto at = candidate(segments_.start(hole), mask);
            if (at + count <= segments_.end(hole)) return carve(hole, at, count, owner);
        }
        return kNone;
    }

    /// Takes exactly [start, start + count), or kNone when a page of it is taken.
    Index take_at(std::uint32_t start, std::uint32_t count, std::uint32_t owner) {
        if (count == 0 || start >= pages_ || count > pages_ - start) return kNone;
        const Index hole = segments_.find(start);
        if (!segments_.is_hole(hole) || segments_.end(hole) < std::uint64_t{start} + count)
            return kNone;
        return carve(hole, start, count, owner);
    }

    void release(Index at) { segments_.release(at); }

    [[nodiscard]] const SegmentTree& segments() const { return segments_; }

private:
    [[nodiscard]] std::uint64_t candidate(std::uint64_t page, std::uint32_t mask) const {
        return ((page + first_page_ + mask) & ~std::uint64_t{mask}) - first_page_;
    }

    Index carve(Index hole, std::uint64_t at, std::uint32_t count, std::uint32_t owner) {
        return segments_.take(hole, static_cast<std::uint32_t>(at), count, owner);
    }

    /// The pool's loop: the next free page, its candidate, and if a page of that run is taken,
    /// again from behind it. The candidate may lie in a later hole than the page it was computed
    /// from.
    Index take_odd(std::uint32_t count, std::uint32_t mask, std::uint32_t owner) {
        for (std::uint64_t from = 0; from < pages_;) {
            Index hole = segments_.find(static_cast<std::uint32_t>(from));
            if (!segments_.is_hole(hole)) hole = segments_.next_hole(hole, 1);
            if (hole == kNone) return kNone;
            const auto page = std::max<std::uint64_t>(from, segments_.start(hole));
            const auto at = candidate(page, mask);
            if (at + count > pages_) return kNone;
            if (at >= segments_.end(hole)) hole = segments_.find(static_cast<std::uint32_t>(at));
            if (!segments_.is_hole(hole)) {
                from = at + 1;
                continue;
            }
            if (at + count <= segments_.end(hole)) return carve(hole, at, count, owner);
            from = segments_.end(hole) + 1;
        }
        return kNone;
    }

    SegmentTree segments_;
    std::uint32_t pages_;
    std::uint64_t first_page_;
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
