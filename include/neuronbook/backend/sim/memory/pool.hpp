// SPDX-License-Identifier: Apache-2.0
//
// Where device memory comes from: the two pools of an HBM.
// Owns: addresses. Does not own: chunks, or the order of checks before a request gets here.
// Layer: backend (simulated kernel).   Source: driver-abi.md 6 and 7 (measured)
#pragma once

#include <cstdint>
#include <optional>

#include "neuronbook/backend/sim/memory/chunk.hpp"
#include "neuronbook/backend/sim/memory/first_fit.hpp"
#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

inline constexpr std::uint64_t kSmallPool = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kSmallest = std::uint64_t{512} << 10; ///< largest small piece

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
    HbmPool(std::uint64_t base, std::uint64_t size)
        : base_(base), size_(size), main_(pages_of(size - kSmallPool), base / kPage.count()),
          small_(pages_of(kSmallPool), (base + size - kSmallPool) / kPage.count()) {}

    [[nodiscard]] std::uint64_t base() const { return base_; }
    [[nodiscard]] std::uint64_t end() const { return base_ + size_; }
    [[nodiscard]] std::uint64_t main_end() const { return end() - kSmallPool; }

    /// `size`: whole pages, at least one. `align`: up to 2^31 - 1, any value; up to a page it says
    /// nothing. The driver checks an address against align - 1 only after it was found, so an odd
    /// alignment may fail although another place would do.
    std::optional<Piece> take(std::uint64_t size, std::uint64_t align, std::uint32_t owner) {
        if (size > size_) return std::nullopt;
        const bool small = size <= kSmallest;
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
        const auto segment = main_.take_at(pages_of(at), pages_of(size), owner);
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
        return segments.owner(segments.find(pages_of(pa - (small ? main_end() : base_))));
    }

private:
    static std::uint32_t pages_of(std::uint64_t bytes) {
        return static_cast<std::uint32_t>(bytes / kPage.count());
    }

    std::optional<Piece> take_from(PoolKind kind, std::uint64_t size, std::uint64_t align,
                                   std::uint32_t owner) {
        const auto mask = align <= kPage.count()
                              ? 0u
                              : pages_of(align + kPage.count() - 1) - 1; // ceil(align/4096) - 1
        const auto segment = of(kind).take(pages_of(size), mask, owner);
        if (segment == FirstFit::kNone) return std::nullopt;
        const auto start = of(kind).segments().start(segment) * kPage.count();
        return Piece{(kind == PoolKind::Small ? main_end() : base_) + start, segment, kind};
    }

    std::uint64_t base_;
    std::uint64_t size_;
    FirstFit main_;
    FirstFit small_;
    std::uint64_t scratchpad_ = 0; ///< bytes of all live category 19 pieces
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
