// SPDX-License-Identifier: Apache-2.0
//
// What a simulated kernel holds at one moment, to be compared with another moment.
// Layer: backend (simulated kernel).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {

/// One chunk, as a test looks at it.
struct ChunkView {
    std::uint64_t pa = 0;
    Bytes size;
    std::uint32_t category = 0;
    std::uint32_t core = 0;
    std::int32_t pid = 0;     ///< owner; 0: the driver
    std::uint32_t handle = 0; ///< 0: none

    friend bool operator==(const ChunkView&, const ChunkView&) = default;
};

/// Chunks of processes; the driver's own are not counted.
struct Holdings {
    std::size_t chunks = 0;
    std::uint64_t bytes = 0;

    friend bool operator==(const Holdings&, const Holdings&) = default;
};

struct DeviceCensus {
    std::vector<Holdings> hbms;
    Holdings host;
    std::size_t attached = 0; ///< processes
    std::size_t handles = 0;  ///< live numbers

    friend bool operator==(const DeviceCensus&, const DeviceCensus&) = default;
};

/// Compare with == against the census taken before: nothing may be left behind.
struct Census {
    std::vector<DeviceCensus> devices;
    std::size_t marks = 0; ///< core slots held
    std::size_t open_files = 0;

    friend bool operator==(const Census&, const Census&) = default;

    /// Chunks of processes on all devices, host memory included.
    [[nodiscard]] Holdings user_memory() const {
        Holdings sum;
        const auto add = [&sum](const Holdings& part) {
            sum.chunks += part.chunks;
            sum.bytes += part.bytes;
        };
        for (const auto& device : devices) {
            for (const auto& hbm : device.hbms) add(hbm);
            add(device.host);
        }
        return sum;
    }
};

} // namespace v0
} // namespace neuronbook
