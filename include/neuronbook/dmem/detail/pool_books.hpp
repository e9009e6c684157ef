// SPDX-License-Identifier: Apache-2.0
//
// The sums of a pool's arena.
// Owns: how each step changes them. Does not own: the lock that guards them (pool_arena.hpp).
// Layer: dmem.
#pragma once

#include <algorithm>
#include <cstdint>

#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/charge.hpp"
#include "neuronbook/dmem/detail/block_record.hpp"
#include "neuronbook/dmem/detail/pool_record.hpp"
#include "neuronbook/dmem/pool/pool_statistics.hpp"
#include "neuronbook/dmem/pool/segregated_fit.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

struct PoolBooks {
    BlockCount live; ///< blocks that have a handle
    std::uint64_t reserved = 0;

    void chunk_comes(const PoolSegment& segment) noexcept {
        reserved += segment.chunk.size.count();
        room_ += segment.size();
        peak_reserved_ = std::max(peak_reserved_, reserved);
        ++chunks_;
        ++growths_;
    }
    void chunk_goes(const PoolSegment& segment) noexcept {
        reserved -= segment.chunk.size.count();
        room_ -= segment.size();
        --chunks_;
    }
    void comes(const Booking& block) noexcept {
        live.add(block);
        peak_used_ = std::max(peak_used_, live.charged.count());
    }
    void goes(const Booking& block) noexcept { live.remove(block); }
    void waits(const Booking& block) noexcept {
        waiting_ += block.charge.bytes.count();
        ++waiting_blocks_;
    }
    void waited(const Booking& block) noexcept {
        waiting_ -= block.charge.bytes.count();
        --waiting_blocks_;
    }
    [[nodiscard]] std::uint64_t waiting() const noexcept { return waiting_; }

    [[nodiscard]] PoolStatistics statistics(const SegregatedFit& fit) const noexcept {
        return {.reserved = Bytes{reserved},
                .used = live.charged,
                .requested = live.requested,
                .waiting = Bytes{waiting_},
                .free = Bytes{room_ - live.charged.count() - waiting_},
                .largest_free = Bytes{fit.largest_free()},
                .chunks = chunks_,
                .blocks = live.blocks,
                .waiting_blocks = waiting_blocks_,
                .free_blocks = fit.free_ranges(),
                .peak_reserved = Bytes{peak_reserved_},
                .peak_used = Bytes{peak_used_},
                .growths = growths_};
    }

private:
    std::uint64_t room_ = 0; ///< of all chunks, in whole granules
    std::uint64_t waiting_ = 0;
    std::uint64_t waiting_blocks_ = 0;
    std::uint64_t chunks_ = 0;
    std::uint64_t peak_reserved_ = 0;
    std::uint64_t peak_used_ = 0;
    std::uint64_t growths_ = 0;
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
