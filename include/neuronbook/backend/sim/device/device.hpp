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
#include "neuronbook/backend/sim/device/counters.hpp"
#include "neuronbook/backend/sim/device/register_windows.hpp"
#include "neuronbook/backend/sim/device/transfer_ring.hpp"
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

/// A core reset that was asked for and not yet collected.
struct PendingReset {
    std::int32_t pid = 0;
    Nanoseconds done{};
};

/// Not thread-safe. Addresses are physical, sizes bytes.
class Device {
public:
    Device(const MachineSpec& machine, std::uint32_t index)
        : faults(machine.faults()), rings(machine.cores()), index_(index),
          poison_(machine.poison()),
          host_(machine.geometry().host_memory_base.value() + kHostStart + index * kHostStride,
                machine.host_memory().count() / kPage.count() * kPage.count()) {
        const auto& geometry = machine.geometry();
        for (std::uint32_t i = 0; i < geometry.hbms; ++i) {
            const auto base = geometry.hbm_base[i].value();
            hbms_.emplace_back(base, geometry.hbm_size.count());
            memory.add(base, geometry.hbm_size.count());
            carve_out(i);
        }
        memory.add(host_.base(), host_.size());
        for_each_resource(machine, [this](const Resource& window) {
            memory.add(window.offset, window.size); // an HBM's own range was added before
            return false;
        });
        // what the driver allocates for itself after its counters have started
        counters.add(true, static_cast<std::uint32_t>(uapi::MemCategory::NcdevHost), 0,
                     kOwnHostMemory);
    }

    SimFaults faults;
    DeviceMemory memory;
    AttachSlots slots;
    MemoryCounters counters;
    HandleTable handles;
    ChunkTable chunks;
    std::vector<TransferRing> rings;    ///< one a core
    std::vector<std::byte> fill_buffer; ///< what fills are copied from; empty until the first
    std::vector<PendingReset> resets;
    std::array<std::uint64_t, kMaxCoresPerDevice> reset_requests{};
    std::uint32_t open_files = 0;

    [[nodiscard]] std::uint32_t index() const { return index_; }
    [[nodiscard]] const std::vector<HbmPool>& hbms() const { return hbms_; }

    /// The checks of every allocation form in the driver's order, then the memory. The index of the
    /// new chunk, or minus an errno. Requires: `slot` is attached.
    std::int64_t allocate(const Ask& ask, std::uint32_t slot) {
        constexpr std::uint64_t kInt64Max = (std::uint64_t{1} << 63) - 1;
        if (ask.size > kInt64Max) return -EINVAL;
        const auto size = whole_pages(Bytes{ask.size})->count();
        if (ask.hbm >= hbms_.size() || ask.core >= kMaxCoresPerDevice) return -EINVAL;
        if (ask.on_host && ask.align != 0) return -EINVAL;
        if (!ask.on_host && ask.align > kMaxAlign) return -EINVAL;
        if (size == 0 || fails_now()) return -ENOMEM;
        const auto index = chunks.add();
        const auto piece = take(ask, size, index);
        if (!piece) {
            chunks.remove(index);
            return -ENOMEM;
        }
        auto& chunk = chunks[index];
        fill_in(chunk, ask, *piece, size);
        chunk.handle = handles.add(index);
        if (chunk.handle == 0) {
            give_back(index);
            return -ENOENT;
        }
        append(index, slot);
        counters.add(chunk.on_host(), chunk.category, chunk.core, size);
        if (poison_) fill_with_poison(chunk);
        return index;
    }

    /// Frees a chunk and its handle.
    void free(std::uint32_t index) {
        auto& chunk = chunks[index];
        unlink(index);
        counters.subtract(chunk.on_host(), chunk.category, chunk.core, chunk.size);
        if (chunk.handle != 0) handles.remove(chunk.handle);
        give_back(index);
    }

    /// Frees every chunk of a slot, oldest first, and detaches it.
    void detach(std::uint32_t slot) {
        while (slots[slot].oldest != Chunk::kNone) free(slots[slot].oldest);
        slots.detach(slot);
    }

    /// The chunk a handle names, or null.
    [[nodiscard]] Chunk* named(std::uint64_t handle) {
        const auto index = handles.find(handle);
        return index == HandleTable::kNothing ? nullptr : &chunks[index];
    }

    /// What a reset of one core does at once to what copies go through.
    void reset_rings(std::uint32_t core) { rings[core] = TransferRing{}; }

    /// The ring that copies to and from a chunk go through. A chunk may name a core that the device
    /// does not have; then it is the last core's.
    [[nodiscard]] TransferRing& ring_of(const Chunk& chunk) {
        return rings[std::min<std::size_t>(chunk.core, rings.size() - 1)];
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
    static constexpr std::uint64_t kOwnHostMemory = 4534272; // measured on an idle Trn1 device
    static constexpr std::uint64_t kHostStride = std::uint64_t{64} << 30;

    void carve_out(std::uint32_t hbm) {
        const auto index = chunks.add();
        const Ask ask{kCarveOut.count(),
                      0,
                      false,
                      hbm,
                      0,
                      static_cast<std::uint32_t>(uapi::MemCategory::NcdevDevice)};
        const auto piece = hbms_[hbm].take(kCarveOut.count(), 0, index);
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

    void append(std::uint32_t index, std::uint32_t slot) {
        auto& chunk = chunks[index];
        chunk.slot = slot;
        chunk.pid = slots[slot].pid;
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
        if (auto* bytes = memory.at(chunk.pa, chunk.size)) {
            std::memset(bytes, kPoison, kPage.count());
            std::memset(bytes + chunk.size - kPage.count(), kPoison, kPage.count());
        }
    }

    std::uint32_t index_;
    bool poison_;
    std::vector<HbmPool> hbms_;
    HostArena host_;
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
