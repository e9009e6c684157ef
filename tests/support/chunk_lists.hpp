// SPDX-License-Identifier: Apache-2.0
// Lists of chunks as a driver would give them, built from sizes and holes.
#pragma once

#include <cstdint>
#include <vector>

#include "neuronbook/backend/driver.hpp"

namespace neuronbook::test {

/// The list of an HBM whose base is given, with its carve-out; chunks are added upwards.
class ChunkList {
public:
    explicit ChunkList(std::uint64_t base = 0) : at_(base + 16777216) {
        records.push_back({DeviceAddress{base}, Bytes{16777216}, 13});
    }
    ChunkList& held(std::uint64_t size, std::uint32_t category = 9) {
        records.push_back({DeviceAddress{at_}, Bytes{size}, category});
        at_ += size;
        return *this;
    }
    ChunkList& hole(std::uint64_t size) {
        at_ += size;
        return *this;
    }
    /// Goes on at an address.
    ChunkList& at(std::uint64_t address) {
        at_ = address;
        return *this;
    }

    std::vector<ChunkRecord> records;

private:
    std::uint64_t at_;
};

inline constexpr std::uint64_t kMiB = 1048576;
inline constexpr std::uint64_t kGiB = 1073741824;

} // namespace neuronbook::test
