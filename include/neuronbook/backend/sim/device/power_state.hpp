// SPDX-License-Identifier: Apache-2.0
//
// What a device was told about power and metrics.
// Owns: the settings. Does not own: who may change them (requests/power.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 12
#pragma once

#include <cstdint>

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// Settings of the device; they outlive the process that made them.
struct PowerState {
    std::uint8_t profile = 0;
    bool metrics_paused = false;
    bool throttling_reported = false;
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
