// SPDX-License-Identifier: Apache-2.0
//
// What a pool has of one HBM, or of the host, and what became of it.
// Owns: the plain data. Does not own: counting (detail/pool_arena.hpp).
// Layer: dmem.
#pragma once

#include <algorithm>
#include <cstdint>

#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {

/// Of one instant. reserved = used + waiting + free, but for what a chunk has before its first
/// granule and behind its last.
struct PoolStatistics {
    Bytes reserved{};     ///< taken from the driver, as the ledger counts it
    Bytes used{};         ///< of blocks that have a handle, as the pool rounded them
    Bytes requested{};    ///< of the same blocks, as they were asked for
    Bytes waiting{};      ///< freed, and not to be used before a queue is done with it
    Bytes free{};         ///< to be had at once
    Bytes largest_free{}; ///< the largest request that can be met without growing
    std::uint64_t chunks = 0;
    std::uint64_t blocks = 0;
    std::uint64_t waiting_blocks = 0;
    std::uint64_t free_blocks = 0;
    Bytes peak_reserved{};
    Bytes peak_used{};
    std::uint64_t growths = 0; ///< chunks taken from the driver, ever

    /// Effects: the sum of both; peaks are of different instants, so their sum is a bound.
    void add(const PoolStatistics& other) noexcept {
        const auto sum = [](Bytes& a, Bytes b) { a = Bytes{a.count() + b.count()}; };
        sum(reserved, other.reserved);
        sum(used, other.used);
        sum(requested, other.requested);
        sum(waiting, other.waiting);
        sum(free, other.free);
        sum(peak_reserved, other.peak_reserved);
        sum(peak_used, other.peak_used);
        largest_free = std::max(largest_free, other.largest_free);
        chunks += other.chunks;
        blocks += other.blocks;
        waiting_blocks += other.waiting_blocks;
        free_blocks += other.free_blocks;
        growths += other.growths;
    }
};

} // namespace v0
} // namespace neuronbook
