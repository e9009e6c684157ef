// SPDX-License-Identifier: Apache-2.0
//
// What a simulated kernel holds at one moment, to be compared with another moment.
// Owns: the figures and how they are taken. Does not own: what is counted (state.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 7.3, for the order of chunks
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "neuronbook/backend/sim/state.hpp"
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
    std::size_t exported = 0; ///< dma-bufs of mappings that are still recorded; others are revoked
    std::size_t pins = 0;     ///< ranges of processes' own memory

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

namespace sim {

/// The figures of this moment.
[[nodiscard]] inline Census take_census(const State& state) {
    Census census;
    census.marks = state.marks.held();
    census.open_files = state.files.open();
    for (const auto& record : state.mappings.records()) census.exported += record.exports.size();
    census.pins = state.pins.count();
    for (const auto& device : state.devices) {
        auto& row = census.devices.emplace_back();
        row.attached = device.slots.attached();
        row.handles = device.handles.live();
        const auto add_to = [&device](Holdings& sum) {
            return [&device, &sum](std::uint32_t index) {
                const auto& chunk = device.chunks[index];
                if (chunk.pid == 0) return;
                ++sum.chunks;
                sum.bytes += chunk.size;
            };
        };
        row.hbms.resize(device.hbms().size());
        for (std::uint32_t hbm = 0; hbm < row.hbms.size(); ++hbm)
            device.for_each(hbm, add_to(row.hbms[hbm]));
        device.for_each_host(add_to(row.host));
    }
    return census;
}

/// Every chunk of an HBM in address order, the driver's own included. Empty for what is not there.
[[nodiscard]] inline std::vector<ChunkView> list_chunks(const State& state, std::uint32_t number,
                                                        std::uint32_t hbm) {
    std::vector<ChunkView> views;
    if (number >= state.devices.size()) return views;
    const auto& device = state.devices[number];
    device.for_each(hbm, [&](std::uint32_t index) {
        const auto& chunk = device.chunks[index];
        views.push_back(
            {chunk.pa, Bytes{chunk.size}, chunk.category, chunk.core, chunk.pid, chunk.handle});
    });
    return views;
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
