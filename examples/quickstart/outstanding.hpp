// SPDX-License-Identifier: Apache-2.0
// What is still held, asked of two books that know nothing of each other: the runtime's ledgers
// and the driver's own list of chunks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "neuronbook/neuronbook.hpp"

namespace quickstart {

namespace nb = neuronbook;

/// A block as the driver lists it; still known when the block is gone.
struct OwnChunk {
    nb::HostDeviceId device{};
    std::uint32_t hbm = 0;
    nb::DeviceAddress address{};
    nb::Bytes size{};
};

inline OwnChunk remember(const nb::Block& block) {
    return {block.device(), block.hbm(), block.address(), block.charged()};
}

struct Holding {
    std::uint64_t booked = 0; ///< bytes in the runtime's ledgers, all cores
    std::uint64_t listed = 0; ///< bytes of our chunks that the driver lists

    [[nodiscard]] std::uint64_t most() const { return std::max(booked, listed); }
};

/// Both books. Of the driver's list, which has the chunks of every process, only those count that
/// lie where a chunk of ours does or did and are of its size.
template <class Runtime>
nb::Result<Holding> holding(Runtime& runtime, std::span<const OwnChunk> own) {
    Holding held;
    runtime.tree().for_each_core([&](const auto& core) {
        if (const auto memory = runtime.memory(core.id())) held.booked += memory->used.count();
    });
    for (const OwnChunk& mine : own) {
        const auto chunks = runtime.driver().chunks(mine.device, mine.hbm);
        if (!chunks) return nb::fail(chunks.error());
        for (const auto& chunk : *chunks)
            if (chunk.address == mine.address && chunk.size == mine.size)
                held.listed += chunk.size.count();
    }
    return held;
}

} // namespace quickstart
