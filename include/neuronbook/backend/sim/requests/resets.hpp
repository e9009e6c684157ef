// SPDX-License-Identifier: Apache-2.0
//
// Requests that reset cores or the whole device, and those that wait for it.
// Owns: their handlers. Does not own: what a reset does (device/reset_thread.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 3, 5.9 (measured)
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "neuronbook/backend/sim/device/reset_thread.hpp"
#include "neuronbook/backend/sim/requests/call.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// Waits for a pending reset, looking as often as the driver does: it may end sooner than it looks
/// now.
inline std::int64_t wait_for_reset(Call& call, std::int32_t pid) {
    constexpr std::uint64_t kLook = 100'000'000;
    const auto end = call.device.resets.end_of(pid, reset_pace(call.device, call.machine()));
    call.until = std::min(end, Nanoseconds{call.now.count + kLook});
    return Call::kWaits;
}

/// The module parameter as its file shows it now; emulated Trn3 never resets anything.
[[nodiscard]] inline bool is_without_resets(const State& state) {
    const bool never = state.machine.emulated() && state.machine.is(Architecture::Mariana);
    return never || state.parameters.no_reset != 0;
}

/// What both forms do. 0, or 1 when this process has a reset that it did not collect; up to 2.26
/// the rings are gone even then, later the driver's thread takes them just before the reset.
inline std::int64_t ask_for_reset(Call& call, std::uint32_t map) {
    auto& device = call.device;
    const auto& machine = call.machine();
    if (is_without_resets(call.state)) {
        const bool all = !machine.at_least(Release::V2_30_2);
        for (std::uint32_t core = 0; core < machine.cores(); ++core)
            if (all || is_in(map, core)) device.reset_rings(core);
        if (all) device.resets.set_ready();
        return 0;
    }
    if (!machine.at_least(Release::V2_30_2)) free_rings(device, machine, map, call.slot());
    const auto pid = call.caller.pid;
    if (device.resets.outcome(pid) != ResetQueue::Outcome::Unknown) return 1;
    if (const auto queues = queues_in(device, machine, map); queues != 0 && !call.resumed) {
        constexpr std::uint64_t kHalt = 1'000'000; // one notification queue after the other
        call.until = Nanoseconds{call.now.count + queues * kHalt};
        return Call::kWaits;
    }
    begin_reset(device, machine, call.state.journal, pid, map, call.slot(), call.now);
    return 0;
}

/// Cores by a map, or the whole device. One of these may be pending per process and device; it
/// counts as pending until it is collected.
inline std::int64_t nc_reset(Call& call) {
    uapi::DeviceReset ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    if (const auto answer = ask_for_reset(call, ask.nc_map)) return answer;
    ask.request_id = static_cast<std::uint32_t>(call.caller.pid);
    return call.copy_out(ask);
}

/// Anybody may collect anybody's, by process. It is collected even if the answer cannot be written.
inline std::int64_t nc_reset_ready(Call& call) {
    uapi::DeviceReady ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    const auto pid = static_cast<std::int32_t>(ask.request_id);
    // the driver's own are in the same list, under a number that reads as this one
    const auto outcome = call.device.resets.outcome(pid);
    if (outcome == ResetQueue::Outcome::Pending) return wait_for_reset(call, pid);
    const bool good = is_without_resets(call.state) || outcome == ResetQueue::Outcome::Done;
    ask.result = good ? 0 : 1;
    call.device.resets.forget(pid);
    return call.copy_out(ask);
}

/// The whole device; says 0 whatever comes of it.
inline std::int64_t device_reset(Call& call) {
    const auto answer = ask_for_reset(call, kWholeDevice);
    return answer == Call::kWaits ? answer : 0;
}

/// Writes 1 when the caller has none outstanding, or a good one.
inline std::int64_t device_ready(Call& call) {
    const auto pid = call.caller.pid;
    const auto outcome = call.device.resets.outcome(pid);
    if (outcome == ResetQueue::Outcome::Pending) return wait_for_reset(call, pid);
    call.device.resets.forget(pid);
    const bool good = outcome != ResetQueue::Outcome::Failed;
    return call.copy_out(static_cast<std::uint8_t>(good ? 1 : 0));
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
