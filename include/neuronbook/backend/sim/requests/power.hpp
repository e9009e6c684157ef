// SPDX-License-Identifier: Apache-2.0
//
// Requests about power, metrics and what the firmware knows of the bus.
// Owns: their handlers. Does not own: the settings (power_state.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 12 (measured on Trn1 of 2.26.5)
#pragma once

#include <cerrno>
#include <cstdint>

#include "neuronbook/backend/sim/requests/call.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// Profiles that the simulated firmware has, from 0 on. The driver checks no number.
inline constexpr std::uint32_t kFirmwareProfiles = 4;

/// Whether the firmware is too old for a command of the newer protocol.
[[nodiscard]] inline bool firmware_too_old(const Call& call) {
    const bool lower =
        call.machine().is(Architecture::Mariana) && call.machine().at_least(Release::V2_30_2);
    return !call.device.faults.gone && call.machine().hardware().firmware_api < (lower ? 6u : 7u);
}

/// What comes of a command to the firmware: 0, minus an errno, or kWaits while a device that left
/// the bus keeps silent for as long as the driver asks again. 2.26 takes both failures for success.
inline std::int64_t ask_firmware(Call& call, std::uint64_t silent_seconds) {
    if (firmware_too_old(call)) return -kNotSupported;
    const bool honest = call.machine().at_least(Release::V2_30_2);
    if (call.device.faults.gone) {
        if (!call.resumed) {
            call.until = {call.now.count + silent_seconds * 1'000'000'000};
            return Call::kWaits;
        }
        return honest ? -ETIMEDOUT : 0;
    }
    return call.device.faults.firmware_refuses && honest ? -EIO : 0;
}

/// Whether the firmware did what a successful command asked for.
[[nodiscard]] inline bool firmware_works(const Call& call) {
    return !call.device.faults.gone && !call.device.faults.firmware_refuses;
}

inline std::int64_t power_profile(Call& call) {
    uapi::PowerProfile ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    if (ask.sz != sizeof ask) return -ENXIO;
    if (ask.ctrl != 0) return -kNotSupported;
    if (call.machine().is(Architecture::Sunda)) return 0;
    const bool newer = call.machine().at_least(Release::V2_30_2);
    if (const auto answer = ask_firmware(call, 3 * (newer ? 90 : 60))) return answer;
    const auto profile = static_cast<std::uint8_t>(ask.profile); // cut as the driver cuts it
    if (profile >= kFirmwareProfiles) return newer ? -EIO : 0;
    if (firmware_works(call)) call.device.power.profile = profile;
    return 0;
}

inline std::int64_t get_performance_profile(Call& call) {
    uapi::PowerProfile ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    if (ask.sz != sizeof ask) return -ENXIO;
    if (ask.ctrl != 1) return -kNotSupported;
    if (!call.machine().is(Architecture::Sunda))
        if (const auto answer = ask_firmware(call, 3 * 10)) return answer;
    ask.profile = call.device.power.profile;
    return call.copy_out(ask);
}

/// On the second generation there are none, and the map stays as the caller passed it.
inline std::int64_t available_perf_profiles(Call& call) {
    uapi::AvailablePerfProfiles ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    ask.num_profiles = 0;
    if (!call.machine().is(Architecture::Sunda)) {
        if (const auto answer = ask_firmware(call, 3 * 10)) return answer;
        ask.num_profiles = kFirmwareProfiles;
        for (auto& byte : ask.bitmap) byte = 0;
        ask.bitmap[0] = (1u << kFirmwareProfiles) - 1;
    }
    return call.copy_out(ask);
}

/// An unknown mode is ignored.
inline std::int64_t metrics_ctrl(Call& call) {
    uapi::MetricsCtrl ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    if (ask.mode <= static_cast<std::uint32_t>(uapi::MetricsMode::PeriodicDisable))
        call.device.power.metrics_paused =
            ask.mode == static_cast<std::uint32_t>(uapi::MetricsMode::PeriodicDisable);
    return 0;
}

inline std::int64_t throttling_notifications(Call& call) {
    uapi::ThrottlingNotifications ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    if (call.machine().is(Architecture::Sunda)) return -kNotSupported;
    if (const auto answer = ask_firmware(call, 3 * 60)) return answer;
    if (firmware_works(call)) call.device.power.throttling_reported = ask.enable != 0;
    return 0;
}

/// Asked of the firmware once, where a switch joins servers, and remembered even when it refused.
/// The simulated firmware knows no other server's device.
inline std::int64_t bar_info(Call& call) {
    constexpr std::uint32_t kBetweenServers = 1;
    constexpr std::uint32_t kWithinServer = 2;
    uapi::GetBarInfo ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    if (ask.query_type != kBetweenServers && ask.query_type != kWithinServer) return -EINVAL;
    const auto platform = call.machine().platform();
    const bool known = platform == Platform::Max ||
                       (platform == Platform::Pds && ask.query_type == kBetweenServers);
    if (!known) return -EAGAIN;
    const auto query = ask.query_type;
    ask = uapi::GetBarInfo{};
    ask.query_type = query;
    return call.copy_out(ask);
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
