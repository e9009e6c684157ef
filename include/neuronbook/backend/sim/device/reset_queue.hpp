// SPDX-License-Identifier: Apache-2.0
//
// Resets of one device that were asked for: which wait, which run, how they ended.
// Owns: their order and the device's state. Does not own: what a reset does (reset_thread.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 2.2, 5.9 (measured: parts 1 and 5)
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// The driver's numbers, as sysfs shows them.
enum class DeviceState : std::uint8_t { Reset = 0, Ready = 1, Invalid = 2 };

/// How long a reset takes as things are now, and whether it fails.
struct ResetPace {
    Nanoseconds duration{};
    bool fails = false;
};

/// A thread of the driver's that takes everything that waits, does it as one and has one result for
/// all of it. Requests are told apart by process alone. Not thread-safe.
class ResetQueue {
public:
    /// Who asks for the resets that move the device's state: the one at load, and sysfs.
    static constexpr std::int32_t kDriver = -1;

    enum class Outcome : std::uint8_t { Unknown, Pending, Done, Failed };

    /// What just ended.
    struct Finished {
        std::uint32_t cores = 0;
        bool failed = false;
        std::uint32_t next = 0; ///< cores of what has begun since
    };

    /// The reset at load has begun and will end at `pace`, from when somebody first asks on.
    void begin_load(std::uint32_t cores, ResetPace pace) {
        state_ = DeviceState::Reset;
        at_load_ = pace;
        running_ = Running{{{kDriver, cores}}, {}};
    }

    /// The cores of what begins now; none when something runs already. Requires: outcome(pid) is
    /// Unknown.
    std::uint32_t add(std::int32_t pid, std::uint32_t cores, Nanoseconds now) {
        if (pid == kDriver) state_ = DeviceState::Reset;
        waiting_.push_back({pid, cores});
        return running_ ? 0 : begin(now);
    }

    /// Lets time pass up to `now`: the next reset that has ended by then, if any. `pace` is that of
    /// every reset but the one at load.
    std::optional<Finished> settle(Nanoseconds now, const ResetPace& pace) {
        if (!running_) return std::nullopt;
        if (!running_->start) running_->start = now;
        const auto end = end_of_running(pace);
        if (now < end) return std::nullopt;
        Finished finished{0, of_running(pace).fails};
        for (const auto& request : running_->requests) {
            finished.cores |= request.cores;
            if (request.pid == kDriver)
                state_ = finished.failed ? DeviceState::Invalid : DeviceState::Ready;
            else if (request.pid != kNobody)
                ended_.emplace_back(request.pid, finished.failed);
        }
        running_.reset();
        at_load_.reset();
        last_end_ = end;
        if (!waiting_.empty()) finished.next = begin(end);
        return finished;
    }

    [[nodiscard]] Outcome outcome(std::int32_t pid) const {
        if (pid == kNobody) return Outcome::Unknown;
        for (const auto& [whose, failed] : ended_)
            if (whose == pid) return failed ? Outcome::Failed : Outcome::Done;
        const auto is_its = [pid](const Request& request) { return request.pid == pid; };
        const bool pending =
            std::any_of(waiting_.begin(), waiting_.end(), is_its) ||
            (running_ && std::any_of(running_->requests.begin(), running_->requests.end(), is_its));
        return pending ? Outcome::Pending : Outcome::Unknown;
    }

    /// When a pending request will have ended, as things are now. Requires: it is pending.
    [[nodiscard]] Nanoseconds end_of(std::int32_t pid, const ResetPace& pace) const {
        const auto end = end_of_running(pace);
        for (const auto& request : waiting_)
            if (request.pid == pid) return Nanoseconds{end.count + pace.duration.count};
        return end;
    }

    /// Cores of what waits and what runs.
    [[nodiscard]] std::uint32_t pending() const {
        std::uint32_t cores = 0;
        for (const auto& request : waiting_) cores |= request.cores;
        if (running_)
            for (const auto& request : running_->requests) cores |= request.cores;
        return cores;
    }

    /// When the last of all resets so far ends or ended, as things are now.
    [[nodiscard]] Nanoseconds latest_end(const ResetPace& pace) const {
        if (!running_) return last_end_;
        const auto end = end_of_running(pace).count;
        return Nanoseconds{end + (waiting_.empty() ? 0 : pace.duration.count)};
    }

    /// A request that was collected, or whose process left.
    void forget(std::int32_t pid) {
        const auto is_its = [pid](const Request& request) { return request.pid == pid; };
        std::erase_if(waiting_, is_its);
        std::erase_if(ended_, [pid](const auto& ended) { return ended.first == pid; });
        // what runs cannot be called back, but nobody will ask how it ended
        if (running_)
            for (auto& request : running_->requests)
                if (request.pid == pid) request.pid = kNobody;
    }

    [[nodiscard]] DeviceState state() const { return state_; }
    /// Without hardware resets there is no other state (no_reset).
    void set_ready() { state_ = DeviceState::Ready; }

private:
    static constexpr std::int32_t kNobody = 0;

    struct Request {
        std::int32_t pid = 0;
        std::uint32_t cores = 0;
    };
    struct Running {
        std::vector<Request> requests{};
        std::optional<Nanoseconds> start{}; ///< none: from the next look on
    };

    /// The cores it is about.
    std::uint32_t begin(Nanoseconds start) {
        const bool alone = waiting_.front().pid == kDriver;
        const auto end = alone ? waiting_.begin() + 1 : waiting_.end();
        running_ = Running{{waiting_.begin(), end}, start};
        waiting_.erase(waiting_.begin(), end);
        std::uint32_t cores = 0;
        for (const auto& request : running_->requests) cores |= request.cores;
        return cores;
    }

    [[nodiscard]] ResetPace of_running(const ResetPace& pace) const {
        return at_load_.value_or(pace);
    }

    [[nodiscard]] Nanoseconds end_of_running(const ResetPace& pace) const {
        const auto start = running_ && running_->start ? running_->start->count : 0;
        return Nanoseconds{start + of_running(pace).duration.count};
    }

    DeviceState state_ = DeviceState::Ready;
    std::vector<Request> waiting_;
    std::optional<Running> running_;
    std::optional<ResetPace> at_load_;
    Nanoseconds last_end_{};
    std::vector<std::pair<std::int32_t, bool>> ended_; ///< process, whether it failed
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
