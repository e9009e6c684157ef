// SPDX-License-Identifier: Apache-2.0
//
// Requests that claim cores of the host.
// Owns: their handlers. Does not own: the map of marks (core_marks.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 5.6 (measured)
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "neuronbook/backend/sim/requests/call.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// Slot of the opened device's core 0: indexes and bits of these requests count from there.
[[nodiscard]] inline std::uint32_t first_slot(const Call& call) {
    return call.machine().cores() * call.device.index();
}

/// Marks and fills in the answer; the structure goes back whatever the outcome.
template <class Map>
std::int64_t mark_cores(Call& call) {
    Map map;
    if (call.argument == 0 && call.machine().at_least(Release::V2_30_2)) return -ENXIO;
    if (const auto answer = call.copy_in(map)) return answer;
    const auto base = first_slot(call);
    const auto first = std::uint64_t{map.start_nc_index} + base;
    const auto last = std::uint64_t{map.end_nc_index} + base;
    map.max_nc_available = 0;
    auto* words = reinterpret_cast<std::uint64_t*>(&map.bitmap);
    constexpr std::uint32_t kBits = sizeof(map.bitmap) * 8;
    std::fill_n(words, sizeof(map.bitmap) / 8, 0);
    std::int64_t outcome = 0;
    if (first > last || last >= CoreMarks::kSlots) {
        outcome = call.machine().at_least(Release::V2_30_2) ? -ENXIO : -EINVAL;
    } else {
        const auto found =
            call.state.marks.mark(call.caller.pid, map.nc_count, static_cast<std::uint32_t>(first),
                                  static_cast<std::uint32_t>(last));
        map.max_nc_available = found.longest;
        outcome = found.found ? 0 : -EBUSY;
        for (std::uint32_t k = 0; found.found && k < map.nc_count; ++k)
            if (const auto bit = found.first + k - base; bit < kBits)
                words[bit / 64] |= std::uint64_t{1} << bit % 64;
    }
    const auto missing = call.copy_out(map);
    return outcome != 0 ? outcome : missing;
}

template <class Map>
std::int64_t unmark_cores(Call& call) {
    Map map;
    if (const auto answer = call.copy_in(map)) return answer;
    const auto* words = reinterpret_cast<const std::uint64_t*>(&map.bitmap);
    for (std::uint32_t bit = 0; bit < sizeof(map.bitmap) * 8; ++bit)
        if ((words[bit / 64] >> bit % 64 & 1) != 0)
            call.state.marks.unmark(call.caller.pid, first_slot(call) + bit);
    if (call.state.marks.held() == 0) call.state.pod.forget_mode();
    return 0;
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
