// SPDX-License-Identifier: Apache-2.0
//
// SimKernel: an in-process model of the Neuron kernel driver.
// Owns: the state, its lock, the virtual clock, the way of a request to its handler. Does not own:
// what a request does (requests/), or how a process reaches it (port.hpp).
// Layer: backend.   Source: driver-abi.md; the real driver's transcripts are right where they
// differ
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "neuronbook/backend/sim/census.hpp"
#include "neuronbook/backend/sim/faults.hpp"
#include "neuronbook/backend/sim/lifecycle.hpp"
#include "neuronbook/backend/sim/options.hpp"
#include "neuronbook/backend/sim/request.hpp"
#include "neuronbook/backend/sim/requests/map.hpp"
#include "neuronbook/backend/sim/requests/services.hpp"
#include "neuronbook/backend/sim/state.hpp"
#include "neuronbook/backend/sim/sysfs/sysfs.hpp"
#include "neuronbook/backend/sim/tickets.hpp"

namespace neuronbook {
inline namespace v0 {

/// A kernel driver that never blocks: submit() answers, or says until when it waits. It knows no
/// file system and no clock but the one it is given, and never looks at the host's real devices.
/// Every member function may be called from any thread; one mutex guards the state.
class SimKernel {
public:
    /// Errors: UnknownInstance, UnknownArchitecture, UnknownDriverVersion, NeverShipped, BadOption.
    static Result<std::unique_ptr<SimKernel>> make(const SimOptions& options = {}) {
        auto machine = sim::MachineSpec::make(options);
        if (!machine) return fail(machine.error());
        return std::unique_ptr<SimKernel>(new SimKernel(*machine));
    }

    SimKernel(const SimKernel&) = delete;
    SimKernel& operator=(const SimKernel&) = delete;

    /// Serves one request of a caller whose memory is `user`, at time `now` of the front's clock.
    Answer submit(const Caller& caller, const Request& request, UserMemory& user, Nanoseconds now) {
        const std::lock_guard lock(mutex_);
        const auto* until = tickets_.find(caller, request);
        const bool resumed = until != nullptr;
        if (resumed && now < *until) return wait_until(*until, request.ticket);
        if (resumed) tickets_.drop(request.ticket);
        auto answer =
            std::visit([&](const auto& what) { return serve(caller, what, user, now, resumed); },
                       request.what);
        if (answer.waits) answer.ticket = tickets_.give(caller, request, answer.until);
        return answer;
    }

    /// Reads a small file of the driver's, from its start: bytes, or minus ENOENT. Permissions are
    /// not modelled.
    std::int64_t read_file(std::string_view path, std::span<char> buffer) const {
        const std::lock_guard lock(mutex_);
        const auto text = sim::file_content(state_, path);
        if (!text) return -ENOENT;
        const auto size = std::min(text->size(), buffer.size());
        if (size != 0) std::memcpy(buffer.data(), text->data(), size);
        return static_cast<std::int64_t>(size);
    }

    /// Whether a device node, or a file or directory of the driver's, is there.
    bool exists(std::string_view path) const {
        const std::lock_guard lock(mutex_);
        return sim::node(state_, path).has_value() || sim::file_content(state_, path).has_value() ||
               sim::is_directory(state_, path);
    }

    /// fork(): the child holds its parent's descriptors, attached to nothing.
    void fork_process(std::int32_t parent, std::int32_t child) {
        const std::lock_guard lock(mutex_);
        state_.files.fork(parent, child);
        state_.mappings.fork(parent, child);
    }

    /// exec(): the address space is a new one, and descriptors that are to be closed are, at once.
    void exec_process(std::int32_t pid) {
        const std::lock_guard lock(mutex_);
        state_.mappings.drop_process(pid);
        for (const auto file : state_.files.closed_by_exec(pid)) close_now(pid, file);
        tickets_.drop_process(pid);
    }

    /// A descriptor sent to another process over a socket: its number there, or -EBADF.
    std::int64_t send_descriptor(std::int32_t from, std::int64_t file, std::int32_t to) {
        const std::lock_guard lock(mutex_);
        return state_.files.holds(from, file) ? state_.files.duplicate(to, file, sim::OnExec::Keep)
                                              : -EBADF;
    }

    /// The end of a process: its mappings go, then every descriptor that it holds is flushed, and a
    /// file that nobody else holds is released, at once.
    void end_process(std::int32_t pid) {
        const std::lock_guard lock(mutex_);
        state_.mappings.drop_process(pid);
        for (const auto file : state_.files.of(pid)) close_now(pid, file);
        tickets_.drop_process(pid);
    }

    /// What is wrong with a device from now on. Nothing happens for a device that is not there.
    void set_faults(HostDeviceId device, const SimFaults& faults) {
        const std::lock_guard lock(mutex_);
        if (device.value() < state_.devices.size()) state_.devices[device.value()].faults = faults;
    }

    /// A virtual clock for fronts that have no better: it stands still but for sleep().
    [[nodiscard]] Nanoseconds now() const noexcept {
        return Nanoseconds{clock_.load(std::memory_order_acquire)};
    }
    void sleep(Nanoseconds duration) noexcept {
        clock_.fetch_add(duration.count, std::memory_order_acq_rel);
    }

    /// With the address, tells this kernel from an earlier one that lay in the same place.
    [[nodiscard]] std::uint32_t serial() const noexcept { return serial_; }

    /// Expires with the kernel, for fronts whose mappings outlive it.
    [[nodiscard]] std::weak_ptr<const void> life() const noexcept { return life_; }

    /// What is held now.
    [[nodiscard]] Census census() const {
        const std::lock_guard lock(mutex_);
        return sim::take_census(state_);
    }

    /// Every chunk of an HBM in address order, the driver's own included. Empty for an HBM or a
    /// device that is not there.
    [[nodiscard]] std::vector<ChunkView> chunks(HostDeviceId device, std::uint32_t hbm) const {
        const std::lock_guard lock(mutex_);
        return sim::list_chunks(state_, device.value(), hbm);
    }

    /// How many requests wait, as far as anybody may still come back for them.
    [[nodiscard]] std::size_t waiting() const {
        const std::lock_guard lock(mutex_);
        return tickets_.waiting();
    }

    /// Requests that this driver release does not serve, on that lane.
    [[nodiscard]] std::vector<std::string> unknown() const {
        const std::lock_guard lock(mutex_);
        return state_.journal.unknown.texts();
    }
    /// Requests that the driver serves and the model does not yet; they were answered -EINVAL.
    [[nodiscard]] std::vector<std::string> unmodelled() const {
        const std::lock_guard lock(mutex_);
        return state_.journal.unmodelled.texts();
    }
    /// The moments a real kernel would have come down, or shown the wrong memory.
    [[nodiscard]] std::vector<std::string> would_have_crashed() const {
        const std::lock_guard lock(mutex_);
        return state_.journal.crashes.texts();
    }

    [[nodiscard]] const sim::MachineSpec& machine() const noexcept { return state_.machine; }

private:
    explicit SimKernel(const sim::MachineSpec& machine) : state_(machine), serial_(next_serial()) {}

    static std::uint32_t next_serial() noexcept {
        static std::atomic<std::uint32_t> made{0};
        return made.fetch_add(1, std::memory_order_relaxed);
    }

    static Answer say(std::int64_t value) {
        Answer answer;
        answer.value = value;
        return answer;
    }

    static Answer wait_until(Nanoseconds when, std::uint64_t ticket = 0) {
        Answer answer;
        answer.waits = true;
        answer.until = when;
        answer.ticket = ticket;
        return answer;
    }

    Answer serve(const Caller& caller, const OpenRequest& ask, UserMemory&, Nanoseconds, bool) {
        const auto device = sim::node(state_, ask.path);
        if (!device) return say(-ENOENT);
        const auto on_exec = ask.close_on_exec ? sim::OnExec::Close : sim::OnExec::Keep;
        return say(sim::open_file(state_, *device, ask.access, caller, on_exec));
    }

    Answer serve(const Caller& caller, const IoctlRequest& ask, UserMemory& user, Nanoseconds now,
                 bool resumed) {
        const auto* file = state_.files.find(ask.file);
        if (file == nullptr) return say(-EBADF);
        auto& device = state_.devices[file->device];
        const auto* service = sim::find_service(ask.word, state_.machine.release());
        if (service == nullptr) {
            state_.journal.note_unknown(ask.word);
            return say(-EINVAL);
        }
        if (file->restricted() && service->lane == sim::Lane::Device) {
            state_.journal.note_wrong_lane(service->name);
            return say(-EINVAL);
        }
        if (service->attached == sim::Attached::Required &&
            device.slots.find(caller.pid) == sim::AttachSlots::kNone)
            return say(-EACCES);
        if (service->serve == nullptr) {
            state_.journal.unmodelled.add(std::string{service->name});
            return say(-EINVAL);
        }
        sim::Call call{state_, device, *file, caller, user, ask.word, ask.argument, now, resumed};
        const auto value = service->serve(call);
        return value == sim::Call::kWaits ? wait_until(call.until) : say(value);
    }

    Answer serve(const Caller& caller, const MapRequest& ask, UserMemory&, Nanoseconds, bool) {
        const auto* file = state_.files.find(ask.file);
        return file == nullptr ? say(-EBADF) : sim::serve_map(state_, *file, caller, ask);
    }

    Answer serve(const Caller& caller, const MappedRequest& ask, UserMemory&, Nanoseconds, bool) {
        const auto* file = state_.files.find(ask.file);
        if (file == nullptr) return say(-EBADF);
        const bool attached =
            state_.devices[file->device].slots.find(caller.pid) != sim::AttachSlots::kNone;
        state_.mappings.add(file->device, caller.pid, attached, ask.address, ask.grant);
        return say(0);
    }

    Answer serve(const Caller& caller, const UnmapRequest& ask, UserMemory&, Nanoseconds, bool) {
        state_.mappings.cut(caller.pid, ask.address, ask.length.count());
        return say(0);
    }

    Answer serve(const Caller& caller, const MoveRequest& ask, UserMemory&, Nanoseconds, bool) {
        state_.mappings.move(caller.pid, ask.address, ask.length.count(), ask.to);
        return say(0);
    }

    Answer serve(const Caller& caller, const DuplicateRequest& ask, UserMemory&, Nanoseconds,
                 bool) {
        return say(state_.files.holds(caller.pid, ask.file)
                       ? state_.files.duplicate(caller.pid, ask.file, sim::OnExec::Keep)
                       : -EBADF);
    }

    Answer serve(const Caller& caller, const CloseRequest& ask, UserMemory& user, Nanoseconds now,
                 bool resumed) {
        if (!state_.files.holds(caller.pid, ask.file)) return say(-EBADF);
        const auto answer = serve(caller, FlushRequest{ask.file}, user, now, resumed);
        if (!answer.waits) drop(caller.pid, ask.file);
        return answer;
    }

    Answer serve(const Caller& caller, const FlushRequest& ask, UserMemory&, Nanoseconds now,
                 bool resumed) {
        const auto* file = state_.files.find(ask.file);
        if (file == nullptr) return say(-EBADF);
        const auto pause = sim::pause_before_flush(state_, *file, caller, now);
        if (!resumed && pause > now) return wait_until(pause);
        sim::flush_file(state_, *file, caller);
        return say(0);
    }

    Answer serve(const Caller&, const ReleaseRequest& ask, UserMemory&, Nanoseconds, bool) {
        if (state_.files.find(ask.file) == nullptr) return say(-EBADF);
        release(ask.file);
        return say(0);
    }

    void release(std::int64_t file) {
        for (const auto number : sim::release_file(state_, file)) tickets_.drop_file(number);
    }

    /// Takes a descriptor away from a process; with the last one the file goes.
    void drop(std::int32_t pid, std::int64_t file) {
        if (state_.files.drop(pid, file)) release(file);
    }

    void close_now(std::int32_t pid, std::int64_t file) {
        sim::flush_file(state_, *state_.files.find(file), Caller{pid, false});
        drop(pid, file);
    }

    mutable std::mutex mutex_;
    sim::State state_;
    sim::Tickets tickets_;
    std::atomic<std::uint64_t> clock_{0};
    std::uint32_t serial_;
    std::shared_ptr<const void> life_ = std::make_shared<char>();
};

} // namespace v0
} // namespace neuronbook
