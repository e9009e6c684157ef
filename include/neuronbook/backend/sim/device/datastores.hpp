// SPDX-License-Identifier: Apache-2.0
//
// The datastores of one device: pages in which processes publish counters.
// Owns: whose each of them is. Does not own: the chunks they lie in, or what is written there.
// Layer: backend (simulated kernel).   Source: driver-abi.md 2.4, 12, 13
#pragma once

#include <array>
#include <cstdint>

#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// Sixteen entries, allocated when the driver loads. A free one is taken in the order in which they
/// were given back, those that nobody had yet first. Not thread-safe.
class Datastores {
public:
    static constexpr std::uint32_t kCount = uapi::kMaxProcessPerDevice;
    static constexpr std::uint64_t kSize = 262144;

    struct Entry {
        std::int32_t pid = 0;      ///< 0: free
        std::uint64_t cleared = 0; ///< when it was last given back; 0: nobody had it yet
        std::uint64_t pa = 0;      ///< 0: the host had no memory for it
    };

    /// At load. Requires: fewer than kCount so far.
    void add(std::uint64_t pa) { entries_[size_++].pa = pa; }

    /// The entry of a process, or null.
    [[nodiscard]] Entry* find(std::int32_t pid) {
        for (auto& entry : entries_)
            if (pid != 0 && entry.pid == pid) return &entry;
        return nullptr;
    }

    /// A free entry, now this process's, or null.
    Entry* take(std::int32_t pid) {
        Entry* found = nullptr;
        for (auto& entry : entries_)
            if (entry.pid == 0 && entry.pa != 0 &&
                (found == nullptr || entry.cleared < found->cleared))
                found = &entry;
        if (found != nullptr) found->pid = pid;
        return found;
    }

    /// Gives an entry back; `wipe(pa, size)` makes its pages zero.
    template <class Wipe>
    void release(Entry& entry, Wipe wipe) {
        entry.pid = 0;
        entry.cleared = ++releases_;
        wipe(entry.pa, kSize);
    }

    /// Every entry that somebody has.
    template <class Wipe>
    void release_all(Wipe wipe) {
        for (auto& entry : entries_)
            if (entry.pid != 0) release(entry, wipe);
    }

    /// The entries by number, for whoever reads the counters in them.
    [[nodiscard]] const std::array<Entry, kCount>& entries() const { return entries_; }

private:
    std::array<Entry, kCount> entries_{};
    std::uint32_t size_ = 0;
    std::uint64_t releases_ = 0;
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
