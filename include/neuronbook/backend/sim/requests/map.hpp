// SPDX-License-Identifier: Apache-2.0
//
// What mmap(2) gives: chunks, register windows, whole HBMs.
// Owns: what may be mapped, and by whom. Does not own: the mapping itself (port.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 9 (measured)
#pragma once

#include <cerrno>
#include <cstdint>
#include <optional>

#include "neuronbook/backend/sim/requests/call.hpp"
#include "neuronbook/backend/uapi.hpp"
#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// A range that may be mapped by anyone who names it exactly.
struct Resource {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    bool writable = true;
};

/// Offsets are keys of a table, not addresses. Those of Trn1 were measured for the first of each
/// block; the rest are made up to be different.
[[nodiscard]] inline std::optional<Resource>
resource(const MachineSpec& machine, std::uint32_t block, std::uint32_t id, std::uint32_t kind) {
    using Block = uapi::DmBlockType;
    using Kind = uapi::DmResourceType;
    const auto& geometry = machine.geometry();
    const bool first = machine.is(Architecture::Sunda);
    const std::uint64_t cores = (first ? 0x0FFFC0000000u : 0x3F0000000000u) + id * 0x4000000ull;
    const std::uint64_t tops = (first ? 0x0FFFD0000000u : 0x3F8000000000u) + id * 0x400000ull;
    const auto named = [&](Block b, Kind k) {
        return block == static_cast<std::uint32_t>(b) && kind == static_cast<std::uint32_t>(k);
    };
    if (block == static_cast<std::uint32_t>(Block::Tpb) && id >= geometry.cores) return {};
    if (block == static_cast<std::uint32_t>(Block::Topsp) && id >= geometry.top_sps) return {};
    if (named(Block::Tpb, Kind::Semaphore)) return Resource{cores + 0x2700000, 0x2000, true};
    if (named(Block::Tpb, Kind::Sbuf)) return Resource{cores, geometry.sbuf_size.count(), true};
    if (named(Block::Topsp, Kind::Semaphore)) return Resource{tops, 0x2000, true};
    if (named(Block::Topsp, Kind::All)) return Resource{tops, 0x400000, false};
    if (named(Block::Hbm, Kind::Dmem) && !first && id < geometry.hbms)
        return Resource{geometry.hbm_base[id].value(), machine.hbm_size(), true};
    return {};
}

inline std::int64_t resource_mmap_info(Call& call) {
    uapi::ResourceMmapInfo ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    const auto found = resource(call.machine(), ask.block, ask.block_id, ask.resource);
    if (!found) return -EINVAL;
    ask.offset = found->offset;
    ask.size = found->size;
    return call.copy_out(ask);
}

/// The resource with exactly this offset and size.
[[nodiscard]] inline std::optional<Resource> resource_at(const MachineSpec& machine,
                                                         std::uint64_t offset, std::uint64_t size) {
    constexpr std::uint32_t kBlocks = 3;
    constexpr std::uint32_t kKinds = 4;
    constexpr std::uint32_t kMostIds = 16;
    for (std::uint32_t block = 0; block < kBlocks; ++block)
        for (std::uint32_t kind = 0; kind < kKinds; ++kind)
            for (std::uint32_t id = 0; id < kMostIds; ++id)
                if (const auto found = resource(machine, block, id, kind))
                    if (found->offset == offset && found->size == size) return found;
    return {};
}

/// A chunk is mapped from its base whichever of its addresses is named, somebody else's without
/// write permission.
inline Answer map_chunk(State& state, Device& device, const Chunk& chunk, const Caller& caller,
                        Bytes length, bool writable) {
    // Up to 2.26 the window of a chunk that ends with its HBM shows something else.
    constexpr std::uint64_t kElsewhere = std::uint64_t{1} << 51;
    if (chunk.without_pool())
        state.journal.crashes.add("map of a host chunk of category 19: no pool to check");
    Answer answer;
    const bool mine = chunk.pid == caller.pid || chunk.lifetime == Lifetime::Device;
    answer.map = {device.memory.file(), chunk.pa, length, writable && mine};
    device.memory.settle(chunk.pa, length.count());
    if (!chunk.on_host() && !state.machine.at_least(Release::V2_30_2) &&
        chunk.pa + length.count() == device.hbms()[chunk.hbm].end()) {
        state.journal.crashes.add("map of a chunk that ends with its HBM: shows other memory");
        answer.map.offset |= kElsewhere;
    }
    return answer;
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
    if (const auto index = device.at(ask.offset); index != Chunk::kNone) {
        const auto& chunk = device.chunks[index];
        const bool fits =
            chunk.is_scratchpad() ? length->count() <= chunk.reach : length->count() == chunk.size;
        if (fits) return map_chunk(state, device, chunk, caller, *length, ask.writable);
    }
    Answer answer;
    answer.map = {device.memory.file(), ask.offset, *length, ask.writable};
    if (const auto found = resource_at(state.machine, ask.offset, length->count())) {
        answer.map.writable = ask.writable && found->writable;
        return answer;
    }
    for (const auto& hbm : device.hbms())
        if (caller.raw_io && ask.offset >= hbm.base() &&
            contains(Bytes{hbm.end() - hbm.base()}, Bytes{ask.offset - hbm.base()}, *length))
            return answer;
    return refuse(EPERM);
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
