// SPDX-License-Identifier: Apache-2.0
//
// SimKernel: an in-process model of the Neuron kernel driver.
// Owns: the state, its lock, the virtual clock. Does not own: the way of a request to its handler
// (serving.hpp), or how a process reaches it (port.hpp).
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
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "neuronbook/backend/sim/census.hpp"
#include "neuronbook/backend/sim/device/reset_thread.hpp"
#include "neuronbook/backend/sim/faults.hpp"
#include "neuronbook/backend/sim/lifecycle.hpp"
#include "neuronbook/backend/sim/mover.hpp"
#include "neuronbook/backend/sim/options.hpp"
#include "neuronbook/backend/sim/request.hpp"
#include "neuronbook/backend/sim/requests/engine_use.hpp"
#include "neuronbook/backend/sim/serving.hpp"
#include "neuronbook/backend/sim/state.hpp"
#include "neuronbook/backend/sim/sysfs/sysfs.hpp"
#include "neuronbook/backend/sim/tickets.hpp"
#include "neuronbook/backend/uapi.hpp"

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
        return std::unique_ptr<SimKernel>(new SimKernel(*machine, options.dma_thread));
    }

    SimKernel(const SimKernel&) = delete;
    SimKernel& operator=(const SimKernel&) = delete;

    /// Serves one request of a caller whose memory is `user`, at time `now` of the front's clock.
    Answer submit(const Caller& caller, const Request& request, UserMemory& user, Nanoseconds now) {
        auto lock = runs_beside_copies(request) ? std::unique_lock(mutex_) : settled();
        const auto* ticket = tickets_.find(caller, request);
        if (ticket != nullptr && now < ticket->until)
            return sim::wait_until(ticket->until, request.ticket);
        sim::Resumed resumed{false, now};
        if (ticket != nullptr) resumed = {true, ticket->since, ticket->progress};
        if (resumed.again) tickets_.drop(request.ticket);
        state_.now = std::max(state_.now, now);
        auto answer =
            std::visit(sim::Serving{state_, tickets_, caller, user, now, resumed}, request.what);
        if (answer.waits)
            answer.ticket =
                tickets_.give(caller, request, {answer.until, resumed.since, resumed.progress});
        if (const auto move = mover_ ? std::exchange(mover_->awaited, 0) : 0; move != 0) {
            lock.unlock();
            mover_->wait(move);
        }
        return answer;
    }

    /// Reads a small file of the driver's, from its start: bytes, or minus ENOENT or EACCES.
    std::int64_t read_file(std::string_view path, std::span<char> buffer,
                           FileUser user = FileUser::Root) const {
        const auto lock = settled();
        let_time_pass();
        std::string text;
        if (const auto error = sim::read_text(state_, path, user, state_.now, text); error != 0)
            return error;
        const auto size = std::min(text.size(), buffer.size());
        if (size != 0) std::memcpy(buffer.data(), text.data(), size);
        return static_cast<std::int64_t>(size);
    }

    /// Writes into a file of the driver's: the bytes taken, or minus an errno.
    std::int64_t write_file(std::string_view path, std::string_view text,
                            FileUser user = FileUser::Root) {
        const auto lock = settled();
        let_time_pass();
        return sim::write_text(state_, path, text, user);
    }

    /// Names in a directory of the driver's, nothing when it is none.
    [[nodiscard]] std::optional<std::vector<std::string>>
    list_directory(std::string_view path) const {
        const std::lock_guard lock(mutex_);
        return sim::directory(state_, path);
    }

    /// Mode of a file or directory of the driver's, nothing when it is neither.
    [[nodiscard]] std::optional<FileFacts> file_facts(std::string_view path) const {
        const std::lock_guard lock(mutex_);
        return sim::file_facts(state_, path);
    }

    /// Whether a device node, or a file or directory of the driver's, is there.
    bool exists(std::string_view path) const {
        const std::lock_guard lock(mutex_);
        return sim::node(state_, path).has_value() || sim::file_facts(state_, path).has_value();
    }

    /// fork(): the child holds its parent's descriptors, attached to nothing.
    void fork_process(std::int32_t parent, std::int32_t child) {
        const std::lock_guard lock(mutex_);
        state_.files.fork(parent, child);
        state_.mappings.fork(parent, child);
    }

    /// exec(): the address space is a new one, and descriptors that are to be closed are, at once.
    void exec_process(std::int32_t pid) {
        const auto lock = settled();
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
        const auto lock = settled();
        state_.mappings.drop_process(pid);
        for (const auto file : state_.files.of(pid)) close_now(pid, file);
        tickets_.drop_process(pid);
    }

    /// What is wrong with a device from now on. Nothing happens for a device that is not there.
    void set_faults(HostDeviceId device, const SimFaults& faults) {
        const std::lock_guard lock(mutex_);
        let_time_pass(); // what ended before was as it was then
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
    /// The moments a real kernel would have come down, or shown the wrong memory.
    [[nodiscard]] std::vector<std::string> would_have_crashed() const {
        const std::lock_guard lock(mutex_);
        return state_.journal.crashes.texts();
    }

    /// What the kernel's log would show of requests that write to it, the newest thousand lines.
    [[nodiscard]] std::vector<std::string> log() const {
        const std::lock_guard lock(mutex_);
        return state_.journal.log.lines();
    }

    /// Whether asynchronous copies have a thread of their own.
    [[nodiscard]] bool copies_run_aside() const noexcept { return mover_ != nullptr; }

    [[nodiscard]] const sim::MachineSpec& machine() const noexcept { return state_.machine; }

private:
    SimKernel(const sim::MachineSpec& machine, bool dma_thread)
        : state_(machine), serial_(next_serial()),
          mover_(dma_thread ? std::make_unique<sim::Mover>() : nullptr) {
        state_.mover = mover_.get();
    }

    /// The lock, with no bytes on their way: for everything that could see them, or free them.
    [[nodiscard]] std::unique_lock<std::mutex> settled() const {
        std::unique_lock lock(mutex_);
        while (const auto move = mover_ ? mover_->under_way() : 0) {
            lock.unlock();
            mover_->wait(move);
            lock.lock();
        }
        return lock;
    }

    /// Starting a copy and waiting for one: those touch no bytes themselves.
    static bool runs_beside_copies(const Request& request) {
        const auto* ask = std::get_if<IoctlRequest>(&request.what);
        return ask != nullptr &&
               (ask->word == uapi::kMemCopyAsync || ask->word == uapi::kMemCopyAsync64 ||
                ask->word == uapi::kMemCopyAsyncWait);
    }

    static std::uint32_t next_serial() noexcept {
        static std::atomic<std::uint32_t> made{0};
        return made.fetch_add(1, std::memory_order_relaxed);
    }

    /// For who only looks: what has ended by now shows.
    void let_time_pass() const {
        state_.now = std::max(state_.now, now());
        for (auto& device : state_.devices) sim::settle_resets(device, state_.machine, state_.now);
    }

    void close_now(std::int32_t pid, std::int64_t file) {
        sim::flush_file(state_, *state_.files.find(file), Caller{pid, false});
        sim::drop_descriptor(state_, tickets_, pid, file);
    }

    mutable std::mutex mutex_;
    mutable sim::State state_; ///< changes with time even while nobody asks for anything
    sim::Tickets tickets_;
    std::atomic<std::uint64_t> clock_{0};
    std::uint32_t serial_;
    std::shared_ptr<const void> life_ = std::make_shared<char>();
    std::unique_ptr<sim::Mover> mover_; ///< last, so that it ends before the memory does
};

} // namespace v0
} // namespace neuronbook
