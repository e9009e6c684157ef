// SPDX-License-Identifier: Apache-2.0
//
// Files of counters, of cores and of the device's host memory.
// Owns: which counter a path means. Does not own: the numbers (counters.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 11 (measured on Trn1)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "neuronbook/backend/sim/sysfs/file_row.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

// The counter of a device that a place means.
inline constexpr auto host_category = [](auto& device, const Place& place) -> auto& {
    return device.counters.host_category[place.item];
};
inline constexpr auto core_host = [](auto& device, const Place& place) -> auto& {
    return device.counters.core_host[place.core];
};
inline constexpr auto core_device = [](auto& device, const Place& place) -> auto& {
    return device.counters.core_device[place.core];
};
inline constexpr auto core_category = [](auto& device, const Place& place) -> auto& {
    return device.counters.core_category[place.core][place.item];
};
inline constexpr auto core_status = [](auto& device, const Place& place) -> auto& {
    return device.activity[place.core].status[place.item];
};
inline constexpr auto core_other = [](auto& device, const Place& place) -> auto& {
    if (place.item == kResetRequests) return device.reset_requests[place.core];
    if (place.item == kResetFailures) return device.reset_failures[place.core];
    return device.activity[place.core].other[place.item];
};

[[nodiscard]] inline auto& value_of(auto& counter, std::uint32_t which) {
    return which == 0 ? counter.total : which == 1 ? counter.present : counter.peak;
}

/// A decimal number and a line's end.
template <auto kOf>
std::string read_counter(const State& state, const Place& place) {
    return line(value_of(kOf(state.devices[place.device], place), place.value));
}

/// Whatever is written, that one value becomes zero. Later frees take a total below it.
template <auto kOf>
std::int64_t zero_counter(State& state, const Place& place, std::string_view) {
    value_of(kOf(state.devices[place.device], place), place.value) = 0;
    return 0;
}

[[nodiscard]] inline std::string read_core_arch(const State& state, const Place&) {
    return "NCv" + std::to_string(state.machine.architecture_number()) + "\n";
}

/// What is in it is not known; the model shows an empty file.
[[nodiscard]] inline std::string read_pe_counters(const State&, const Place&) { return {}; }

} // namespace sim
} // namespace v0
} // namespace neuronbook
