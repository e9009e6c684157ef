// SPDX-License-Identifier: Apache-2.0
//
// Bytes that tell where they belong, and chunks to put them in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "neuronbook/backend/driver.hpp"
#include "support/catch.hpp"

namespace neuronbook::test {

/// No period that is a power of two, so that a chunk in the wrong place shows.
inline std::vector<std::byte> pattern(std::size_t size, std::size_t seed = 0) {
    std::vector<std::byte> made(size);
    std::uint32_t state = static_cast<std::uint32_t>(seed) * 2654435761u + 1;
    for (auto& byte : made) {
        state = state * 1664525u + 1013904223u;
        byte = static_cast<std::byte>(state >> 24);
    }
    return made;
}

/// How many bytes from the start are equal.
inline std::size_t equal_from_start(const std::vector<std::byte>& a,
                                    const std::vector<std::byte>& b, std::size_t from = 0) {
    std::size_t i = 0;
    while (i < b.size() && a[from + i] == b[i]) ++i;
    return i;
}

template <class D>
Chunk chunk_of(D& driver, std::uint64_t size, std::uint32_t hbm = 0,
               MemoryLocation location = MemoryLocation::Device, std::uint32_t device = 0,
               std::uint32_t core = 0) {
    auto made = driver.allocate(HostDeviceId{device},
                                {.size = Bytes{size},
                                 .location = location,
                                 .hbm = hbm,
                                 .core = CoreIndex{core},
                                 .category = location == MemoryLocation::Host ? 4u : 12u});
    REQUIRE(made);
    return *made;
}

/// The whole chunk, read by the driver's plain copy.
template <class D>
std::vector<std::byte> contents(D& driver, const Chunk& chunk, std::uint32_t device = 0) {
    std::vector<std::byte> bytes(chunk.size.count());
    REQUIRE(driver.read(HostDeviceId{device}, chunk, Bytes{0}, bytes));
    return bytes;
}

} // namespace neuronbook::test
