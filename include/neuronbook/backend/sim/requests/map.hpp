// SPDX-License-Identifier: Apache-2.0
//
// What mmap(2) gives: chunks, register windows, whole HBMs.
// Owns: what may be mapped, and by whom. Does not own: the mapping itself (port.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 9 (measured)
#pragma once

#include <cerrno>
#include <cstdint>

#include "neuronbook/backend/sim/device/register_windows.hpp"
#include "neuronbook/backend/sim/requests/call.hpp"
#include "neuronbook/backend/uapi.hpp"
#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

inline std::int64_t resource_mmap_info(Call& call) {
    uapi::ResourceMmapInfo ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    const auto found = resource(call.machine(), ask.block, ask.block_id, ask.resource);
    if (!found) return -EINVAL;
    ask.offset = found->offset;
    ask.size = found->size;
    return call.copy_out(ask);
}

/// From 2.29 on an address that the caller leaves open is a multiple of this, when the offset and
/// the length are.
inline constexpr Bytes kHugePage{std::uint64_t{2} << 20};

[[nodiscard]] inline Bytes alignment_of(const MachineSpec& machine, const MapRequest& ask) {
    const bool huge = machine.at_least(Release::V2_30_2) && ask.offset % kHugePage.count() == 0 &&
                      ask.length.count() % kHugePage.count() == 0;
    return huge ? kHugePage : kPage;
}

/// Up to 2.26 a range that ends with its HBM, or lies in none, is looked for in the device's memory
/// bar at a place that nobody computed: it shows something else.
[[nodiscard]] inline std::uint64_t somewhere_else(std::uint64_t offset, Bytes length) {
    constexpr std::uint64_t kElsewhere = std::uint64_t{1} << 51;
    const auto into = offset % kElsewhere;
    return length.count() <= kElsewhere - into ? kElsewhere | into : kElsewhere;
}

/// A chunk is mapped from its base whichever of its addresses is named, somebody else's without
/// write permission.
inline MapGrant map_chunk(State& state, Device& device, const Chunk& chunk, const Caller& caller,
                          Bytes length, bool writable) {
    if (chunk.without_pool())
        state.journal.crashes.add("map of a host chunk of category 19: no pool to check");
    const bool mine = chunk.pid == caller.pid || chunk.lifetime == Lifetime::Device;
    device.memory.settle(chunk.pa, length.count());
    MapGrant grant{.file = device.memory.file(),
                   .offset = chunk.pa,
                   .length = length,
                   .writable = writable && mine,
                   .kind = chunk.on_host() ? MapKind::HostChunk : MapKind::DeviceChunk,
                   .pa = chunk.pa};
    if (!chunk.on_host() && !state.machine.at_least(Release::V2_30_2) &&
        chunk.pa + length.count() == device.hbms()[chunk.hbm].end()) {
        state.journal.crashes.add("map of a chunk that ends with its HBM: shows other memory");
        grant.offset = somewhere_else(chunk.pa, length);
    }
    return grant;
}

/// With raw I/O rights: any range of one HBM, allocated or not. 0, or an errno.
inline int map_raw_range(State& state, const Device& device, MapGrant& grant) {
    const bool exact = state.machine.at_least(Release::V2_30_2);
    for (const auto& hbm : device.hbms()) {
        if (grant.offset < hbm.base()) continue;
        const auto into = grant.offset - hbm.base();
        const auto size = hbm.end() - hbm.base();
        if (!contains(Bytes{size}, Bytes{into}, grant.length)) continue;
        if (exact || into + grant.length.count() < size) return 0;
    }
    if (exact) return EINVAL;
    state.journal.crashes.add("map with raw I/O rights beyond one HBM: shows other memory");
    grant.offset = somewhere_else(grant.offset, grant.length);
    return 0;
}

inline Answer serve_map(State& state, const OpenFile& file, const Caller& caller,
                        const MapRequest& ask) {
    const auto refuse = [](int error) {
        Answer answer;
        answer.value = -error;
        return answer;
    };
    const auto length = whole_pages(ask.length);
    if (!length || length->count() == 0 || ask.offset % kPage.count() != 0) return refuse(EINVAL);
    // the kernel's own rules, before the driver is asked: mode 3 can neither read nor write
    if (file.restricted() || (ask.writable && ask.shared && file.access == 0))
        return refuse(EACCES);
    auto& device = state.devices[file.device];
    if (device.memory.file() < 0) return refuse(ENOMEM);
    Answer answer;
    auto& grant = answer.map;
    const auto index = device.at(ask.offset);
    const auto* chunk = index == Chunk::kNone ? nullptr : &device.chunks[index];
    if (chunk != nullptr && (chunk->is_scratchpad() ? length->count() <= chunk->reach
                                                    : length->count() == chunk->size)) {
        grant = map_chunk(state, device, *chunk, caller, *length, ask.writable);
    } else {
        grant = {.file = device.memory.file(),
                 .offset = ask.offset,
                 .length = *length,
                 .writable = ask.writable,
                 .pa = ask.offset};
        if (const auto found = resource_at(state.machine, ask.offset, length->count())) {
            grant.writable = ask.writable && found->writable;
            grant.kind = MapKind::Registers;
        } else if (!caller.raw_io) {
            return refuse(EPERM);
        } else if (const int error = map_raw_range(state, device, grant)) {
            return refuse(error);
        }
    }
    grant.alignment = alignment_of(state.machine, ask);
    return answer;
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
