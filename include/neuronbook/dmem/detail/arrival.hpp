// SPDX-License-Identifier: Apache-2.0
//
// A chunk that the driver has made, on its way into the books.
// Owns: what becomes of it there. Does not own: chunk and request, which it looks at.
// Layer: dmem.
#pragma once

#include <cstdint>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/allocation_request.hpp"
#include "neuronbook/dmem/charge.hpp"
#include "neuronbook/dmem/detail/block_record.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// Small, as it is handed on: the facts are written once, where they stay. A copy of what was just
/// written in pieces would wait for the pieces to reach the cache.
struct Arrival {
    const Chunk& chunk;
    const AllocationRequest& request;
    const ChunkRequest& ask;
    std::uint64_t ticks;

    [[nodiscard]] std::uint32_t channel() const noexcept {
        return chunk.location == MemoryLocation::Host ? kMaxHbm : chunk.hbm;
    }
    /// From the chunk's start to the block's.
    [[nodiscard]] std::uint32_t align_offset() const noexcept {
        return static_cast<std::uint32_t>(detail::align_offset(chunk.address, request.alignment));
    }
    /// A chunk is what was asked for, and the block lies inside; else the driver is not believed.
    [[nodiscard]] bool believable() const noexcept {
        return chunk.location == ask.location &&
               (ask.location == MemoryLocation::Host || chunk.hbm == ask.hbm) &&
               chunk.size >= ask.size && contains(chunk.size, Bytes{align_offset()}, request.size);
    }

    [[gnu::always_inline]] void describe(BlockFacts& facts) const noexcept {
        facts.handle = chunk.handle;
        facts.ticks = ticks;
        Booking& booking = facts.booking;
        booking.charge.usage = request.usage;
        booking.charge.location = chunk.location;
        booking.charge.hbm = chunk.hbm;
        booking.charge.core = ask.core;
        booking.charge.category = ask.category;
        booking.charge.bytes = chunk.size;
        booking.requested = request.size;
        booking.address = chunk.address;
        booking.align_offset = align_offset();
        booking.hint.assign(request.hint);
    }
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
