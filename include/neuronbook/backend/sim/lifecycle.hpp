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

#include "neuronbook/backend/sim/request.hpp"
#include "neuronbook/backend/sim/state.hpp"
#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// A file number, or -EBUSY when 16 other processes are attached. The free-access lane attaches
/// nobody and never fails.
inline std::int64_t open_file(State& state, std::uint32_t device, std::uint32_t access,
                              const Caller& caller, OnExec on_exec = OnExec::Close) {
    const OpenFile file{device, access & 3u, caller.pid};
    auto& opened = state.devices[device];
    if (!file.restricted()) {
        if (!opened.slots.attach(caller.pid)) return -EBUSY;
        ++opened.open_files;
    }
    return state.files.add(file, on_exec);
}

/// When a flush may go on: the last close of a process waits for its reset and then sleeps.
[[nodiscard]] inline Nanoseconds pause_before_flush(State& state, const OpenFile& file,
                                                    const Caller& caller, Nanoseconds now) {
    constexpr std::uint64_t kSleep = 10'000'000;
    auto& device = state.devices[file.device];
    const auto slot = file.restricted() ? AttachSlots::kNone : device.slots.find(caller.pid);
    if (slot == AttachSlots::kNone || device.slots[slot].open_count > 1) return now;
    auto start = now;
    for (const auto& reset : device.resets)
        if (reset.pid == caller.pid) start = std::max(start, reset.done);
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
        return;
    }
    auto& device = state.devices[file.device];
    const auto slot = device.slots.find(caller.pid);
    if (slot == AttachSlots::kNone) return;
    if (device.slots[slot].open_count > 1) {
        --device.slots[slot].open_count;
        return;
    }
    device.detach(slot);
    state.mappings.drop_records(file.device, caller.pid);
    if (!attached_anywhere(state, caller.pid)) state.pins.drop_process(caller.pid);
    std::erase_if(device.resets,
                  [&caller](const PendingReset& reset) { return reset.pid == caller.pid; });
}

/// The numbers that the file had.
inline std::vector<std::int64_t> release_file(State& state, std::int64_t number) {
    const auto* file = state.files.find(number);
    if (!file->restricted()) --state.devices[file->device].open_files;
    return state.files.remove(number);
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
