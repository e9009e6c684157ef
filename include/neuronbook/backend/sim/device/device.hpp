// SPDX-License-Identifier: Apache-2.0
//
// One simulated device: its memory, who is attached, what is allocated.
// Owns: the life of a chunk. Does not own: request forms (requests/), core marks (host-wide).
// Layer: backend (simulated kernel).   Source: driver-abi.md 2.4, 6, 7
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
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
#include "neuronbook/backend/sim/memory/chunk.hpp"
#include "neuronbook/backend/sim/memory/device_memory.hpp"
#include "neuronbook/backend/sim/memory/handle_table.hpp"
#include "neuronbook/backend/sim/memory/host_arena.hpp"
#include "neuronbook/backend/sim/memory/pool.hpp"
#include "neuronbook/backend/uapi.hpp"
#include "neuronbook/base/architecture.hpp"
#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// What an allocation request says, whatever its form.
struct Ask {
    std::uint64_t size = 0;
    std::uint64_t align = 0;
    bool on_host = false;
    std::uint32_t hbm = 0;
    std::uint32_t core = 0;
    std::uint32_t category = 0;
};

/// Not thread-safe. Addresses are physical, sizes bytes.
class Device {
public:
    Device(const MachineSpec& machine, std::uint32_t index)
        : faults(machine.faults()), engines(machine), dma(machine), registers(machine, index),
          index_(index), poison_(machine.poison()), release_(machine.release()),
          host_(machine.geometry().host_memory_base.value() + kHostStart + index * kHostStride,
                machine.host_memory().count() / kPage.count() * kPage.count(),
                machine.parameters().mempool_host_memory_size,
                machine.parameters().mempool_min_alloc_size) {
        const auto& geometry = machine.geometry();
        for (std::uint32_t i = 0; i < geometry.hbms; ++i) {
            const auto base = geometry.hbm_base[i].value();
            const auto& parameters = machine.parameters();
            hbms_.emplace_back(base, machine.hbm_size(),
                               PoolShape{parameters.mempool_min_alloc_size,
                                         parameters.mempool_small_pool_size,
                                         parameters.mempool_small_alloc_max});
            memory.add(base, machine.hbm_size());
            carve_out(i);
        }
        memory.add(host_.base(), host_.size());
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
    DeviceMemory memory;
    AttachSlots slots;
    MemoryCounters counters;
    HandleTable handles;
    ChunkTable chunks;
    CopyEngines engines;
    DmaQueues dma;
    std::vector<std::byte> fill_buffer; ///< what fills are copied from; empty until the first
    ResetQueue resets;
    std::array<Counter, kMaxCoresPerDevice> reset_requests{};
    std::array<Counter, kMaxCoresPerDevice> reset_failures{};
    std::uint32_t without_rings = 0; ///< cores, a bit each, whose rings are gone until a reset
    std::array<CoreRegisters, kMaxCoresPerDevice> cores{};
    CoreLocks locks;
    NotificationQueues notifications;
    Datastores datastores;
    PublishedCounters published; ///< of datastores that were given back; up to 2.28
    Registers registers;
    Scrubs scrubs;
    Nanoseconds node_locked_until{}; ///< a last close that waits for a reset keeps the node locked
    PowerState power;
    std::uint32_t open_files = 0;

    [[nodiscard]] std::uint32_t index() const { return index_; }
    [[nodiscard]] const std::vector<HbmPool>& hbms() const { return hbms_; }

    /// Whether a chunk gets its handle when it is made, or when somebody asks for one.
    enum class Naming : std::uint8_t { AtOnce, Later };

    /// The checks of every allocation form in the driver's order, then the memory. The index of the
    /// new chunk, or minus an errno. Requires: `slot` is attached, if the chunk is to go with it.
    std::int64_t allocate(const Ask& ask, std::uint32_t slot, Lifetime lifetime = Lifetime::Process,
                          Naming naming = Naming::AtOnce) {
        constexpr std::uint64_t kInt64Max = (std::uint64_t{1} << 63) - 1;
        if (ask.size > kInt64Max) return -EINVAL;
        const auto size = whole_pages(Bytes{ask.size})->count();
        if (ask.hbm >= hbms_.size() || ask.core >= kMaxCoresPerDevice) return -EINVAL;
        if (ask.on_host && ask.align != 0) return -EINVAL;
        const bool aligned = release_ < Release::V2_30_2 || ask.category != kContiguousScratchpad;
        if (!ask.on_host && aligned && ask.align > kMaxAlign) return -EINVAL;
        if (size == 0 || fails_now()) return -ENOMEM;
        const auto index = chunks.add();
        const auto piece = take(ask, size, index);
        if (!piece) {
            chunks.remove(index);
            return -ENOMEM;
        }
        fill_in(chunks[index], ask, *piece, size);
        if (naming == Naming::AtOnce && !name(index)) {
            give_back(index);
            return -ENOENT;
        }
        enter(index, slot, lifetime);
        return index;
    }

    /// The handle of a chunk, made now if it has none; 0 when the table has no more.
    std::uint32_t name(std::uint32_t index) {
        auto& handle = chunks[index].handle;
        if (handle == 0) handle = handles.add(index);
        return handle;
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
        if (chunk.handle != 0) handles.remove(chunk.handle);
        give_back(index);
    }

    /// Frees every chunk of a slot, oldest first, and detaches it.
    void detach(std::uint32_t slot) {
        while (slots[slot].oldest != Chunk::kNone) free(slots[slot].oldest, slot);
        slots.detach(slot);
    }

    /// The chunk a handle names, or null.
    [[nodiscard]] Chunk* named(std::uint64_t handle) {
        const auto index = handles.find(handle);
        return index == HandleTable::kNothing ? nullptr : &chunks[index];
    }

    /// What a reset of one core does to what copies go through.
    void reset_rings(std::uint32_t core) { engines.reset(*this, core); }

    /// mempool_small_alloc_max, which root may change at any time.
    void set_small_most(std::uint64_t bytes) {
        for (auto& hbm : hbms_) hbm.set_small_most(bytes);
    }

    /// The queue that copies to and from a chunk go through, unless they name another. A chunk may
    /// name a core that the device does not have.
    [[nodiscard]] CopyQueue& queue_of(const Chunk& chunk) { return engines.default_of(chunk.core); }

    /// Host memory for the driver itself, as long as the device lives; it has no handle.
    OwnChunk allocate_own(std::uint64_t bytes, std::uint32_t core) {
        constexpr auto kCategory = static_cast<std::uint32_t>(uapi::MemCategory::NcdevHost);
        const auto size = whole_pages(Bytes{bytes})->count();
        const Ask ask{size, 0, true, 0, core, kCategory};
        const auto index = chunks.add();
        const auto piece = take(ask, size, index);
        if (!piece) {
            chunks.remove(index);
            return {};
        }
        fill_in(chunks[index], ask, *piece, size);
        chunks[index].lifetime = Lifetime::Device;
        counters.add(true, kCategory, core, size);
        return {index, piece->pa, size};
    }

    /// Whether nobody freed it by a handle.
    [[nodiscard]] bool holds(const OwnChunk& own) const {
        if (own.index == Chunk::kNone) return false;
        const auto& chunk = chunks[own.index];
        return chunk.pa == own.pa && chunk.size == own.size && chunk.pid == 0 &&
               chunk.lifetime == Lifetime::Device;
    }
    void free_own(OwnChunk& own) {
        if (holds(own)) free(own.index);
        own = {};
    }
    void name(const OwnChunk& own) {
        if (holds(own)) chunks[own.index].handle = handles.add(own.index);
    }
    [[nodiscard]] std::byte* bytes_of(const OwnChunk& own) {
        return holds(own) ? memory.at(own.pa, own.size) : nullptr;
    }

    /// Index of the chunk that contains an address, or Chunk::kNone.
    [[nodiscard]] std::uint32_t at(std::uint64_t pa) const {
        auto owner = host_.owner_at(pa);
        for (auto hbm = hbms_.begin(); owner == SegmentTree::kFree && hbm != hbms_.end(); ++hbm)
            owner = hbm->owner_at(pa);
        if (owner == SegmentTree::kFree) return Chunk::kNone;
        // a piece of a reserved host pool is larger than its chunk
        return pa - chunks[owner].pa < chunks[owner].size ? owner : Chunk::kNone;
    }

    /// Calls `visit(index)` for every chunk of an HBM in address order.
    template <class F>
    void for_each(std::uint32_t hbm, F visit) const {
        if (hbm >= hbms_.size()) return;
        for (const auto kind : {PoolKind::Main, PoolKind::Small}) {
            const auto& segments = hbms_[hbm].of(kind).segments();
            for (auto at = segments.find(0); at != SegmentTree::kNone; at = segments.next(at))
                if (!segments.is_hole(at)) visit(segments.owner(at));
        }
    }

    /// The same for host memory.
    template <class F>
    void for_each_host(F visit) const {
        host_.for_each(visit);
    }

private:
    static constexpr std::uint64_t kMaxAlign = 0x7FFFFFFF;
    static constexpr std::uint64_t kHostStart = std::uint64_t{1} << 32; // any bus address will do
    static constexpr std::uint64_t kFillBuffer = 65536;
    static constexpr std::uint64_t kHostStride = std::uint64_t{64} << 30;

    void carve_out(std::uint32_t hbm) {
        const auto index = chunks.add();
        const Ask ask{kCarveOut.count(),
                      0,
                      false,
                      hbm,
                      0,
                      static_cast<std::uint32_t>(uapi::MemCategory::NcdevDevice)};
        const auto piece = hbms_[hbm].take_first(kCarveOut.count(), index);
        if (!piece) { // a small pool that leaves no room for it
            chunks.remove(index);
            return;
        }
        auto& chunk = chunks[index];
        fill_in(chunk, ask, *piece, kCarveOut.count());
        chunk.core = hbm;
        chunk.lifetime = Lifetime::Device;
    }

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

    std::optional<Piece> take(const Ask& ask, std::uint64_t size, std::uint32_t owner) {
        if (ask.on_host) return host_.take(size, faults.largest_host_piece.count(), owner);
        if (ask.category == kContiguousScratchpad)
            return hbms_[ask.hbm].take_scratchpad(size, owner);
        return hbms_[ask.hbm].take(size, ask.align, owner);
    }

    void fill_in(Chunk& chunk, const Ask& ask, const Piece& piece, std::uint64_t size) {
        chunk.pa = piece.pa;
        chunk.size = size;
        chunk.category = ask.category;
        chunk.core = ask.core;
        chunk.hbm = ask.hbm;
        chunk.segment = piece.segment;
        chunk.pool = piece.pool;
        chunk.reach = chunk.is_scratchpad() ? hbms_[ask.hbm].main_end() - piece.pa : size;
    }

    void give_back(std::uint32_t index) {
        const auto& chunk = chunks[index];
        const Piece piece{chunk.pa, chunk.segment, chunk.pool};
        if (chunk.on_host()) {
            host_.release(piece);
        } else {
            hbms_[chunk.hbm].release(piece);
            if (chunk.is_scratchpad()) hbms_[chunk.hbm].forget_scratchpad(chunk.size);
        }
        chunks.remove(index);
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

    void fill_with_poison(const Chunk& chunk) {
        for (const auto page : {chunk.pa, chunk.pa + chunk.size - kPage.count()})
            if (auto* bytes = memory.at(page, kPage.count()))
                std::memset(bytes, kPoison, kPage.count());
    }

    std::uint32_t index_;
    bool poison_;
    Release release_;
    std::vector<HbmPool> hbms_;
    HostArena host_;
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
