// SPDX-License-Identifier: Apache-2.0
//
// One allocation of the driver, and the table of all of a device.
// Owns: what is known about a chunk. Does not own: its pages (pool.hpp) or its number
// (handle_table.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 6.3, 7
#pragma once

#include <cstdint>
#include <vector>

#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// How long a chunk lives (the driver's numbers).
enum class Lifetime : std::uint8_t { Call = 1, Process = 2, AllProcesses = 3, Device = 4 };

/// Where a chunk's pages come from.
enum class PoolKind : std::uint8_t { Main, Small, Host };

/// Category 19, which has rules of its own (7.1).
inline constexpr auto kContiguousScratchpad =
    static_cast<std::uint32_t>(uapi::MemCategory::ContiguousScratchpadDevice);

struct Chunk {
    static constexpr std::uint32_t kNone = 0xFFFFFFFFu;

    std::uint64_t pa = 0;
    std::uint64_t size = 0;     ///< bytes, whole pages
    std::uint64_t reach = 0;    ///< bytes from pa that copies and maps may touch; size, but for
                                ///< a scratchpad: then up to the main pool's end
    std::uint32_t category = 0; ///< as asked for, not validated
    std::uint32_t core = 0;     ///< charged to this core
    std::uint32_t hbm = 0;      ///< no meaning for host memory
    std::uint32_t handle = 0;   ///< 0: none yet
    std::uint32_t segment = 0;  ///< in its pool
    std::uint32_t slot = kNone; ///< attach slot of the owner
    std::int32_t pid = 0;       ///< owner; 0: the driver
    std::uint32_t previous = kNone, next = kNone; ///< the owner's other chunks, oldest first
    PoolKind pool = PoolKind::Main;
    Lifetime lifetime = Lifetime::Process;
    bool kept = false; ///< the driver has its index in a table of its own

    [[nodiscard]] bool on_host() const { return pool == PoolKind::Host; }
    [[nodiscard]] bool is_scratchpad() const {
        return !on_host() && category == kContiguousScratchpad;
    }
    /// That category on the host: the driver looks for a pool that is not there when it checks
    /// bounds, maps or frees (7.1).
    [[nodiscard]] bool without_pool() const {
        return on_host() && category == kContiguousScratchpad;
    }
};

/// Chunks by index; an index is reused after remove(). Not thread-safe.
class ChunkTable {
public:
    std::uint32_t add() {
        if (spare_.empty()) {
            chunks_.emplace_back();
            return static_cast<std::uint32_t>(chunks_.size() - 1);
        }
        const auto index = spare_.back();
        spare_.pop_back();
        return index;
    }

    void remove(std::uint32_t index) {
        chunks_[index] = Chunk{};
        spare_.push_back(index);
    }

    [[nodiscard]] Chunk& operator[](std::uint32_t index) { return chunks_[index]; }
    [[nodiscard]] const Chunk& operator[](std::uint32_t index) const { return chunks_[index]; }

private:
    std::vector<Chunk> chunks_;
    std::vector<std::uint32_t> spare_;
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
