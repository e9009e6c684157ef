// SPDX-License-Identifier: Apache-2.0
//
// The host-wide map of claimed cores.
// Owns: 512 slots and the scan. Does not own: who may claim (nobody is stopped), request forms.
// Layer: backend (simulated kernel).   Source: driver-abi.md 5.6 (measured)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "neuronbook/backend/uapi.hpp"
#include "neuronbook/base/architecture.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// What a scan found.
struct MarkResult {
    bool found = false;
    std::uint32_t first = 0;   ///< first slot of the run
    std::uint32_t longest = 0; ///< longest run that was too short
};

/// One slot per core of each device that a host can have; its value is the process that marked it,
/// 0 for none. Marks are advisory and do not check that a core exists. Not thread-safe.
class CoreMarks {
public:
    static constexpr std::uint32_t kSlots = kMaxHostDevices * kMaxCoresPerDevice;
    static_assert(kSlots == uapi::kCoreSlots);

    /// Marks the first run of `count` free slots of [first, last] for a process. The scan is the
    /// driver's: when a run that had begun meets a taken slot, it goes on two slots later, so a run
    /// right behind the taken one is missed. A count of 0 needs one free slot and marks nothing.
    /// Requires: first <= last < kSlots.
    MarkResult mark(std::int32_t pid, std::uint32_t count, std::uint32_t first,
                    std::uint32_t last) {
        MarkResult result;
        for (std::uint32_t i = first; i <= last; ++i) {
            if (owners_[i] != 0) continue;
            std::uint32_t run = 0;
            while (run < count && i + run <= last && owners_[i + run] == 0) ++run;
            if (run == count) {
                for (std::uint32_t k = 0; k < count; ++k) owners_[i + k] = pid;
                result.found = true;
                result.first = i;
                return result;
            }
            if (run > result.longest) result.longest = run;
            i += run + 1;
        }
        return result;
    }

    /// Frees a slot if it is this process's.
    void unmark(std::int32_t pid, std::uint32_t slot) {
        if (slot < kSlots && owners_[slot] == pid) owners_[slot] = 0;
    }

    /// Frees every slot of a process.
    void unmark_all(std::int32_t pid) {
        for (auto& owner : owners_)
            if (owner == pid) owner = 0;
    }

    /// The process that marked a slot, 0 for none.
    [[nodiscard]] std::int32_t owner(std::uint32_t slot) const { return owners_[slot]; }

    [[nodiscard]] std::size_t held() const {
        std::size_t count = 0;
        for (const auto owner : owners_) count += owner != 0;
        return count;
    }

private:
    std::array<std::int32_t, kSlots> owners_{};
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
