// SPDX-License-Identifier: Apache-2.0
//
// Opening and closing: who is attached, and what goes when somebody leaves.
// Owns: the order of what each close does. Does not own: files, slots or chunks.
// Layer: backend (simulated kernel).   Source: driver-abi.md 2.1, 2.2, 2.4 (measured)
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <vector>

#include "neuronbook/backend/sim/device/datastore_use.hpp"
#include "neuronbook/backend/sim/device/reset_thread.hpp"
#include "neuronbook/backend/sim/request.hpp"
#include "neuronbook/backend/sim/state.hpp"
#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// When an open may go on: while the driver itself resets the device, it is held up, as it is
/// behind a last close that waits for a reset. The free-access lane never is.
[[nodiscard]] inline Nanoseconds pause_before_open(State& state, std::uint32_t device,
                                                   std::uint32_t access, Nanoseconds now) {
    constexpr std::uint64_t kLook = 100'000'000;
    auto& opened = state.devices[device];
    if (is_restricted(access)) return now;
    if (opened.node_locked_until > now) return opened.node_locked_until;
    if (opened.resets.state() != DeviceState::Reset) return now;
    const auto end = opened.resets.end_of(ResetQueue::kDriver, reset_pace(opened, state.machine));
    return std::min(end, Nanoseconds{now.count + kLook});
}

/// A file number; -EINVAL when the device's reset has failed, -EBUSY when 16 other processes are
/// attached. The free-access lane attaches nobody and never fails.
inline std::int64_t open_file(State& state, std::uint32_t device, std::uint32_t access,
                              const Caller& caller, OnExec on_exec = OnExec::Close) {
    const OpenFile file{device, access & 3u, caller.pid};
    auto& opened = state.devices[device];
    if (!file.restricted()) {
        if (opened.resets.state() == DeviceState::Invalid) return -EINVAL;
        if (!opened.slots.attach(caller.pid)) return -EBUSY;
        ++opened.open_files;
    }
    return state.files.add(file, on_exec);
}

/// When a flush may go on: the last close of a process waits for its reset, with the node locked,
/// and then sleeps.
[[nodiscard]] inline Nanoseconds pause_before_flush(State& state, const OpenFile& file,
                                                    const Caller& caller, Nanoseconds now) {
    constexpr std::uint64_t kSleep = 10'000'000;
    auto& device = state.devices[file.device];
    const auto slot = file.restricted() ? AttachSlots::kNone : device.slots.find(caller.pid);
    if (slot == AttachSlots::kNone || device.slots[slot].open_count > 1) return now;
    auto start = now;
    if (device.resets.outcome(caller.pid) == ResetQueue::Outcome::Pending) {
        start = device.resets.end_of(caller.pid, reset_pace(device, state.machine));
        device.node_locked_until = std::max(device.node_locked_until, start);
    }
    return Nanoseconds{start.count + kSleep};
}

/// Whether a process has a slot on any device.
[[nodiscard]] inline bool attached_anywhere(const State& state, std::int32_t pid) {
    return std::any_of(state.devices.begin(), state.devices.end(), [pid](const Device& device) {
        return device.slots.find(pid) != AttachSlots::kNone;
    });
}

/// Any close() of any descriptor. It counts against the calling process, whoever opened the file:
/// a duplicate's close is a close, a child's is none.
inline void flush_file(State& state, const OpenFile& file, const Caller& caller) {
    if (file.restricted()) {
        state.marks.unmark_all(caller.pid); // on all devices, whichever file made them
        if (state.marks.held() == 0) state.pod.forget_mode();
        return;
    }
    auto& device = state.devices[file.device];
    const auto slot = device.slots.find(caller.pid);
    if (slot == AttachSlots::kNone) return;
    if (device.slots[slot].open_count > 1) {
        --device.slots[slot].open_count;
        return;
    }
    if (state.machine.parameters().dma_teardown_on_exit != 0 ||
        !state.machine.at_least(Release::V2_26_5))
        device.dma.tear_down(device.engines, caller.pid);
    if (device.resets.outcome(caller.pid) == ResetQueue::Outcome::Pending)
        device.node_locked_until = {}; // who waited for it was killed
    device.resets.forget(caller.pid);
    device.locks.drop(caller.pid);
    give_back_datastore(device, state.machine, caller.pid);
    device.detach(slot);
    state.mappings.drop_records(file.device, caller.pid);
    if (!attached_anywhere(state, caller.pid)) state.pins.drop_process(caller.pid);
}

/// The numbers that the file had.
inline std::vector<std::int64_t> release_file(State& state, std::int64_t number) {
    const auto* file = state.files.find(number);
    auto& device = state.devices[file->device];
    if (!file->restricted() && --device.open_files == 0)
        device.datastores.release_all(wipe(device));
    return state.files.remove(number);
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
