// SPDX-License-Identifier: Apache-2.0
//
// How a request uses a host-to-device queue, and what it meets when the engine hangs.
// Owns: how long the driver waits, what it answers then. Does not own: the bytes that move.
// Layer: backend (simulated kernel).   Source: driver-abi.md 8, 8.6 (measured: part 5)
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "neuronbook/backend/sim/device/copy_engines.hpp"
#include "neuronbook/backend/sim/device/reset_thread.hpp"
#include "neuronbook/backend/sim/requests/call.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// The driver's answer to a copy that does not end.
[[nodiscard]] inline std::int64_t timed_out(const Call& call) {
    return call.machine().at_least(Release::V2_30_2) ? -ETIMEDOUT : -EPERM;
}

/// Whether engines never finish: by themselves, or because the device left the bus.
[[nodiscard]] inline bool engines_hang(const Device& device) {
    return device.faults.copies_hang || device.faults.gone;
}

/// Whether somebody waits in the call for a copy, or it is waited for later.
enum class Waited : std::uint8_t { AtOnce, Later };

/// How long the driver looks for the end of a batch: first as long as it should take, in
/// microseconds a descriptor, then in steps of 100 us.
[[nodiscard]] inline Nanoseconds patience(const MachineSpec& machine, std::uint64_t pieces,
                                          Waited waited) {
    const bool sunda = machine.is(Architecture::Sunda);
    const auto n = std::clamp<std::uint64_t>(pieces, 1, TransferRing::kMostPieces);
    const std::uint64_t first = waited == Waited::Later ? 1 : sunda ? 4 * n - 3 : 2 * n - 1;
    const std::uint64_t tries = sunda ? 400 : machine.at_least(Release::V2_30_2) ? 800 : 200;
    return Nanoseconds{(first + (tries * n - first) * 100) * 1000};
}

/// When a batch that started at `start` and never ends is given up. On Trn1 one that started before
/// the end of a reset is tried again.
[[nodiscard]] inline Nanoseconds given_up(const Call& call, Nanoseconds start, std::uint64_t pieces,
                                          Waited waited) {
    const auto once = patience(call.machine(), pieces, waited).count;
    std::uint64_t attempts = 1;
    const auto reset = call.device.resets.latest_end(reset_pace(call.device, call.machine()));
    if (call.machine().is(Architecture::Sunda) && reset > start)
        attempts += (reset.count - start.count + once - 1) / once;
    return Nanoseconds{start.count + attempts * once};
}

/// Waits as the driver's handlers do: asleep until then.
[[nodiscard]] inline std::int64_t wait_until(Call& call, Nanoseconds when) {
    call.until = when;
    return Call::kWaits;
}

/// Whether a request must wait because the driver holds the queue's lock until there is room for a
/// completion; it looks again every millisecond.
[[nodiscard]] inline bool is_locked(Call& call, CopyQueue& queue) {
    if (queue.completions.idle()) return false;
    auto* memory = call.device.bytes_of(queue.entries);
    if (!queue.completions.stalled(memory, call.now)) return false;
    constexpr std::uint64_t kLook = 1'000'000;
    call.until = Nanoseconds{call.now.count + kLook};
    return true;
}

/// What a numbered request leaves in its queue. The driver's thread never looks at the queues of
/// Trn1: nobody hears of what is there, and it keeps its places. Requires: there is room.
inline void tell(const Call& call, CompletionQueue& queued, const Completion& what) {
    if (call.machine().is(Architecture::Sunda))
        queued.keep(what.steps);
    else
        queued.add(what);
}

/// No room, or a step that failed: nobody hears of what is queued, whosever it is.
inline void tell_nobody(const Call& call, CompletionQueue& queued) {
    if (!call.machine().is(Architecture::Sunda)) queued.drain();
}

/// A program gave the queue under the driver's copies rings of its own, which 2.24 lets it.
inline void use_queue(Call& call, const CopyQueue& queue) {
    if (queue.taken_over)
        call.state.journal.crashes.add("copy through a queue that a program took over: oops");
}

/// Waits as long as the driver does for a copy that never ends.
[[nodiscard]] inline std::int64_t wait_for_engine(Call& call, Nanoseconds when) {
    call.progress.outwaited = true;
    return wait_until(call, when);
}

/// Whether the call has waited so; it will not have for its next copy.
[[nodiscard]] inline bool outwaited(Call& call) {
    return std::exchange(call.progress.outwaited, false);
}

/// A copy while the queue's core is reset, or after the reset took the ring and brought none. Trn1
/// tries it again until no reset runs; elsewhere nothing ever says that it is done. 0: the ring can
/// be used; or kWaits, or the answer to a timeout.
[[nodiscard]] inline std::int64_t ring_for(Call& call, const CopyQueue& queue, std::uint64_t pieces,
                                           Waited waited) {
    const auto& device = call.device;
    const bool lost = std::exchange(call.progress.lost, false);
    if (call.machine().is(Architecture::Sunda) && is_in(device.resets.pending(), queue.core)) {
        if (engines_hang(device)) return 0; // that takes longer still
        return wait_until(call, device.resets.latest_end(reset_pace(device, call.machine())));
    }
    if (lost) return timed_out(call);
    if (queue.use != QueueUse::None) return 0;
    call.state.journal.crashes.add("copy through a ring that is not there");
    if (outwaited(call)) return timed_out(call);
    call.progress.lost = true;
    return wait_until(call, given_up(call, call.now, pieces, waited));
}

/// One copy that is waited for in the call. 0: the bytes may move; or -ENOMEM, the answer to a
/// timeout, or kWaits. A copy that is given up leaves its descriptors taken.
[[nodiscard]] inline std::int64_t run_engine(Call& call, CopyQueue& queue, std::uint64_t pieces,
                                             Waited waited = Waited::AtOnce) {
    if (is_locked(call, queue)) return Call::kWaits;
    use_queue(call, queue);
    if (const auto answer = ring_for(call, queue, pieces, waited)) return answer;
    const bool again = outwaited(call);
    if (!engines_hang(call.device)) return queue.ring.run(pieces);
    if (!again && queue.ring.has_room(pieces))
        return wait_for_engine(call, given_up(call, call.now, pieces, waited));
    if (const auto answer = queue.ring.lose(pieces)) return answer;
    return timed_out(call);
}

/// Writes the completions that are due, on every queue of a device.
inline void pump_completions(Device& device, Nanoseconds now) {
    device.engines.for_each([&](CopyQueue& queue) {
        if (!queue.completions.idle()) queue.completions.pump(device.bytes_of(queue.entries), now);
    });
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
