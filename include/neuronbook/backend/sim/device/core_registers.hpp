// SPDX-License-Identifier: Apache-2.0
//
// What one core keeps between requests: how far its initialisation is, semaphores and events.
// Owns: the values. Does not own: which requests may touch them (requests/).
// Layer: backend (simulated kernel).   Source: driver-abi.md 1, 5.8, 12 (measured)
#pragma once

#include <array>
#include <cstdint>

#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// Not thread-safe. A core reset leaves semaphores and events alone, as far as the driver goes.
struct CoreRegisters {
    static constexpr std::uint32_t kSemaphores = 256;
    static constexpr std::uint32_t kEvents = 256;

    uapi::CinitState initialisation = uapi::CinitState::Invalid;
    std::uint64_t models_started = 0; ///< nothing raises it from the second generation on
    std::array<std::uint32_t, kSemaphores> semaphores{};
    /// One more than there are: the driver's bound lets the word after the last one through.
    std::array<std::uint32_t, kEvents + 1> events{};

    /// What a core reset does at once.
    void reset() {
        initialisation = uapi::CinitState::Invalid;
        models_started = 0;
    }
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
