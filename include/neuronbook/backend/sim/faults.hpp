// SPDX-License-Identifier: Apache-2.0
//
// What can be wrong with a simulated device.
// Owns: the switches. Does not own: what each of them leads to (requests/, lifecycle.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md (measured: parts 5 and 6)
#pragma once

#include <cstdint>
#include <optional>

#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {

/// Faults of one device's hardware and of its host, as the driver meets them. All off by default.
struct SimFaults {
    /// Engines never finish a copy; every one times out.
    bool copies_hang = false;
    /// The firmware never acknowledges a reset, so it fails when its retry window is over.
    bool resets_hang = false;
    /// The reset at load is acknowledged and the device never gets ready; it cannot be opened.
    /// Looked at once, when the kernel starts.
    bool never_ready = false;
    /// The firmware refuses every request but resets.
    bool firmware_refuses = false;
    /// The device left the bus: its registers read as all ones and keep nothing, its firmware is
    /// silent, a reset fails when its window is over. The driver does not look, so the node stays
    /// and can be opened, and memory is allocated as ever.
    bool gone = false;
    /// The n-th allocation from when this is set finds no memory, the first being 1; once.
    std::optional<std::uint64_t> failing_allocation{};
    /// Largest physically contiguous piece the host has; what is larger finds no memory but for
    /// the reserved pools. A stock kernel has pieces of 4 MiB.
    Bytes largest_host_piece{std::uint64_t{4} << 20};
};

} // namespace v0
} // namespace neuronbook
