// SPDX-License-Identifier: Apache-2.0
//
// SimKernel: an in-process model of the Neuron kernel driver.
// Owns: the state, its lock, the virtual clock, the way of a request to its handler. Does not own:
// what a request does (requests_*.hpp), or how a process reaches it (port.hpp).
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
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "neuronbook/backend/sim/census.hpp"
#include "neuronbook/backend/sim/lifecycle.hpp"
#include "neuronbook/backend/sim/options.hpp"
#include "neuronbook/backend/sim/request.hpp"
#include "neuronbook/backend/sim/requests_map.hpp"
#include "neuronbook/backend/sim/services.hpp"
#include "neuronbook/backend/sim/state.hpp"
#include "neuronbook/backend/sim/sysfs.hpp"

namespace neuronbook {
inline namespace v0 {

/// A kernel driver that never blocks: submit() answers, or says until when it waits. It knows no
/// file system and no clock but the one it is given, and never looks at the host's real devices.
/// Every member function may be called from any thread; one mutex guards the state.
class SimKernel {
public:
    /// Errors: UnknownInstance, UnknownArchitecture, UnknownDriverVersion, NeverShipped, BadOption.
    static Result<std::unique_ptr<SimKernel>> make(const SimOptions& options = {}) {
        auto machine = sim::Machine::make(options);
        if (!machine) return fail(machine.error());
        return std::unique_ptr<SimKernel>(new SimKernel(std::move(*machine)));
    }

    SimKernel(const SimKernel&) = delete;
    SimKernel& operator=(const SimKernel&) = delete;

    /// Serves one request of a caller whose memory is `user`, at time `now` of the front's clock.
    Answer submit(const Caller& caller, const Request& request, UserMemory& user, Nanoseconds now) {
        const std::lock_guard lock(mutex_);
        const bool resumed = take_ticket(request.ticket);
        auto answer =
            std::visit([&](const auto& what) { return serve(caller, what, user, now, resumed); },
                       request.what);
        if (answer.waits) {
            answer.ticket = ++last_ticket_;
            tickets_.emplace(answer.ticket, answer.until);
        }
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

    /// Whether a device node or a file of the driver's is there.
    bool exists(std::string_view path) const {
        const std::lock_guard lock(mutex_);
        return sim::node(state_, path).has_value() || sim::file_content(state_, path).has_value();
    }

    /// The end of a process: every file that it opened is flushed and released, at once.
    void end_process(std::int32_t pid) {
        const std::lock_guard lock(mutex_);
        const Caller caller{pid, false};
        for (const auto file : state_.files.of(pid)) {
            sim::flush_file(state_, *state_.files.find(file), caller);
            sim::release_file(state_, file);
        }
    }

    /// A virtual clock for fronts that have no better: it stands still but for sleep().
    [[nodiscard]] Nanoseconds now() const noexcept {
        return Nanoseconds{clock_.load(std::memory_order_acquire)};
    }
    void sleep(Nanoseconds duration) noexcept {
        clock_.fetch_add(duration.count, std::memory_order_acq_rel);
    }

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

    [[nodiscard]] const sim::Machine& machine() const noexcept { return state_.machine; }
    /// Unlike that of every other kernel of this process.
    [[nodiscard]] std::uint32_t number() const noexcept { return number_; }

private:
    explicit SimKernel(sim::Machine machine) : state_(std::move(machine)) {
        static std::atomic<std::uint32_t> made{0};
        number_ = made.fetch_add(1, std::memory_order_relaxed) + 1;
    }

    bool take_ticket(std::uint64_t ticket) { return ticket != 0 && tickets_.erase(ticket) != 0; }

    static Answer say(std::int64_t value) {
        Answer answer;
        answer.value = value;
        return answer;
    }

    static Answer wait_until(Nanoseconds when) {
        Answer answer;
        answer.waits = true;
        answer.until = when;
        return answer;
    }

    Answer serve(const Caller& caller, const OpenRequest& ask, UserMemory&, Nanoseconds, bool) {
        const auto device = sim::node(state_, ask.path);
        if (!device) return say(-ENOENT);
        return say(sim::open_file(state_, *device, ask.access, caller));
    }

    Answer serve(const Caller& caller, const IoctlRequest& ask, UserMemory& user, Nanoseconds now,
                 bool resumed) {
        const auto* file = state_.files.find(ask.file);
        if (file == nullptr) return say(-EBADF);
        auto& device = state_.devices[file->device];
        const auto* service = sim::find_service(ask.word, state_.machine.release());
        if (service == nullptr || (file->restricted() && service->lane == sim::Lane::Device)) {
            sim::note_unknown(state_.journal, ask.word, service);
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
        sim::release_file(state_, ask.file);
        return say(0);
    }

    mutable std::mutex mutex_;
    sim::State state_;
    std::unordered_map<std::uint64_t, Nanoseconds> tickets_; ///< of requests that wait
    std::uint64_t last_ticket_ = 0;
    std::atomic<std::uint64_t> clock_{0};
    std::uint32_t number_ = 0;
};

} // namespace v0
} // namespace neuronbook
