// SPDX-License-Identifier: Apache-2.0
//
// Requests that read and change semaphores and events of a core.
// Owns: their handlers and bounds. Does not own: the values (core_registers.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 1, 12 (semaphores measured)
#pragma once

#include <cerrno>
#include <cstdint>

#include "neuronbook/backend/sim/device/core_registers.hpp"
#include "neuronbook/backend/sim/requests/call.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// What a register reads as when the device left the bus.
inline constexpr std::uint32_t kAllOnes = 0xFFFFFFFFu;

/// Reads the argument and calls `change(value, ask)` on the semaphore; a device off the bus has
/// none that could change.
template <class F>
std::int64_t with_semaphore(Call& call, uapi::Semaphore& ask, F change) {
    if (const auto answer = call.copy_in(ask)) return answer;
    if (ask.nc_id >= call.machine().cores()) return -E2BIG;
    if (ask.semaphore_index >= CoreRegisters::kSemaphores) return -EINVAL;
    std::uint32_t off_the_bus = kAllOnes;
    auto& semaphores = call.device.cores[ask.nc_id].semaphores;
    change(call.device.faults.gone ? off_the_bus : semaphores[ask.semaphore_index]);
    return 0;
}

/// The arithmetic is the hardware's, in 32 bits; whether it wraps is inferred.
inline std::int64_t semaphore_increment(Call& call) {
    uapi::Semaphore ask;
    return with_semaphore(call, ask, [&](std::uint32_t& value) { value += ask.value; });
}

inline std::int64_t semaphore_decrement(Call& call) {
    uapi::Semaphore ask;
    return with_semaphore(call, ask, [&](std::uint32_t& value) { value -= ask.value; });
}

inline std::int64_t semaphore_write(Call& call) {
    uapi::Semaphore ask;
    return with_semaphore(call, ask, [&](std::uint32_t& value) { value = ask.value; });
}

inline std::int64_t semaphore_read(Call& call) {
    uapi::Semaphore ask;
    const auto answer =
        with_semaphore(call, ask, [&](const std::uint32_t& value) { ask.value = value; });
    return answer != 0 ? answer : call.copy_out(ask);
}

/// The event's word, or null: the driver looks at no more of the core than its low byte, and one
/// that is not there leads to a register of something else.
[[nodiscard]] inline std::uint32_t* event_word(Call& call, const uapi::Event& ask) {
    const auto core = ask.nc_id & 0xFFu;
    if (core >= call.machine().cores()) {
        call.state.journal.crashes.add("event of a core that is not there: a stray register");
        return nullptr;
    }
    return call.device.faults.gone ? nullptr : &call.device.cores[core].events[ask.event_index];
}

inline std::int64_t event_set(Call& call) {
    uapi::Event ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    if (ask.event_index > CoreRegisters::kEvents) return -EINVAL; // one too many is let through
    if (auto* word = event_word(call, ask)) *word = ask.value;
    return 0;
}

inline std::int64_t event_get(Call& call) {
    uapi::Event ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    if (ask.event_index > CoreRegisters::kEvents) return -EINVAL;
    const auto* word = event_word(call, ask);
    ask.value = word != nullptr ? *word : kAllOnes;
    return call.copy_out(ask);
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
