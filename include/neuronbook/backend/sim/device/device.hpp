// SPDX-License-Identifier: Apache-2.0
//
// One simulated device: its heap, who is attached, its engines, cores and registers.
// Owns: whose a chunk is. Does not own: request forms (requests/), core marks (host-wide).
// Layer: backend (simulated kernel).   Source: driver-abi.md 2.4, 6, 7
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "neuronbook/backend/sim/device/attach_slots.hpp"
#include "neuronbook/backend/sim/device/copy_engines.hpp"
#include "neuronbook/backend/sim/device/core_locks.hpp"
#include "neuronbook/backend/sim/device/core_registers.hpp"
#include "neuronbook/backend/sim/device/counters.hpp"
#include "neuronbook/backend/sim/device/datastore_counters.hpp"
#include "neuronbook/backend/sim/device/datastores.hpp"
#include "neuronbook/backend/sim/device/dma_queues.hpp"
#include "neuronbook/backend/sim/device/notification_queues.hpp"
#include "neuronbook/backend/sim/device/power_state.hpp"
#include "neuronbook/backend/sim/device/registers.hpp"
#include "neuronbook/backend/sim/device/reset_queue.hpp"
#include "neuronbook/backend/sim/device/scrubs.hpp"
#include "neuronbook/backend/sim/faults.hpp"
#include "neuronbook/backend/sim/machine/machine_spec.hpp"
#include "neuronbook/backend/sim/memory/heap.hpp"
#include "neuronbook/backend/uapi.hpp"
#include "neuronbook/base/architecture.hpp"
#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// A device's heap with everything else that belongs to the device. Not thread-safe.
class Device : public Heap {
public:
    Device(const MachineSpec& machine, std::uint32_t index)
        : Heap(machine, index), faults(machine.faults()), engines(machine), dma(machine),
          registers(machine, index), index_(index), poison_(machine.poison()),
          release_(machine.release()) {
        registers.add_to(memory);
        // what the driver allocates for itself after its counters have started
        for (std::uint32_t i = 0; i < Datastores::kCount; ++i)
            if (const auto own = allocate_own(Datastores::kSize, 0); own.index != Chunk::kNone)
                datastores.add(own.pa);
        dma.dummy = allocate_own(kPage.count(), 0);
        allocate_own(kFillBuffer, 0);
        for (std::uint32_t core = 0; core < machine.cores(); ++core) reset_rings(core);
    }

    SimFaults faults;
    AttachSlots slots;
    MemoryCounters counters;
    CopyEngines engines;
    DmaQueues dma;
    std::vector<std::byte> fill_buffer; ///< what fills are copied from; empty until the first
    ResetQueue resets;
    std::array<Counter, kMaxCoresPerDevice> reset_requests{};
    std::array<Counter, kMaxCoresPerDevice> reset_failures{};
    std::array<CoreRegisters, kMaxCoresPerDevice> cores{};
    CoreLocks locks;
    NotificationQueues notifications;
    Datastores datastores;
    PublishedCounters published; ///< of datastores that were given back; up to 2.28
    Registers registers;
    Scrubs scrubs;
    std::int32_t node_locked_by = 0; ///< whose last close waits for a reset, with the node locked
    PowerState power;
    std::uint32_t open_files = 0;

    [[nodiscard]] std::uint32_t index() const { return index_; }

    /// Whether a chunk gets its handle when it is made, or when somebody asks for one.
    enum class Naming : std::uint8_t { AtOnce, Later };

    /// The checks of every allocation form in the driver's order, then the memory. The index of the
    /// new chunk, or minus an errno. Requires: `slot` is attached, if the chunk is to go with it.
    std::int64_t allocate(const Ask& ask, std::uint32_t slot, Lifetime lifetime = Lifetime::Process,
                          Naming naming = Naming::AtOnce) {
        constexpr std::uint64_t kInt64Max = (std::uint64_t{1} << 63) - 1;
        if (ask.size > kInt64Max) return -EINVAL;
        const auto size = whole_pages(Bytes{ask.size})->count();
        if (ask.hbm >= hbms().size() || ask.core >= kMaxCoresPerDevice) return -EINVAL;
        if (ask.on_host && ask.align != 0) return -EINVAL;
        const bool aligned = release_ < Release::V2_30_2 || ask.category != kContiguousScratchpad;
        if (!ask.on_host && aligned && ask.align > kMaxAlign) return -EINVAL;
        if (size == 0 || fails_now()) return -ENOMEM;
        const auto index = make(ask, size, faults.largest_host_piece.count());
        if (!index) return -ENOMEM;
        if (naming == Naming::AtOnce && !name(*index)) {
            unmake(*index);
            return -ENOENT;
        }
        enter(*index, slot, lifetime);
        return *index;
    }

    /// Frees a chunk and its handle. `by`: the slot of the process that asks for it.
    void free(std::uint32_t index, std::uint32_t by = AttachSlots::kNone) {
        auto& chunk = chunks[index];
        unlink(index);
        slots.credit(by, chunk.on_host(), chunk.size);
        counters.subtract(chunk.on_host(), chunk.category, chunk.core, chunk.size);
        if (chunk.kept) {
            if (auto* queue = notifications.of_chunk(index)) queue->freed = true;
            scrubs.chunk_freed(index);
        }
        unmake(index);
    }

    /// Frees every chunk of a slot, oldest first, and detaches it.
    void detach(std::uint32_t slot) {
        while (slots[slot].oldest != Chunk::kNone) free(slots[slot].oldest, slot);
        slots.detach(slot);
    }

    /// What a reset of one core does to what copies go through.
    void reset_rings(std::uint32_t core) { engines.reset(*this, core); }

    /// The queue that copies to and from a chunk go through, unless they name another. A chunk may
    /// name a core that the device does not have.
    [[nodiscard]] CopyQueue& queue_of(const Chunk& chunk) { return engines.default_of(chunk.core); }

    /// Host memory for the driver itself, as long as the device lives; it has no handle. It counts
    /// for the process of a slot.
    OwnChunk allocate_own(std::uint64_t bytes, std::uint32_t core,
                          std::uint32_t slot = AttachSlots::kNone) {
        constexpr auto kCategory = static_cast<std::uint32_t>(uapi::MemCategory::NcdevHost);
        const auto size = whole_pages(Bytes{bytes})->count();
        const Ask ask{size, 0, true, 0, core, kCategory};
        const auto index = make(ask, size, faults.largest_host_piece.count());
        if (!index) return {};
        chunks[*index].lifetime = Lifetime::Device;
        counters.add(true, kCategory, core, size);
        slots.charge(slot, true, size);
        return {*index, chunks[*index].pa, size};
    }

    /// Whether nobody freed it by a handle.
    [[nodiscard]] bool holds(const OwnChunk& own) const {
        if (own.index == Chunk::kNone) return false;
        const auto& chunk = chunks[own.index];
        return chunk.pa == own.pa && chunk.size == own.size && chunk.pid == 0 &&
               chunk.lifetime == Lifetime::Device;
    }
    void free_own(OwnChunk& own, std::uint32_t by = AttachSlots::kNone) {
        if (holds(own)) free(own.index, by);
        own = {};
    }
    void name_own(const OwnChunk& own) {
        if (holds(own)) name(own.index);
    }
    [[nodiscard]] std::byte* bytes_of(const OwnChunk& own) {
        return holds(own) ? memory.at(own.pa, own.size) : nullptr;
    }

private:
    static constexpr std::uint64_t kMaxAlign = 0x7FFFFFFF;
    static constexpr std::uint64_t kFillBuffer = 65536;

    /// Counts down to the allocation that is to fail.
    bool fails_now() {
        auto& left = faults.failing_allocation;
        if (!left || *left > 1) {
            if (left) --*left;
            return false;
        }
        left.reset();
        return true;
    }

    /// Counts a new chunk for who asked for it, attached or not.
    void enter(std::uint32_t index, std::uint32_t slot, Lifetime lifetime) {
        auto& chunk = chunks[index];
        chunk.lifetime = lifetime;
        if (slot != AttachSlots::kNone) chunk.pid = slots[slot].pid;
        if (lifetime == Lifetime::Process) append(index, slot);
        slots.charge(slot, chunk.on_host(), chunk.size);
        counters.add(chunk.on_host(), chunk.category, chunk.core, chunk.size);
        if (poison_) fill_with_poison(chunk);
    }

    void append(std::uint32_t index, std::uint32_t slot) {
        auto& chunk = chunks[index];
        chunk.slot = slot;
        chunk.previous = slots[slot].newest;
        (chunk.previous == Chunk::kNone ? slots[slot].oldest : chunks[chunk.previous].next) = index;
        slots[slot].newest = index;
    }

    void unlink(std::uint32_t index) {
        const auto& chunk = chunks[index];
        if (chunk.slot == Chunk::kNone) return;
        auto& slot = slots[chunk.slot];
        (chunk.previous == Chunk::kNone ? slot.oldest : chunks[chunk.previous].next) = chunk.next;
        (chunk.next == Chunk::kNone ? slot.newest : chunks[chunk.next].previous) = chunk.previous;
    }

    std::uint32_t index_;
    bool poison_;
    Release release_;
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
