// SPDX-License-Identifier: Apache-2.0
//
// Where an address of a process lies on the devices.
// Owns: the request's handler. Does not own: what was mapped where (host/mappings.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 7.3 (measured on 2.26.5, Trn1)
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

/// The HBM of a chunk, by its base; the driver's own piece at the start of each is in none.
[[nodiscard]] inline std::optional<std::uint32_t> hbm_of(const Device& device, std::uint64_t pa) {
    for (std::uint32_t i = 0; i < device.hbms().size(); ++i) {
        const auto& hbm = device.hbms()[i];
        if (pa >= hbm.base() + kCarveOut.count() && pa < hbm.end()) return i;
    }
    return std::nullopt;
}

/// Looks through all devices the caller is attached to, whichever one was asked and on either lane.
/// What could not be written back is not reported.
inline std::int64_t va_placement(Call& call) {
    uapi::GetVaPlacement ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    ask.device_index = ask.hbm_index = -1;
    for (auto& device : call.state.devices) {
        const auto* record = call.state.mappings.find(device.index(), call.caller.pid, ask.va);
        if (record == nullptr || record->grant.kind != MapKind::DeviceChunk) continue;
        if (const auto hbm = hbm_of(device, record->grant.pa)) {
            ask.device_index = static_cast<std::int32_t>(device.index());
            ask.hbm_index = static_cast<std::int32_t>(*hbm);
            break;
        }
    }
    call.copy_out(ask);
    return ask.hbm_index < 0 ? -ENXIO : 0;
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
