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

/// The driver looks at a reset this often.
inline constexpr std::uint64_t kResetLook = 100'000'000;

/// When to look again at a node that somebody else's last close keeps locked while its reset runs;
/// `now` when it is not.
[[nodiscard]] inline Nanoseconds pause_for_node(const Device& device, const MachineSpec& machine,
                                                std::int32_t pid, Nanoseconds now) {
    const auto by = device.node_locked_by;
    if (by == 0 || by == pid || device.resets.outcome(by) != ResetQueue::Outcome::Pending)
        return now;
    return std::min(device.resets.end_of(by, reset_pace(device, machine)),
                    Nanoseconds{now.count + kResetLook});
}

/// When an open may go on: while the driver itself resets the device, it is held up, as it is
/// behind a last close that waits for a reset. The free-access lane never is.
[[nodiscard]] inline Nanoseconds pause_before_open(State& state, std::uint32_t device,
                                                   std::uint32_t access, Nanoseconds now) {
    auto& opened = state.devices[device];
    if (is_restricted(access)) return now;
    if (const auto locked = pause_for_node(opened, state.machine, 0, now); locked > now)
        return locked;
    if (opened.resets.state() != DeviceState::Reset) return now;
    const auto end = opened.resets.end_of(ResetQueue::kDriver, reset_pace(opened, state.machine));
    return std::min(end, Nanoseconds{now.count + kResetLook});
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
/// and then sleeps. `again`: it was told to wait before.
[[nodiscard]] inline Nanoseconds pause_before_flush(State& state, const OpenFile& file,
                                                    const Caller& caller, Nanoseconds now,
                                                    bool again) {
    constexpr std::uint64_t kSleep = 10'000'000;
    auto& device = state.devices[file.device];
    if (file.restricted()) return now;
    if (const auto locked = pause_for_node(device, state.machine, caller.pid, now); locked > now)
        return locked;
    const auto slot = device.slots.find(caller.pid);
    if (slot == AttachSlots::kNone || device.slots[slot].open_count > 1) return now;
    if (device.resets.outcome(caller.pid) == ResetQueue::Outcome::Pending) {
        device.node_locked_by = caller.pid;
        const auto end = device.resets.end_of(caller.pid, reset_pace(device, state.machine));
        return Nanoseconds{end.count + kSleep};
    }
    return again ? now : Nanoseconds{now.count + kSleep};
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
    if (state.parameters.dma_teardown_on_exit != 0 || !state.machine.at_least(Release::V2_26_5))
        device.dma.tear_down(device.engines, caller.pid);
    if (device.node_locked_by == caller.pid) device.node_locked_by = 0;
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
