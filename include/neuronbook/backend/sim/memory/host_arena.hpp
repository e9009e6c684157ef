// SPDX-License-Identifier: Apache-2.0
//
// Where host memory comes from, as one device's driver hands it out.
// Owns: addresses. Does not own: chunks, or the order of checks before a request gets here.
// Layer: backend (simulated kernel).   Source: driver-abi.md 6.2 (measured)
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "neuronbook/backend/sim/memory/first_fit.hpp"
#include "neuronbook/backend/sim/memory/pool.hpp"
#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// Host memory as a device sees it. A piece is physically contiguous and aligned to its size
/// rounded up to a power of two. When the host has none that large, or that memory
/// is used up, pieces up to 2 MiB come from four reserved pools, which are set aside at load if the
/// host has enough. A pool is a row of pages of 256 KiB to 2 MiB; a page serves as many pieces as
/// it has room for, and none goes beyond its page.
class HostArena {
public:
    static constexpr std::uint64_t kReserve = std::uint64_t{32} << 20; ///< of each reserved pool

    /// `reserve`: bytes of each reserved pool; they get no more than half of the host's memory.
    /// `least`: what a piece of one takes at least, rounded down to a power of two.
    HostArena(std::uint64_t base, std::uint64_t size, std::uint64_t reserve = kReserve,
              std::uint64_t least = kPage.count())
        : base_(base), size_(size),
          granule_(pages_of(std::bit_floor(std::max(least, kPage.count())))) {
        if (reserve > size / (2 * kReservedPages.size())) reserve = 0;
        auto common = size;
        for (const auto page : kReservedPages) common -= reserve / page * page;
        add(base, common, 0);
        auto next = base + common;
        for (const auto page : kReservedPages) {
            const auto whole = reserve / page * page;
            if (whole != 0) add(next, whole, page);
            next += whole;
        }
    }

    /// `largest`: the largest piece that the host itself has now.
    std::optional<Piece> take(std::uint64_t size, std::uint64_t largest, std::uint32_t owner) {
        if (size > size_) return std::nullopt;
        for (auto& part : parts_) {
            if (size > (part.page != 0 ? part.page : largest)) continue;
            const auto segment =
                part.page != 0 ? take_of_page(part, size, owner) : take_aligned(part, size, owner);
            if (segment == FirstFit::kNone) continue;
            const auto start = part.pages.segments().start(segment);
            return Piece{part.base + start * kPage.count(), segment, PoolKind::Host};
        }
        return std::nullopt;
    }

    void release(const Piece& piece) {
        for (auto& part : parts_)
            if (part.holds(piece.pa)) part.pages.release(piece.segment);
    }

    [[nodiscard]] std::uint64_t base() const { return base_; }
    [[nodiscard]] std::uint64_t size() const { return size_; }

    /// Owner of the piece that contains an address, SegmentTree::kFree for none.
    [[nodiscard]] std::uint32_t owner_at(std::uint64_t pa) const {
        for (const auto& part : parts_) {
            if (!part.holds(pa)) continue;
            const auto& segments = part.pages.segments();
            return segments.owner(segments.find(pages_of(pa - part.base)));
        }
        return SegmentTree::kFree;
    }

    /// Calls `visit(owner)` for every piece.
    template <class F>
    void for_each(F visit) const {
        for (const auto& part : parts_) {
            const auto& segments = part.pages.segments();
            for (auto at = segments.find(0); at != SegmentTree::kNone; at = segments.next(at))
                if (!segments.is_hole(at)) visit(segments.owner(at));
        }
    }

private:
    static constexpr std::array<std::uint64_t, 4> kReservedPages{256u << 10, 512u << 10, 1u << 20,
                                                                 2u << 20};
    struct Part {
        std::uint64_t base;
        std::uint64_t size;
        std::uint64_t page; ///< every piece takes this much; 0: as much as it needs
        FirstFit pages;

        [[nodiscard]] bool holds(std::uint64_t pa) const { return pa >= base && pa - base < size; }
    };

    static std::uint32_t pages_of(std::uint64_t bytes) {
        return static_cast<std::uint32_t>(bytes / kPage.count());
    }

    static FirstFit::Index take_aligned(Part& part, std::uint64_t size, std::uint32_t owner) {
        const auto count = pages_of(size);
        return part.pages.take(count, std::bit_ceil(count) - 1, owner);
    }

    /// The first room within one page of a reserved pool.
    FirstFit::Index take_of_page(Part& part, std::uint64_t size, std::uint32_t owner) const {
        const std::uint64_t count = (pages_of(size) + granule_ - 1) / granule_ * granule_;
        const std::uint64_t page = pages_of(part.page);
        if (count == 0 || count > page) return FirstFit::kNone;
        const auto& segments = part.pages.segments();
        const auto wanted = static_cast<std::uint32_t>(count);
        for (auto hole = segments.first_hole(wanted); hole != SegmentTree::kNone;
             hole = segments.next_hole(hole, wanted)) {
            std::uint64_t at = segments.start(hole);
            if (at % page + count > page) at = (at / page + 1) * page;
            if (at + count <= segments.end(hole))
                return part.pages.take_at(static_cast<std::uint32_t>(at), wanted, owner);
        }
        return FirstFit::kNone;
    }

    void add(std::uint64_t base, std::uint64_t size, std::uint64_t page) {
        parts_.push_back({base, size, page, FirstFit{pages_of(size), base / kPage.count()}});
    }

    std::uint64_t base_;
    std::uint64_t size_;
    std::uint64_t granule_; ///< of the reserved pools, in pages
    std::vector<Part> parts_;
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
