// SPDX-License-Identifier: Apache-2.0
//
// Files of a device but for its counters: identity, hardware errors, power, health.
// Owns: their texts. Does not own: paths (sysfs.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 11 (measured on Trn1)
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "neuronbook/backend/sim/device/reset_thread.hpp"
#include "neuronbook/backend/sim/sysfs/file_row.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// A firmware register as the driver reads it: all ones when the device left the bus.
[[nodiscard]] inline std::uint32_t seen(State& state, const Place& place, std::uint32_t value) {
    return state.devices[place.device].faults.gone ? 0xFFFFFFFFu : value;
}

/// Fixed width, lower case.
[[nodiscard]] inline std::string hexadecimal(std::uint64_t value) {
    std::string text(16, '0');
    for (std::size_t i = text.size(); value != 0; value >>= 4)
        text[--i] = "0123456789abcdef"[value & 0xFu];
    return text;
}

[[nodiscard]] inline std::string read_core_count(State& state, const Place&) {
    return std::to_string(state.machine.cores()); // no line's end
}

/// Empty when the text would need 20 characters or more.
[[nodiscard]] inline std::string read_connected(State& state, const Place& place) {
    const auto list = state.machine.neighbours(place.device);
    std::string text;
    for (std::uint32_t i = 0; i < list.count; ++i)
        text += (i == 0 ? "" : ", ") + std::to_string(list.devices[i]);
    text += "\n";
    return text.size() < 20 ? text : std::string{};
}

/// 0 while it is reset, 1 ready, 2 not to be used.
[[nodiscard]] inline std::string read_reset(State& state, const Place& place) {
    return line(static_cast<std::uint64_t>(state.devices[place.device].resets.state()));
}

/// Resets the device if nobody has it open; otherwise nothing happens, and nobody is told.
inline std::int64_t write_reset(State& state, const Place& place, std::string_view) {
    reset_by_file(state.devices[place.device], state.machine, state.journal, state.now);
    return 0;
}

[[nodiscard]] inline std::string read_firmware_api(State& state, const Place& place) {
    return line(seen(state, place, state.machine.hardware().firmware_api));
}
[[nodiscard]] inline std::string read_firmware_build(State& state, const Place& place) {
    return line(seen(state, place, state.machine.hardware().firmware_build));
}

[[nodiscard]] inline std::string read_notify_delay(State& state, const Place&) {
    return std::to_string(state.notify_delay) + "\n";
}
/// One switch for all devices; what is neither of its two values is ignored.
inline std::int64_t write_notify_delay(State& state, const Place&, std::string_view text) {
    if (!text.empty() && text.back() == '\n') text.remove_suffix(1);
    if (text == "0") state.notify_delay = 0;
    if (text == "-1") state.notify_delay = -1;
    return 0;
}

[[nodiscard]] inline std::string read_serial(State& state, const Place& place) {
    const auto serial = state.machine.hardware().serial + place.device;
    const auto high = seen(state, place, static_cast<std::uint32_t>(serial >> 32));
    const auto low = seen(state, place, static_cast<std::uint32_t>(serial));
    if (high == 0 && low == 0) return "\n";
    return hexadecimal(std::uint64_t{high} << 32 | low) + "\n";
}

struct ProductNames {
    std::string_view arch, instance, device;
};

[[nodiscard]] inline ProductNames names_of(const MachineSpec& machine) {
    if (machine.is_inf2()) return {"NDv3", "Inf2", "Inferentia2"};
    if (machine.is(Architecture::Sunda)) return {"NDv2", "Trn1", "Trainium1"};
    if (machine.is(Architecture::Cayman)) return {"NDv3", "Trn2", "Trainium2"};
    return {"NDv4", "Trn3", "Trainium3"};
}
[[nodiscard]] inline std::string read_arch(State& state, const Place&) {
    return std::string{names_of(state.machine).arch} + "\n";
}
[[nodiscard]] inline std::string read_instance(State& state, const Place&) {
    return std::string{names_of(state.machine).instance} + "\n";
}
[[nodiscard]] inline std::string read_device_name(State& state, const Place&) {
    return std::string{names_of(state.machine).device} + "\n";
}

/// Memory errors that were not corrected, and those of them that a repair takes away. The count of
/// each HBM is in its register's low half; newer firmware splits that into two.
struct MemoryErrors {
    std::uint32_t lasting = 0;
    std::uint32_t repairable = 0;
};

[[nodiscard]] inline MemoryErrors memory_errors(State& state, const Place& place) {
    constexpr std::uint32_t kSplitSince = 6; // firmware API
    const auto& machine = state.machine;
    const auto& hardware = machine.hardware();
    const auto repair = seen(state, place, hardware.hbm_repair) & 3u;
    const bool split = machine.at_least(Release::V2_26_5) && !machine.is(Architecture::Sunda) &&
                       seen(state, place, hardware.firmware_api) >= kSplitSince;
    MemoryErrors sum;
    for (std::uint32_t i = 0; i < machine.geometry().hbms; ++i) {
        const auto count = seen(state, place, hardware.hbm_errors[i]) & 0xFFFFu;
        sum.lasting += split ? count >> 12 : count;
        sum.repairable += split ? count & 0xFFFu : 0;
    }
    if (machine.is(Architecture::Sunda)) return sum;
    if (!split) return repair == 1 ? MemoryErrors{0, sum.lasting} : sum;
    if (repair == 2) ++sum.lasting;
    if (repair == 1 && sum.repairable == 0) sum.repairable = 1;
    return sum;
}
[[nodiscard]] inline std::string read_memory_errors(State& state, const Place& place) {
    return line(memory_errors(state, place).lasting);
}
[[nodiscard]] inline std::string read_repairable_errors(State& state, const Place& place) {
    return line(memory_errors(state, place).repairable);
}
[[nodiscard]] inline std::string read_sram_errors(State& state, const Place& place) {
    return line(seen(state, place, state.machine.hardware().sram_errors) & 0xFFFFu);
}
[[nodiscard]] inline std::string read_sram_corrected(State& state, const Place& place) {
    return line(seen(state, place, state.machine.hardware().sram_errors) >> 16);
}
[[nodiscard]] inline std::string read_memory_corrected(State& state, const Place& place) {
    return line(seen(state, place, state.machine.hardware().hbm_errors[0]) >> 16);
}

/// The model samples no power.
[[nodiscard]] inline std::string read_power(State&, const Place&) {
    return "POWER_STATUS_NO_DATA,0,0.00,0.00,0.00\n";
}
[[nodiscard]] inline std::string read_power_raw(State& state, const Place&) {
    std::string text = "die,util_bips,counter\n";
    const std::uint32_t dies = state.machine.is(Architecture::Sunda) ? 1 : 2;
    for (std::uint32_t die = 0; die < dies; ++die) text += std::to_string(die) + ",unavailable\n";
    return text;
}

[[nodiscard]] inline std::string read_unhealthy(State& state, const Place& place) {
    return state.devices[place.device].faults.gone ? "device_unreachable\n" : "\n";
}
[[nodiscard]] inline std::string read_heartbeat(State& state, const Place& place) {
    return state.devices[place.device].faults.gone ? "device_unreachable\n" : "0\n";
}
[[nodiscard]] inline std::string read_error_events(State& state, const Place& place) {
    return line(state.devices[place.device].faults.gone ? 1 : 0); // it became unreadable once
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
