// SPDX-License-Identifier: Apache-2.0
//
// Where device memory comes from: the two pools of an HBM.
// Owns: addresses. Does not own: chunks, or the order of checks before a request gets here.
// Layer: backend (simulated kernel).   Source: driver-abi.md 6 and 7 (measured)
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

#include "neuronbook/backend/sim/memory/chunk.hpp"
#include "neuronbook/backend/sim/memory/first_fit.hpp"
#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// What the module's parameters make of the pools.
struct PoolShape {
    std::uint64_t least = 4096; ///< mempool_min_alloc_size
    std::uint64_t small_pool = std::uint64_t{1} << 30;
    std::uint64_t small_most = std::uint64_t{512} << 10; ///< the largest small piece

    /// Pieces take multiples of this, whatever size their chunk shows.
    [[nodiscard]] std::uint64_t granule() const {
        return std::bit_floor(std::max<std::uint64_t>(1024, least));
    }
    /// Bytes of the small pool of an HBM; there is none when it would not fit or not divide.
    [[nodiscard]] std::uint64_t small_of(std::uint64_t hbm) const {
        return small_pool >= hbm || small_pool % least != 0 ? 0 : small_pool;
    }
};

/// Pages that were given out.
struct Piece {
    std::uint64_t pa = 0;
    std::uint32_t segment = 0;
    PoolKind pool = PoolKind::Main;
};

/// One HBM: a main pool from its base and a small pool in its last GiB. Pieces up to 512 KiB are
/// taken from the small one, larger ones from the main one, either from the other when it is full.
class HbmPool {
public:
    HbmPool(std::uint64_t base, std::uint64_t size, const PoolShape& shape = {})
        : base_(base), size_(size), small_size_(shape.small_of(size)), granule_(shape.granule()),
          small_most_(shape.small_most),
          main_(static_cast<std::uint32_t>((size - small_size_) / granule_), base / granule_),
          small_(static_cast<std::uint32_t>(small_size_ / granule_),
                 (base + size - small_size_) / granule_) {}

    [[nodiscard]] std::uint64_t base() const { return base_; }
    [[nodiscard]] std::uint64_t end() const { return base_ + size_; }
    [[nodiscard]] std::uint64_t main_end() const { return end() - small_size_; }

    /// The limit of small pieces may change at any time.
    void set_small_most(std::uint64_t bytes) { small_most_ = bytes; }

    /// From the main pool alone; what the driver keeps for itself at load.
    std::optional<Piece> take_first(std::uint64_t size, std::uint32_t owner) {
        return take_from(PoolKind::Main, size, 0, owner);
    }

    /// `size`: whole pages, at least one. `align`: up to 2^31 - 1, any value; up to a page it says
    /// nothing. The driver checks an address against align - 1 only after it was found, so an odd
    /// alignment may fail although another place would do.
    std::optional<Piece> take(std::uint64_t size, std::uint64_t align, std::uint32_t owner) {
        if (size > size_) return std::nullopt;
        const bool small = size <= small_most_;
        auto piece = take_from(small ? PoolKind::Small : PoolKind::Main, size, align, owner);
        if (!piece) piece = take_from(small ? PoolKind::Main : PoolKind::Small, size, align, owner);
        if (piece && align > kPage.count() && (piece->pa & (align - 1)) != 0) {
            release(*piece);
            return std::nullopt;
        }
        return piece;
    }

    /// Category 19: directly below the last such piece, the first one below the main pool's end.
    std::optional<Piece> take_scratchpad(std::uint64_t size, std::uint32_t owner) {
        if (size > size_ || scratchpad_ + size > main_end() - base_) return std::nullopt;
        const auto at = main_end() - base_ - scratchpad_ - size;
        const auto segment = main_.take_at(static_cast<std::uint32_t>(at / granule_),
                                           granules(at % granule_ + size), owner);
        if (segment == FirstFit::kNone) return std::nullopt;
        scratchpad_ += size;
        return Piece{base_ + at, segment, PoolKind::Main};
    }

    /// The running total shrinks whatever the order, so that out of order the next piece collides.
    void forget_scratchpad(std::uint64_t size) { scratchpad_ -= size; }

    void release(const Piece& piece) { of(piece.pool).release(piece.segment); }

    [[nodiscard]] FirstFit& of(PoolKind kind) { return kind == PoolKind::Small ? small_ : main_; }
    [[nodiscard]] const FirstFit& of(PoolKind kind) const {
        return kind == PoolKind::Small ? small_ : main_;
    }

    /// Owner of the piece that contains an address, SegmentTree::kFree for none.
    [[nodiscard]] std::uint32_t owner_at(std::uint64_t pa) const {
        if (pa < base_ || pa >= end()) return SegmentTree::kFree;
        const bool small = pa >= main_end();
        const auto& segments = (small ? small_ : main_).segments();
        const auto at = (pa - (small ? main_end() : base_)) / granule_;
        // what does not fill a granule at a pool's end belongs to nobody
        const auto count = (small ? small_size_ : size_ - small_size_) / granule_;
        if (at >= count) return SegmentTree::kFree;
        return segments.owner(segments.find(static_cast<std::uint32_t>(at)));
    }

private:
    [[nodiscard]] std::uint32_t granules(std::uint64_t bytes) const {
        return static_cast<std::uint32_t>((bytes + granule_ - 1) / granule_);
    }

    std::optional<Piece> take_from(PoolKind kind, std::uint64_t size, std::uint64_t align,
                                   std::uint32_t owner) {
        const auto mask = align <= kPage.count() ? 0u : granules(align) - 1;
        const auto segment = of(kind).take(granules(size), mask, owner);
        if (segment == FirstFit::kNone) return std::nullopt;
        const auto start = of(kind).segments().start(segment) * granule_;
        return Piece{(kind == PoolKind::Small ? main_end() : base_) + start, segment, kind};
    }

    std::uint64_t base_;
    std::uint64_t size_;
    std::uint64_t small_size_; ///< 0: no small pool
    std::uint64_t granule_;
    std::uint64_t small_most_;
    FirstFit main_;
    FirstFit small_;
    std::uint64_t scratchpad_ = 0; ///< bytes of all live category 19 pieces
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
