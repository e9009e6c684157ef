// SPDX-License-Identifier: Apache-2.0
//
// The processes attached to one device.
// Owns: the 16 slots and how often each process opened the device. Does not own: open files.
// Layer: backend (simulated kernel).   Source: driver-abi.md 2.2, 2.4
#pragma once

#include <algorithm>
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
    /// Bytes that were allocated less those that were freed while it asked. What another process
    /// freed for it stays counted, also for whoever has the slot next.
    std::uint64_t host_bytes = 0;
    std::uint64_t device_bytes = 0;
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
    void detach(std::uint32_t index) {
        auto& slot = slots_[index];
        const auto host = slot.host_bytes;
        const auto device = slot.device_bytes;
        slot = AttachSlot{};
        slot.host_bytes = host;
        slot.device_bytes = device;
    }

    /// Counts bytes for whoever asks; nobody when that one is not attached.
    void charge(std::uint32_t index, bool on_host, std::uint64_t bytes) {
        if (index != kNone) bytes_of(index, on_host) += bytes;
    }
    /// Never below zero.
    void credit(std::uint32_t index, bool on_host, std::uint64_t bytes) {
        if (index == kNone) return;
        auto& held = bytes_of(index, on_host);
        held -= std::min(held, bytes);
    }

    [[nodiscard]] AttachSlot& operator[](std::uint32_t index) { return slots_[index]; }

    [[nodiscard]] std::size_t attached() const {
        std::size_t count = 0;
        for (const auto& slot : slots_) count += slot.open_count != 0;
        return count;
    }

private:
    std::uint64_t& bytes_of(std::uint32_t index, bool on_host) {
        return on_host ? slots_[index].host_bytes : slots_[index].device_bytes;
    }

    std::array<AttachSlot, uapi::kMaxProcessPerDevice> slots_{};
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
