// SPDX-License-Identifier: Apache-2.0
//
// One allocation or free, as the event ring keeps it and observers get it.
// Owns: the record. Does not own: the ring or the observers.
// Layer: dmem.   libnrt: dma_mem_log_entry_t. Source: tables.md 8
#pragma once

#include <cstdint>
#include <type_traits>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/dmem/hint.hpp"
#include "neuronbook/dmem/usage.hpp"

namespace neuronbook {
inline namespace v0 {

/// What happened; the original's numbers. libnrt: DMEM_ACTION_ALLOC, DMEM_ACTION_FREE
enum class MemoryAction : std::uint32_t { Allocate = 1, Free = 2 };

/// Plain data; sizes in bytes.
/// libnrt: dma_mem_log_entry_t
/// Differs: the hint is text, the size that was asked for stands beside the charged one, and events
/// are numbered, so that a reader sees what the ring has overwritten.
struct MemoryEvent {
    std::uint64_t number = 0;    ///< from 1, of its HBM's ring; goes on when the ring overwrites
    std::uint64_t ticks = 0;     ///< time stamp counter; 0 when stamps are off
    std::uint64_t size = 0;      ///< charged
    std::uint64_t requested = 0; ///< asked for
    std::uint64_t address = 0;   ///< physical
    std::uint64_t channel_total = 0; ///< of the HBM, or of all host memory, after the event
    std::uint32_t align_offset = 0;
    MemoryAction action = MemoryAction::Allocate;
    MemoryLocation location = MemoryLocation::Device;
    Usage usage = Usage::Generic;
    std::uint8_t hbm = 0;
    std::uint8_t core = 0;
    std::uint32_t owner = 0; ///< id of the allocator, as OwnerUsage has it
    Hint hint{};
};

static_assert(std::is_trivially_copyable_v<MemoryEvent>);

} // namespace v0
} // namespace neuronbook
