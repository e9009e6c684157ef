// SPDX-License-Identifier: Apache-2.0
//
// The way of one request to what serves it.
// Owns: which calls reach a handler at all, what each kind of request does around it. Does not own:
// the handlers (requests/), opening and closing (lifecycle.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 2, 3
#pragma once

#include <cerrno>
#include <cstdint>

#include "neuronbook/backend/sim/device/reset_thread.hpp"
#include "neuronbook/backend/sim/lifecycle.hpp"
#include "neuronbook/backend/sim/request.hpp"
#include "neuronbook/backend/sim/requests/engine_use.hpp"
#include "neuronbook/backend/sim/requests/map.hpp"
#include "neuronbook/backend/sim/requests/services.hpp"
#include "neuronbook/backend/sim/state.hpp"
#include "neuronbook/backend/sim/sysfs/sysfs.hpp"
#include "neuronbook/backend/sim/tickets.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

[[nodiscard]] inline Answer say(std::int64_t value) {
    Answer answer;
    answer.value = value;
    return answer;
}

[[nodiscard]] inline Answer wait_until(Nanoseconds when, std::uint64_t ticket = 0) {
    Answer answer;
    answer.waits = true;
    answer.until = when;
    answer.ticket = ticket;
    return answer;
}

/// The last reference to a file is gone; whoever waits for something of it waits no more.
inline void release_and_forget(State& state, Tickets& tickets, std::int64_t file) {
    for (const auto number : release_file(state, file)) tickets.drop_file(number);
}

/// Takes a descriptor away from a process; with the last one the file goes.
inline void drop_descriptor(State& state, Tickets& tickets, std::int32_t pid, std::int64_t file) {
    if (state.files.drop(pid, file)) release_and_forget(state, tickets, file);
}

/// Serves one request, whatever its kind.
struct Serving {
    State& state;
    Tickets& tickets;
    const Caller& caller;
    UserMemory& user;
    Nanoseconds now;
    Resumed& resumed; ///< its progress is what the handler leaves

    Answer operator()(const OpenRequest& ask) const {
        const auto device = node(state, ask.path);
        if (!device) return say(-ENOENT);
        settle_resets(state.devices[*device], state.machine, now);
        // a wait that only a control through the other lane, or a signal, would end
        if (!is_restricted(ask.access) && state.pod.holds_opens(now)) return say(-EINTR);
        const auto pause = pause_before_open(state, *device, ask.access, now);
        if (pause > now) return wait_until(pause);
        const auto on_exec = ask.close_on_exec ? OnExec::Close : OnExec::Keep;
        return say(open_file(state, *device, ask.access, caller, on_exec));
    }

    Answer operator()(const IoctlRequest& ask) const {
        const auto* file = state.files.find(caller.pid, ask.file);
        if (file == nullptr) return say(-EBADF);
        auto& device = state.devices[file->device];
        settle_resets(device, state.machine, now);
        const auto* service = state.machine.without(ask.word)
                                  ? nullptr
                                  : find_service(ask.word, state.machine.release());
        if (service == nullptr) {
            state.journal.note_unknown(ask.word);
            return say(-EINVAL);
        }
        if (file->restricted() && service->lane == Lane::Device) {
            state.journal.note_wrong_lane(service->name);
            return say(-EINVAL);
        }
        if (service->attached == Attached::Required &&
            device.slots.find(caller.pid) == AttachSlots::kNone)
            return say(-EACCES);
        Call call{state,         device,        *file,           caller,
                  user,          ask.word,      ask.argument,    now,
                  resumed.again, resumed.since, resumed.progress};
        pump_completions(device, now); // before, since a queue may be waiting for room
        const auto value = service->serve(call);
        pump_completions(device, now);
        resumed.progress = call.progress;
        return value == Call::kWaits ? wait_until(call.until) : say(value);
    }

    Answer operator()(const MapRequest& ask) const {
        const auto* file = state.files.find(caller.pid, ask.file);
        return file == nullptr ? say(-EBADF) : serve_map(state, *file, caller, ask);
    }

    Answer operator()(const MappedRequest& ask) const {
        const auto* file = state.files.find(ask.file);
        if (file == nullptr) return say(-EBADF);
        const bool attached =
            state.devices[file->device].slots.find(caller.pid) != AttachSlots::kNone;
        state.mappings.add(file->device, caller.pid, attached, ask.address, ask.grant);
        return say(0);
    }

    Answer operator()(const UnmapRequest& ask) const {
        state.mappings.cut(caller.pid, ask.address, ask.length.count());
        return say(0);
    }

    Answer operator()(const MoveRequest& ask) const {
        state.mappings.move(caller.pid, ask.address, ask.length.count(), ask.to);
        return say(0);
    }

    Answer operator()(const DuplicateRequest& ask) const {
        if (!state.files.holds(caller.pid, ask.file)) return say(-EBADF);
        return say(state.files.duplicate(caller.pid, ask.file, OnExec::Keep));
    }

    Answer operator()(const CloseRequest& ask) const {
        if (ask.file < FileTable::kFirst)
            return say(state.mappings.drop_export(caller.pid, ask.file) ? 0 : -EBADF);
        if (!state.files.holds(caller.pid, ask.file)) return say(-EBADF);
        const auto answer = (*this)(FlushRequest{ask.file});
        if (!answer.waits) drop_descriptor(state, tickets, caller.pid, ask.file);
        return answer;
    }

    Answer operator()(const FlushRequest& ask) const {
        const auto* file = state.files.find(ask.file);
        if (file == nullptr) return say(-EBADF);
        settle_resets(state.devices[file->device], state.machine, now);
        const auto pause = pause_before_flush(state, *file, caller, now, resumed.again);
        if (pause > now) return wait_until(pause);
        flush_file(state, *file, caller);
        return say(0);
    }

    Answer operator()(const ReleaseRequest& ask) const {
        if (state.files.find(ask.file) == nullptr) return say(-EBADF);
        release_and_forget(state, tickets, ask.file);
        return say(0);
    }
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
