// SPDX-License-Identifier: Apache-2.0
//
// The pod a server belongs to: how UltraServers elect one, what a switch says of it.
// Owns: how far that has come and what it says. Does not own: the requests' forms
// (requests/pod.hpp). Layer: backend (simulated kernel).   Source: driver-abi.md 5.12 (measured on
// PDS)
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>

#include "neuronbook/backend/sim/machine/machine_spec.hpp"
#include "neuronbook/backend/uapi.hpp"
#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// What the driver says of the pod in one mode.
struct PodView {
    std::uint64_t id = 0;
    std::int32_t node = -1;
    std::uint32_t size = 0;
};

/// Not thread-safe. Times are those of whoever asks.
class PodElection {
public:
    using Mode = uapi::UltraserverMode;
    enum class Stage : std::uint8_t { Initial, Running, Success, Failure };

    explicit PodElection(const MachineSpec& machine)
        : platform_(machine.platform()), release_(machine.release()), pod_(machine.pod()),
          control_(machine.parameters().userver_ctl),
          all_reset_(machine.devices() >= (platform_ == Platform::Max ? 4u : 16u) &&
                     !reset_fails(machine)) {
        if (platform_ == Platform::Standard) return;
        if (platform_ != Platform::UltraServer) {
            load_switched(machine);
        } else if ((control_ & 1) != 0 || (reset_fails(machine) && release_ >= Release::V2_30_2)) {
            stage_ = Stage::Failure; // older drivers go on waiting for a device that failed
        } else if (all_reset_) {
            start({}, machine.parameters().userver_etimeout);
            if (pod_.election == SimPod::Election::Over) settle(decided_);
        }
    }

    [[nodiscard]] Platform platform() const { return platform_; }

    [[nodiscard]] Stage stage(Nanoseconds now) {
        settle(now);
        return stage_;
    }
    [[nodiscard]] bool busy(Nanoseconds now) {
        return stage(now) == Stage::Initial || stage_ == Stage::Running;
    }

    /// Whether an open waits for the pod, which it does only where a switch joins the servers. A
    /// pod that is not complete when the driver has loaded stays so until it is given up.
    [[nodiscard]] bool holds_opens(Nanoseconds now) {
        const bool switched = platform_ == Platform::Pds || platform_ == Platform::Max;
        return switched && release_ >= Release::V2_30_2 && busy(now);
    }

    /// PodStatus::state. A failed election is never told from a server on its own.
    [[nodiscard]] uapi::PodState state(Nanoseconds now) {
        using enum uapi::PodState;
        if (platform_ == Platform::Standard) return SingleNode;
        if (busy(now)) return InProgress;
        return stage_ == Stage::Success && mode_ != Mode::X1 ? Ultraserver : SingleNode;
    }

    [[nodiscard]] uapi::PodType type() const {
        if (platform_ == Platform::Standard) return uapi::PodType::None;
        return platform_ == Platform::UltraServer ? uapi::PodType::P2p : uapi::PodType::Switch;
    }

    [[nodiscard]] Mode mode() const { return mode_; }
    void forget_mode() { mode_ = Mode::Unset; }

    /// A bit a mode.
    [[nodiscard]] std::uint32_t modes(Nanoseconds now) {
        if (platform_ == Platform::Standard) return 0;
        settle(now);
        std::uint32_t bits = bit(Mode::X1);
        if (count_ == 4) bits |= bit(Mode::X4);
        if (count_ == 2 && right_) bits |= bit(Mode::X2h);
        if (count_ >= 2 && left_) bits |= bit(Mode::X2v);
        return bits;
    }
    [[nodiscard]] bool supports(Mode mode, Nanoseconds now) {
        const auto number = static_cast<std::uint32_t>(mode);
        return number < 32 && (modes(now) >> number & 1) != 0;
    }

    /// The pod as a mode cuts it. What a switch joins is never cut.
    [[nodiscard]] PodView view(Mode mode, Nanoseconds now) {
        settle(now);
        if (platform_ == Platform::Standard) return {};
        if (stage_ != Stage::Success) return {0, -1, count_};
        const PodView raw{serial_, node_, count_};
        if (platform_ != Platform::UltraServer) return raw;
        const auto node = static_cast<std::uint32_t>(node_);
        switch (mode) {
        case Mode::X1: return {};
        case Mode::X4: return count_ == 4 ? raw : PodView{};
        case Mode::X2h:
            if (count_ != 4) return raw;
            return {serial_ - (node & 1), static_cast<std::int32_t>(node / 2), 2};
        case Mode::X2v:
            if (count_ != 4) return raw;
            return {serial_ - (node / 2), static_cast<std::int32_t>(node % 2), 2};
        default: return raw;
        }
    }

    /// Whether the driver numbers the cores from the other die on.
    [[nodiscard]] bool flips_dies(Nanoseconds now) {
        return platform_ == Platform::UltraServer && stage(now) == Stage::Success &&
               (node_ == 1 || node_ == 3);
    }

    /// PodCtrlReq::ReqPod.
    std::int64_t request(Nanoseconds now, std::uint32_t seconds, bool cores_marked) {
        if (platform_ != Platform::UltraServer) return 0;
        if (cores_marked) return -EAGAIN;
        if (stage(now) == Stage::Running) return 0;
        if (!all_reset_) return -EAGAIN;
        start(now, seconds);
        return 0;
    }

    /// PodCtrlReq::ReqKill.
    void kill(Nanoseconds now) {
        if (busy(now)) stage_ = Stage::Failure;
    }

    /// PodCtrlReq::SetMode; the driver's errno for what it does not support is the caller's.
    std::int64_t set_mode(Mode mode, Nanoseconds now, std::int64_t unsupported) {
        if (busy(now)) return -EBUSY;
        if (mode_ != Mode::Unset && mode_ != mode) return -EEXIST;
        if (!supports(mode, now)) return unsupported;
        mode_ = mode;
        return 0;
    }

private:
    static constexpr std::uint64_t kSecond = 1'000'000'000;
    static constexpr std::uint64_t kAnswered = kSecond; ///< how long an election takes: a guess
    static constexpr std::uint64_t kRetry = 120 * kSecond;

    /// Whether the reset at load fails, on all devices or none.
    static bool reset_fails(const MachineSpec& machine) {
        return !machine.no_reset() &&
               (machine.faults().never_ready || machine.faults().resets_hang);
    }

    static constexpr std::uint32_t bit(Mode mode) { return 1u << static_cast<std::uint32_t>(mode); }

    /// A switch and the firmware know the pod; nothing is elected.
    void load_switched(const MachineSpec& machine) {
        if (!all_reset_) {
            if (reset_fails(machine) && release_ >= Release::V2_30_2) stage_ = Stage::Failure;
            return;
        }
        const auto& parameters = machine.parameters();
        stage_ = Stage::Success;
        const auto server = pod_.server.value_or(0);
        if (release_ < Release::V2_30_2) {
            count_ = static_cast<std::uint32_t>(parameters.userver_pds_node_cnt);
            node_ = count_ == 0 ? -1 : static_cast<std::int32_t>(server);
            serial_ = parameters.userver_pds_server_id;
            return;
        }
        count_ = pod_.servers != 0 ? pod_.servers : platform_ == Platform::Pds ? 4 : 1;
        node_ = static_cast<std::int32_t>(server < 2 ? server : server ^ 1u); // rack, then server
        serial_ = pod_.reservation != 0 ? pod_.reservation : parameters.pds_reservation_id;
    }

    /// Both links are tried, then each alone; a silent one takes all the time there is.
    void start(Nanoseconds now, std::uint64_t seconds) {
        stage_ = Stage::Running;
        node_ = -1;
        count_ = 0;
        serial_ = 0;
        const bool has_right =
            pod_.links != SimPod::Links::Left && pod_.links != SimPod::Links::None;
        const bool has_left =
            pod_.links != SimPod::Links::Right && pod_.links != SimPod::Links::None;
        const bool only_right = (control_ >> 9 & 1) != 0;
        const bool only_left = !only_right && (control_ >> 10 & 1) != 0;
        right_ = has_right && !only_left;
        left_ = has_left && !only_right;
        std::uint64_t takes = seconds * kSecond;
        if (only_right || only_left)
            takes = right_ || left_ ? kAnswered : takes;
        else if (right_ && left_)
            takes = kAnswered;
        else if (right_)
            takes += kAnswered;
        else
            takes += kRetry + (left_ ? kAnswered : kRetry);
        const auto room = std::numeric_limits<std::uint64_t>::max() - now.count;
        decided_ = Nanoseconds{now.count + std::min(room, takes)};
    }

    void settle(Nanoseconds now) {
        if (stage_ != Stage::Running || now < decided_) return;
        stage_ = right_ || left_ ? Stage::Success : Stage::Failure;
        if (stage_ == Stage::Failure) return;
        count_ = right_ && left_ ? 4 : 2;
        node_ = static_cast<std::int32_t>(pod_.node % count_);
        serial_ = pod_.serial;
    }

    Platform platform_;
    Release release_;
    SimPod pod_;
    std::uint64_t control_;
    bool all_reset_;
    Stage stage_ = Stage::Initial;
    Mode mode_ = Mode::Unset;
    bool right_ = false;
    bool left_ = false;
    Nanoseconds decided_{};
    std::int32_t node_ = -1;
    std::uint32_t count_ = 0;
    std::uint64_t serial_ = 0;
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
