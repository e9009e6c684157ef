// SPDX-License-Identifier: Apache-2.0
//
// One row of the driver's file table, and how a path is compared with its pattern.
// Owns: patterns. Does not own: the table (sysfs.hpp), what is in the files.
// Layer: backend (simulated kernel).   Source: driver-abi.md 11
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "neuronbook/backend/sim/device/counters.hpp"
#include "neuronbook/backend/sim/state.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// Which of the driver's directories a pattern begins in.
enum class Root : std::uint8_t { Module, Dmi, Class, Devices, Device };

/// What a path says beyond its pattern.
struct Place {
    std::uint32_t device = 0;
    std::uint32_t core = 0;
    std::uint32_t item = 0;  ///< which directory of a set, or which parameter
    std::uint32_t value = 0; ///< total, present or peak
    Nanoseconds now{};
};

/// A file, or several of which the pattern's `$` stand for a set: $c cores, $h and $d directories
/// of host and device memory, $s and $o those of what a core did, $m values of memory counters, $n
/// values of others, $p parameters.
struct FileRow {
    Root root;
    std::string_view pattern;
    std::uint16_t mode;
    std::string (*read)(State&, const Place&);
    /// 0 or minus an errno; null: what is written is ignored.
    std::int64_t (*write)(State&, const Place&, std::string_view) = nullptr;
    /// Whether a machine has it; null: every one.
    bool (*there)(const MachineSpec&) = nullptr;
};

inline constexpr std::array<std::string_view, 3> kValues{"total", "present", "peak"};

/// Takes a literal off the front of a path.
[[nodiscard]] inline bool eat(std::string_view& path, std::string_view front) {
    if (path.substr(0, front.size()) != front) return false;
    path.remove_prefix(front.size());
    return true;
}

/// Takes a decimal number off the front, written as the kernel writes it.
[[nodiscard]] inline std::optional<std::uint32_t> eat_number(std::string_view& path) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(path.data(), path.data() + path.size(), value);
    const auto digits = static_cast<std::size_t>(end - path.data());
    if (error != std::errc{} || (digits > 1 && path.front() == '0')) return std::nullopt;
    path.remove_prefix(digits);
    return value;
}

/// Takes the first component off a path or a pattern.
[[nodiscard]] inline std::string_view next_component(std::string_view& path) {
    const auto end = std::min(path.find('/'), path.size());
    const auto part = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    return part;
}

/// How many numbers a set has; some may have no name.
[[nodiscard]] constexpr std::size_t set_size(char set) {
    switch (set) {
    case 'c': return kMaxCoresPerDevice;
    case 'h': return kHostDirectories.size();
    case 'd': return kDeviceDirectories.size();
    case 's': return kStatusDirectories.size();
    case 'o': return kOtherDirectories.size();
    case 'm': return kValues.size();
    case 'n': return kValues.size() - 1;
    default: return kParameters.size();
    }
}

/// Name of one member of a set, empty when this machine has not got it.
[[nodiscard]] inline std::string member_name(const MachineSpec& machine, char set, std::size_t i) {
    switch (set) {
    case 'c':
        return machine.has_core(static_cast<std::uint32_t>(i)) ? std::to_string(i) : std::string{};
    case 'h': return std::string{kHostDirectories[i]};
    case 'd': return std::string{kDeviceDirectories[i]};
    case 's': return std::string{kStatusDirectories[i]};
    case 'o': return std::string{kOtherDirectories[i]};
    case 'm':
    case 'n': return std::string{kValues[i]};
    default:
        return kParameters[i].in(machine.release()) ? std::string{kParameters[i].name}
                                                    : std::string{};
    }
}

/// Compares one component; what a set's part stands for goes into `place`.
[[nodiscard]] inline bool takes_component(const MachineSpec& machine, std::string_view pattern,
                                          std::string_view text, Place& place) {
    const auto sign = pattern.find('$');
    if (sign == std::string_view::npos) return pattern == text;
    if (!eat(text, pattern.substr(0, sign))) return false;
    const char set = pattern[sign + 1];
    for (std::size_t i = 0; i < set_size(set); ++i) {
        const auto name = member_name(machine, set, i);
        if (name.empty() || name != text) continue;
        auto& number = set == 'c'                 ? place.core
                       : set == 'm' || set == 'n' ? place.value
                                                  : place.item;
        number = static_cast<std::uint32_t>(i);
        return true;
    }
    return false;
}

/// What is left of a pattern behind a path; nothing when the path leads elsewhere.
[[nodiscard]] inline std::optional<std::string_view>
behind(const MachineSpec& machine, std::string_view pattern, std::string_view path, Place& place) {
    while (!path.empty()) {
        if (pattern.empty()) return std::nullopt;
        const auto part = next_component(pattern);
        if (!takes_component(machine, part, next_component(path), place)) return std::nullopt;
    }
    return pattern;
}

[[nodiscard]] inline std::string line(std::uint64_t value) { return std::to_string(value) + "\n"; }

} // namespace sim
} // namespace v0
} // namespace neuronbook
