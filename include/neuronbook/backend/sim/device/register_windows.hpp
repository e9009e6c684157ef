// SPDX-License-Identifier: Apache-2.0
//
// The ranges of a device that anybody may map by naming them exactly.
// Owns: their offsets and sizes. Does not own: who asks (requests/map.hpp), what is in them.
// Layer: backend (simulated kernel).   Source: driver-abi.md 9 (Trn1's first of a block measured)
#pragma once

#include <cstdint>
#include <optional>

#include "neuronbook/backend/sim/machine/machine_spec.hpp"
#include "neuronbook/backend/uapi.hpp"
#include "neuronbook/base/architecture.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

struct Resource {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    bool writable = true;
};

inline constexpr std::uint32_t kResourceBlocks = 3;
inline constexpr std::uint32_t kResourceKinds = 4;
inline constexpr std::uint32_t kMostResourceIds = 16; ///< of any block

/// Offset of a core's first window. From Trn2 on the later ones are not the addresses of those
/// cores: the table goes on by the distance they have in the register bar.
[[nodiscard]] inline std::uint64_t core_window(Architecture architecture, std::uint32_t core) {
    const bool first = architecture == Architecture::Sunda;
    return (first ? 0xFFFC0000000ull : 0x2000000000ull) + core * 0x4000000ull;
}

/// The same for a synchronisation processor; from Trn2 on eight are on each die.
[[nodiscard]] inline std::uint64_t top_sp_window(Architecture architecture, std::uint32_t id) {
    constexpr std::uint32_t kPerDie = 8;
    if (architecture == Architecture::Sunda) return 0xFFFD0000000ull + id * 0x400000ull;
    return (id < kPerDie ? 0x8280000000ull : 0x808280000000ull) + id % kPerDie * 0x40000000ull;
}

/// Nothing for a combination that the driver's table lacks.
[[nodiscard]] inline std::optional<Resource>
resource(const MachineSpec& machine, std::uint32_t block, std::uint32_t id, std::uint32_t kind) {
    using Block = uapi::DmBlockType;
    using Kind = uapi::DmResourceType;
    const auto& geometry = machine.geometry();
    const auto named = [&](Block b, Kind k, std::uint32_t ids) {
        return block == static_cast<std::uint32_t>(b) && kind == static_cast<std::uint32_t>(k) &&
               id < ids;
    };
    if (named(Block::Tpb, Kind::Semaphore, geometry.cores))
        return Resource{core_window(geometry.architecture, id) + 0x2700000, 0x2000, true};
    if (named(Block::Tpb, Kind::Sbuf, geometry.cores))
        return Resource{core_window(geometry.architecture, id), 0x2000000, true};
    if (named(Block::Topsp, Kind::Semaphore, geometry.top_sps))
        return Resource{top_sp_window(geometry.architecture, id), 0x2000, true};
    if (named(Block::Topsp, Kind::All, geometry.top_sps))
        return Resource{top_sp_window(geometry.architecture, id), 0x400000, false};
    if (!machine.is(Architecture::Sunda) && named(Block::Hbm, Kind::Dmem, geometry.hbms))
        return Resource{geometry.hbm_base[id].value(), machine.hbm_size(), true};
    return {};
}

/// Calls `visit` for every resource until it returns true.
template <class F>
void for_each_resource(const MachineSpec& machine, F visit) {
    for (std::uint32_t block = 0; block < kResourceBlocks; ++block)
        for (std::uint32_t kind = 0; kind < kResourceKinds; ++kind)
            for (std::uint32_t id = 0; id < kMostResourceIds; ++id)
                if (const auto found = resource(machine, block, id, kind))
                    if (visit(*found)) return;
}

/// The resource with exactly this offset and size.
[[nodiscard]] inline std::optional<Resource> resource_at(const MachineSpec& machine,
                                                         std::uint64_t offset, std::uint64_t size) {
    std::optional<Resource> result;
    for_each_resource(machine, [&](const Resource& found) {
        if (found.offset != offset || found.size != size) return false;
        result = found;
        return true;
    });
    return result;
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
