// SPDX-License-Identifier: Apache-2.0
//
// What resets do to a device: at once, and when they end.
// Owns: both moments, how long a reset takes. Does not own: who waits for one
// (requests/resets.hpp). Layer: backend (simulated kernel).   Source: driver-abi.md 5.9, 12
// (measured: parts 1, 5 and 6)
#pragma once

#include <algorithm>
#include <cstdint>

#include "neuronbook/backend/sim/device/device.hpp"
#include "neuronbook/backend/sim/journal.hpp"
#include "neuronbook/backend/sim/machine/machine_spec.hpp"
#include "neuronbook/backend/uapi.hpp"
#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// The whole device; in a core map of another value each bit is a core, also of those it has not.
inline constexpr std::uint32_t kWholeDevice = uapi::kNcMapDevice;

[[nodiscard]] constexpr bool is_in(std::uint32_t map, std::uint32_t core) noexcept {
    return map == kWholeDevice || (map >> core & 1u) != 0;
}

/// Resets as the hardware does them now. Firmware that acknowledges is seen at the first look,
/// after 100 ms (measured). Firmware that does not is given up when the retry window is over. A
/// device off the bus reads as all ones, which acknowledges nothing.
[[nodiscard]] inline ResetPace reset_pace(const Device& device, const MachineSpec& machine) {
    constexpr std::uint64_t kSecond = 1'000'000'000;
    if (!device.faults.resets_hang && !device.faults.gone) return {{kSecond / 10}, false};
    return {{(machine.is(Architecture::Sunda) ? 120 : 480) * kSecond}, true};
}

/// The driver loads and resets the device. A reset that goes well is over before anybody asks; one
/// that does not has just begun.
inline void load_device(Device& device, const MachineSpec& machine) {
    if (machine.no_reset()) return;
    for (std::uint32_t core = 0; core < machine.cores(); ++core) ++device.reset_requests[core];
    auto pace = reset_pace(device, machine);
    if (device.faults.never_ready && !device.faults.resets_hang) {
        constexpr std::uint64_t kLooks = 1'000'000'000; // five looks at the ready bit
        pace = {{pace.duration.count + kLooks}, true};
    }
    if (pace.fails && !device.faults.gone) device.resets.begin_load(kWholeDevice, pace);
}

/// Takes what copies go through: from 2.25 to 2.29 only the queues that were given out, before and
/// after all rings of the cores. `by`: the slot of who frees them; none for the driver's thread.
inline void free_rings(Device& device, const MachineSpec& machine, std::uint32_t map,
                       std::uint32_t by = AttachSlots::kNone) {
    for (std::uint32_t core = 0; core < machine.cores(); ++core) {
        if (!is_in(map, core)) continue;
        if (machine.release() == Release::V2_26_5)
            device.engines.drop_extra(device, core, by);
        else
            device.engines.drop_all(device, core, by);
    }
}

/// Lets time pass: ends the resets that are over by `now`. Their cores get new rings, or keep none.
inline void settle_resets(Device& device, const MachineSpec& machine, Nanoseconds now) {
    const auto pace = reset_pace(device, machine);
    const bool late = machine.at_least(Release::V2_30_2); // the thread takes rings when it begins
    while (const auto ended = device.resets.settle(now, pace)) {
        for (std::uint32_t core = 0; core < machine.cores(); ++core) {
            // a failure counts for every core, whichever were to be reset
            if (ended->failed) ++device.reset_failures[core];
            if (!is_in(ended->cores, core)) continue;
            if (ended->failed) continue; // what was taken stays away
            device.reset_rings(core);
        }
        if (!ended->failed && ended->cores == kWholeDevice && late &&
            !machine.is(Architecture::Sunda))
            device.power.profile = 0;
        if (late) free_rings(device, machine, ended->next);
    }
}

/// Top synchronisation processors that belong to a core.
[[nodiscard]] inline std::uint32_t top_sps_of_core(const MachineSpec& machine) {
    return machine.is(Architecture::Sunda) ? 3 : 2;
}

/// Notification queues that a reset will take down, a millisecond for each.
[[nodiscard]] inline std::uint32_t queues_in(const Device& device, const MachineSpec& machine,
                                             std::uint32_t map) {
    std::uint32_t count = 0;
    for (std::uint32_t core = 0; core < kMaxCoresPerDevice; ++core)
        if (is_in(map, core)) count += device.notifications.count(core, top_sps_of_core(machine));
    return count;
}

/// Frees the notification queues of a core.
inline void drop_queues(Device& device, const MachineSpec& machine, Journal& journal,
                        std::uint32_t core, std::uint32_t by) {
    device.notifications.remove(
        core, top_sps_of_core(machine), [&](const NotificationQueue& queue) {
            if (queue.freed)
                journal.crashes.add("reset of a core whose notification queue was freed by its "
                                    "handle: BUG");
            else
                device.free(queue.chunk, by);
        });
}

/// What an accepted request does at once, and its place in the driver's queue. `by`: the slot of
/// who asks. Requires: that one has none yet.
inline void begin_reset(Device& device, const MachineSpec& machine, Journal& journal,
                        std::int32_t pid, std::uint32_t map, std::uint32_t by, Nanoseconds now) {
    for (std::uint32_t core = 0; core < kMaxCoresPerDevice; ++core) {
        if (!is_in(map, core)) continue;
        device.cores[core].reset();
        drop_queues(device, machine, journal, core, by);
        ++device.reset_requests[core];
    }
    const auto begun = device.resets.add(pid, map, now);
    if (machine.at_least(Release::V2_30_2)) free_rings(device, machine, begun);
}

/// What a write to the device's `reset` file does: nothing while anybody has the node open.
inline void reset_by_file(Device& device, const MachineSpec& machine, Journal& journal,
                          Nanoseconds now) {
    if (device.open_files != 0 || machine.no_reset() ||
        device.resets.outcome(ResetQueue::kDriver) != ResetQueue::Outcome::Unknown)
        return;
    begin_reset(device, machine, journal, ResetQueue::kDriver, kWholeDevice, AttachSlots::kNone,
                now);
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
