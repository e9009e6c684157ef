// SPDX-License-Identifier: Apache-2.0
//
// The memory of one device, and the host memory it hands out, as chunks.
// Owns: pools, pages, chunks and their numbers. Does not own: whose a chunk is, what is counted
// (device/device.hpp). Layer: backend (simulated kernel).   Source: driver-abi.md 6, 7
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "neuronbook/backend/sim/machine/machine_spec.hpp"
#include "neuronbook/backend/sim/memory/chunk.hpp"
#include "neuronbook/backend/sim/memory/device_memory.hpp"
#include "neuronbook/backend/sim/memory/handle_table.hpp"
#include "neuronbook/backend/sim/memory/host_arena.hpp"
#include "neuronbook/backend/sim/memory/pool.hpp"
#include "neuronbook/backend/sim/options.hpp"
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
class Heap {
public:
    Heap(const MachineSpec& machine, std::uint32_t device)
        : host_(machine.geometry().host_memory_base.value() + kHostStart + device * kHostStride,
                machine.host_memory().count() / kPage.count() * kPage.count(),
                machine.parameters().mempool_host_memory_size,
                machine.parameters().mempool_min_alloc_size) {
        const auto& geometry = machine.geometry();
        const auto& parameters = machine.parameters();
        for (std::uint32_t i = 0; i < geometry.hbms; ++i) {
            const auto base = geometry.hbm_base[i].value();
            hbms_.emplace_back(base, machine.hbm_size(),
                               PoolShape{parameters.mempool_min_alloc_size,
                                         parameters.mempool_small_pool_size,
                                         parameters.mempool_small_alloc_max});
            memory.add(base, machine.hbm_size());
            carve_out(i);
        }
        memory.add(host_.base(), host_.size());
    }

    DeviceMemory memory;
    ChunkTable chunks;
    HandleTable handles;

    [[nodiscard]] const std::vector<HbmPool>& hbms() const { return hbms_; }

    /// A new chunk without a handle, its pages as they were; nothing when there is no memory.
    /// `largest`: the largest piece the host itself has. Requires: whole pages, at least one.
    std::optional<std::uint32_t> make(const Ask& ask, std::uint64_t size, std::uint64_t largest) {
        const auto index = chunks.add();
        const auto piece = take(ask, size, largest, index);
        if (!piece) {
            chunks.remove(index);
            return std::nullopt;
        }
        fill_in(chunks[index], ask, *piece, size);
        return index;
    }

    /// The end of a chunk and of its handle.
    void unmake(std::uint32_t index) {
        const auto& chunk = chunks[index];
        const Piece piece{chunk.pa, chunk.segment, chunk.pool};
        if (chunk.handle != 0) handles.remove(chunk.handle);
        if (chunk.on_host()) {
            host_.release(piece);
        } else {
            hbms_[chunk.hbm].release(piece);
            if (chunk.is_scratchpad()) hbms_[chunk.hbm].forget_scratchpad(chunk.size);
        }
        chunks.remove(index);
    }

    /// The handle of a chunk, made now if it has none; 0 when the table has no more.
    std::uint32_t name(std::uint32_t index) {
        auto& handle = chunks[index].handle;
        if (handle == 0) handle = handles.add(index);
        return handle;
    }

    /// The chunk a handle names, or null.
    [[nodiscard]] Chunk* named(std::uint64_t handle) {
        const auto index = handles.find(handle);
        return index == HandleTable::kNothing ? nullptr : &chunks[index];
    }

    /// Its first and its last page.
    void fill_with_poison(const Chunk& chunk) {
        for (const auto page : {chunk.pa, chunk.pa + chunk.size - kPage.count()})
            if (auto* bytes = memory.at(page, kPage.count()))
                std::memset(bytes, kPoison, kPage.count());
    }

    /// mempool_small_alloc_max, which root may change at any time.
    void set_small_most(std::uint64_t bytes) {
        for (auto& hbm : hbms_) hbm.set_small_most(bytes);
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
    static constexpr std::uint64_t kHostStart = std::uint64_t{1} << 32; // any bus address will do
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

    std::optional<Piece> take(const Ask& ask, std::uint64_t size, std::uint64_t largest,
                              std::uint32_t owner) {
        if (ask.on_host) return host_.take(size, largest, owner);
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

    std::vector<HbmPool> hbms_;
    HostArena host_;
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
