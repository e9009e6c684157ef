// SPDX-License-Identifier: Apache-2.0
//
// The driver's own counters of memory, as its sysfs files show them.
// Owns: which file counts which category, and how a number is read. Does not own: sums.
// Layer: backend.   Source: driver-abi.md 11; nrt-surface.md 6.2, 6.3
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string_view>
#include <vector>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/backend/ioctl/device_node.hpp"
#include "neuronbook/backend/ioctl/discovery.hpp"
#include "neuronbook/backend/ioctl/driver_rules.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// A directory of counters, and the category that it is reported as.
struct CounterDirectory {
    std::string_view name;
    std::uint32_t category;
};

/// Below host_mem/ of a device.
inline constexpr CounterDirectory kHostCounters[] = {
    {"uncategorized", 0},      {"dma_buffers", 1},   {"tensors", 2},       {"constants", 3},
    {"application_memory", 4}, {"driver_memory", 5}, {"notifications", 6}, {"dma_rings", 17},
};

/// Below device_mem/ of a core. The scratchpad's counts 11 and 19 together and is reported as 11;
/// `uncategorized` also counts categories that the driver does not know.
inline constexpr CounterDirectory kDeviceCounters[] = {
    {"uncategorized", 7},
    {"model_code", 8},
    {"tensors", 9},
    {"constants", 10},
    {"runtime_memory", 12},
    {"driver_memory", 13},
    {"collectives", 14},
    {"notifications", 16},
    {"dma_rings", 18},
    {"model_shared_scratchpad", 11},
    {"nonshared_scratchpad", 15},
};

/// A decimal number and nothing else. A counter that somebody set to zero (anybody may write these
/// files) runs below it with the next free and shows as more than 2^63: that is no number of bytes.
[[nodiscard]] inline std::optional<Bytes> parse_counter(std::string_view text) {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || at != end || number >> 63 != 0) return std::nullopt;
    return Bytes{number};
}

/// `total` is what is allocated now; `present`, in spite of its name, is the last change.
template <Port P>
std::optional<MemoryCounter> read_counter(P& port, HostDeviceId device, const char* directory) {
    const auto value = [&](const char* file) -> std::optional<Bytes> {
        std::array<char, 96> name;
        std::snprintf(name.data(), name.size(), "%s/%s", directory, file);
        char buffer[32];
        const auto path = sysfs_path(device, name.data());
        const auto text = read_text(port, path.data(), buffer, Operation::Query);
        return text ? parse_counter(*text) : std::nullopt;
    };
    const auto now = value("total");
    if (!now) return std::nullopt;
    const auto peak = value("peak"); // second: so it is no smaller, whoever allocates meanwhile
    if (!peak) return std::nullopt;
    return MemoryCounter{.now = *now, .peak = *peak};
}

/// Every counter that can be read: of the device's host memory, then core by core.
template <Port P>
std::vector<MemoryCounter> read_memory_counters(P& port, HostDeviceId device, std::uint32_t cores) {
    std::vector<MemoryCounter> found;
    const auto add = [&](const char* directory, std::optional<CoreIndex> core,
                         MemoryLocation location, std::uint32_t category) {
        auto counter = read_counter(port, device, directory);
        if (!counter) return;
        counter->core = core;
        counter->location = location;
        counter->category = category;
        found.push_back(*counter);
    };
    std::array<char, 80> directory;
    for (const auto& [name, category] : kHostCounters) {
        std::snprintf(directory.data(), directory.size(), "stats/memory_usage/host_mem/%s",
                      name.data());
        add(directory.data(), std::nullopt, MemoryLocation::Host, category);
    }
    for (std::uint32_t core = 0; core < cores; ++core)
        for (const auto& [name, category] : kDeviceCounters) {
            std::snprintf(directory.data(), directory.size(),
                          "neuron_core%u/stats/memory_usage/device_mem/%s", core, name.data());
            add(directory.data(), CoreIndex{core}, MemoryLocation::Device, category);
        }
    return found;
}

/// CounterOps of a driver `Self`, which lets it reach its port and its geometry.
template <class Self>
class CounterOperations {
public:
    /// Returns: the driver's counters of every process, host memory by device, device memory by
    /// core. Files are read and nothing is opened, so the device need not be open here. What is not
    /// there or no number is left out. Errors: UNINITIALIZED; INVALID for no device number.
    Result<std::vector<MemoryCounter>> memory_counters(HostDeviceId device) {
        auto& self = static_cast<Self&>(*this);
        if (!self.usable()) return fail(self.barred(Operation::Query));
        if (device.value() >= kMaxHostDevices) return fail(no_device(Operation::Query, device));
        return read_memory_counters(self.port_, device, self.geometry_->cores);
    }
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
