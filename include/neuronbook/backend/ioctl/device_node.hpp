// SPDX-License-Identifier: Apache-2.0
//
// Paths of the driver's files.
// Owns: the names. Does not own: opening them.
// Layer: backend.   Source: driver-abi.md 2 and 11
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>

#include "neuronbook/base/ids.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

inline constexpr const char* kModulePath = "/sys/module/neuron";
inline constexpr const char* kVersionPath = "/sys/module/neuron/version";

/// A path in a buffer of its own.
using PathText = std::array<char, 128>;

/// /dev/neuronN
[[nodiscard]] inline PathText node_path(HostDeviceId device) {
    PathText text{};
    std::snprintf(text.data(), text.size(), "/dev/neuron%u", device.value());
    return text;
}

/// A file below the driver's sysfs folder of a device.
[[nodiscard]] inline PathText sysfs_path(HostDeviceId device, const char* file) {
    PathText text{};
    std::snprintf(text.data(), text.size(), "/sys/devices/virtual/neuron_device/neuron%u/%s",
                  device.value(), file);
    return text;
}

} // namespace detail
} // namespace v0
} // namespace neuronbook
