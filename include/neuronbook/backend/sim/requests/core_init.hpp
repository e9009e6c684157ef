// SPDX-License-Identifier: Apache-2.0
//
// Requests about the initialisation that processes do once per core, together.
// Owns: their handlers. Does not own: the state (core_registers.hpp), or what undoes it (resets).
// Layer: backend (simulated kernel).   Source: driver-abi.md 5.8 (measured but for the waits)
#pragma once

#include <cerrno>
#include <cstdint>

#include "neuronbook/backend/sim/requests/call.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// Whoever asks to start and finds that another has started waits for that one, at most ten times
/// half a second, and is told how far it is then.
inline std::int64_t cinit_set_state(Call& call) {
    using Stage = uapi::CinitState;
    constexpr std::uint64_t kPause = 500'000'000;
    constexpr std::uint64_t kTimes = 10;
    uapi::CinitSet ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    if (ask.nc_id >= call.machine().cores()) return -E2BIG;
    auto& state = call.device.cores[ask.nc_id].initialisation;
    if (ask.state == static_cast<std::uint32_t>(Stage::Started)) {
        if (state == Stage::Invalid && !call.resumed) {
            state = Stage::Started;
        } else if (state != Stage::Completed &&
                   call.now.count - call.since.count < kTimes * kPause) {
            // who waits takes nothing over, not even after a reset
            call.until = Nanoseconds{call.now.count + kPause};
            return Call::kWaits;
        }
    } else if (ask.state == static_cast<std::uint32_t>(Stage::Completed) &&
               state == Stage::Started) {
        state = Stage::Completed;
    }
    ask.new_state = static_cast<std::uint32_t>(state);
    return call.copy_out(ask);
}

/// Always 0 from the second generation on.
inline std::int64_t model_started_count(Call& call) {
    uapi::NcModelStartedCount ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    if (ask.nc_id >= call.machine().cores()) return -E2BIG;
    ask.started_count = call.device.cores[ask.nc_id].models_started;
    return call.copy_out(ask);
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
