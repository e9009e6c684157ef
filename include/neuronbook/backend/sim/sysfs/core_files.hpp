// SPDX-License-Identifier: Apache-2.0
//
// Files of counters, of cores and of the device's host memory.
// Owns: which counter a path means. Does not own: the numbers (counters.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 11 (measured on Trn1)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "neuronbook/backend/sim/device/datastore_use.hpp"
#include "neuronbook/backend/sim/sysfs/file_row.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

// The counter of a device that a place means.
inline constexpr auto kHostCategory = [](auto& device, const Place& place) -> auto& {
    return device.counters.host_category[place.item];
};
inline constexpr auto kCoreHost = [](auto& device, const Place& place) -> auto& {
    return device.counters.core_host[place.core];
};
inline constexpr auto kCoreDevice = [](auto& device, const Place& place) -> auto& {
    return device.counters.core_device[place.core];
};
inline constexpr auto kCoreCategory = [](auto& device, const Place& place) -> auto& {
    return device.counters.core_category[place.core][place.item];
};

[[nodiscard]] inline auto& value_of(auto& counter, std::uint32_t which) {
    return which == 0 ? counter.total : which == 1 ? counter.present : counter.peak;
}

/// A decimal number and a line's end.
template <auto Of>
std::string read_counter(State& state, const Place& place) {
    return line(value_of(Of(state.devices[place.device], place), place.value));
}

/// Whatever is written, that one value becomes zero. Later frees take a total below it.
template <auto Of>
std::int64_t zero_counter(State& state, const Place& place, std::string_view) {
    value_of(Of(state.devices[place.device], place), place.value) = 0;
    return 0;
}

/// The number that processes count themselves and that a place means.
template <char Set>
std::size_t published_number(const Place& place) {
    static_assert(kDatastoreCounters.size() ==
                  kStatusDirectories.size() + kOtherDirectories.size() - 2);
    if (Set == 's') return place.item;
    return kStatusDirectories.size() + place.item - (place.item > kResetFailures ? 2 : 0);
}

template <char Set>
std::string read_published(State& state, const Place& place) {
    auto& device = state.devices[place.device];
    const auto which = [&]() -> Counter {
        if (Set == 'o' && place.item == kResetRequests) return device.reset_requests[place.core];
        if (Set == 'o' && place.item == kResetFailures) return device.reset_failures[place.core];
        return published(device, state.machine, place.core, published_number<Set>(place));
    };
    const auto counter = which();
    return line(value_of(counter, place.value));
}

template <char Set>
std::int64_t write_published(State& state, const Place& place, std::string_view) {
    auto& device = state.devices[place.device];
    if (Set == 'o' && place.item == kResetRequests)
        value_of(device.reset_requests[place.core], place.value) = 0;
    else if (Set == 'o' && place.item == kResetFailures)
        value_of(device.reset_failures[place.core], place.value) = 0;
    else
        zero_published(device, state.machine, place.core, published_number<Set>(place),
                       place.value == 0);
    return 0;
}

[[nodiscard]] inline std::string read_core_arch(State& state, const Place&) {
    return "NCv" + std::to_string(state.machine.architecture_number()) + "\n";
}

/// What is in it is not known; the model shows an empty file.
[[nodiscard]] inline std::string read_pe_counters(State&, const Place&) { return {}; }

} // namespace sim
} // namespace v0
} // namespace neuronbook
