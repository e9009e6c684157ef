// SPDX-License-Identifier: Apache-2.0
//
// Files beside the devices: the pod of the server, what all devices have in common.
// Owns: their texts. Does not own: the pod (pod_election.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 11 (measured on Trn1)
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "neuronbook/backend/sim/sysfs/device_files.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// The mode whose figures a file of a pod of two shows, or of four.
[[nodiscard]] inline uapi::UltraserverMode mode_of_two(PodElection& pod, Nanoseconds now) {
    using Mode = uapi::UltraserverMode;
    if (pod.supports(Mode::X2h, now)) return Mode::X2h;
    return pod.supports(Mode::X2v, now) ? Mode::X2v : Mode::X1;
}

/// Whatever mode is set: the files have modes of their own.
template <int Servers>
std::string read_node_id(State& state, const Place& place) {
    auto pod = state.pod;
    if (pod.platform() != Platform::Standard && pod.busy(place.now)) return "busy\n";
    const auto mode = Servers == 4 ? uapi::UltraserverMode::X4 : mode_of_two(pod, place.now);
    return std::to_string(pod.view(mode, place.now).node) + "\n";
}
template <int Servers>
std::string read_server_id(State& state, const Place& place) {
    auto pod = state.pod;
    const auto mode = Servers == 4 ? uapi::UltraserverMode::X4 : mode_of_two(pod, place.now);
    return hexadecimal(pod.view(mode, place.now).id) + "\n";
}

/// Numbers of the modes this server can be in; nothing where there are no pods.
[[nodiscard]] inline std::string read_modes(State& state, const Place& place) {
    auto pod = state.pod;
    if (pod.platform() == Platform::Standard) return "\n";
    if (pod.busy(place.now)) return "busy\n";
    std::string text;
    for (std::uint32_t mode = 0; mode < 32; ++mode)
        if ((pod.modes(place.now) >> mode & 1) != 0)
            text += (text.empty() ? "" : ",") + std::to_string(mode);
    return text + "\n";
}

[[nodiscard]] inline std::string read_node(State& state, const Place& place) {
    auto pod = state.pod;
    if (pod.busy(place.now)) return "busy\n";
    return std::to_string(pod.view(pod.mode(), place.now).node) + "\n";
}
[[nodiscard]] inline std::string read_node_count(State& state, const Place& place) {
    auto pod = state.pod;
    if (pod.busy(place.now)) return "busy\n";
    return line(pod.view(pod.mode(), place.now).size);
}
[[nodiscard]] inline std::string read_reservation(State& state, const Place& place) {
    auto pod = state.pod;
    if (pod.busy(place.now)) return "busy\n";
    return hexadecimal(pod.view(pod.mode(), place.now).id) + "\n";
}

/// Whether the memory of every device can run faster. Only Trn2 asks its firmware.
[[nodiscard]] inline std::string read_hbm_7200(State& state, const Place&) {
    const auto& machine = state.machine;
    if (machine.devices() == 0) return "busy\n";
    const bool asks = machine.is(Architecture::Cayman) && !machine.no_reset();
    return asks && machine.hardware().hbm_7200 ? "1\n" : "0\n";
}

[[nodiscard]] inline std::string read_current_profile(State& state, const Place&) {
    if (state.devices.empty()) return "busy\n";
    const auto common = state.devices.front().power.profile;
    for (const auto& device : state.devices)
        if (device.power.profile != common) return "-1\n";
    return line(common);
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
