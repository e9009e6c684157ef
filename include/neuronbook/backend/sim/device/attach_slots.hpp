// SPDX-License-Identifier: Apache-2.0
//
// The processes attached to one device.
// Owns: the 16 slots and how often each process opened the device. Does not own: open files.
// Layer: backend (simulated kernel).   Source: driver-abi.md 2.2, 2.4
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "neuronbook/backend/sim/memory/chunk.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// One attached process.
struct AttachSlot {
    std::int32_t pid = 0; ///< 0: the slot is free
    std::uint32_t open_count = 0;
    std::uint32_t oldest = Chunk::kNone; ///< its chunks on this device
    std::uint32_t newest = Chunk::kNone;
};

/// Not thread-safe.
class AttachSlots {
public:
    static constexpr std::uint32_t kNone = Chunk::kNone;

    /// The slot of a process, kNone when it is not attached.
    [[nodiscard]] std::uint32_t find(std::int32_t pid) const {
        for (std::uint32_t i = 0; i < slots_.size(); ++i)
            if (slots_[i].pid == pid && slots_[i].open_count != 0) return i;
        return kNone;
    }

    /// Counts one open of a process. False when every slot belongs to somebody else.
    bool attach(std::int32_t pid) {
        auto index = find(pid);
        for (std::uint32_t i = 0; index == kNone && i < slots_.size(); ++i)
            if (slots_[i].open_count == 0) index = i;
        if (index == kNone) return false;
        slots_[index].pid = pid;
        ++slots_[index].open_count;
        return true;
    }

    /// Frees a slot. Requires: its chunks are gone.
    void detach(std::uint32_t index) { slots_[index] = AttachSlot{}; }

    [[nodiscard]] AttachSlot& operator[](std::uint32_t index) { return slots_[index]; }

    [[nodiscard]] std::size_t attached() const {
        std::size_t count = 0;
        for (const auto& slot : slots_) count += slot.open_count != 0;
        return count;
    }

private:
    std::array<AttachSlot, uapi::kMaxProcessPerDevice> slots_{};
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
