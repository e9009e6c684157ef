// SPDX-License-Identifier: Apache-2.0
//
// Ranges of processes' own memory that were pinned for copies.
// Owns: which, by process. Does not own: whether a range can be pinned (requests/pins.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 8.9
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// By process, whatever device or lane they came through. Two pins may share a page but no byte.
/// Not thread-safe.
class Pins {
public:
    /// False when the range shares a byte with one that is pinned. Requires: size is not 0.
    bool pin(std::int32_t pid, std::uint64_t va, std::uint64_t size) {
        auto it = pins_.lower_bound({pid, va});
        if (it != pins_.end() && it->first.first == pid && it->first.second - va < size)
            return false;
        if (it != pins_.begin()) {
            const auto& [where, held] = *std::prev(it);
            if (where.first == pid && va - where.second < held) return false;
        }
        pins_.emplace_hint(it, std::pair{pid, va}, size);
        return true;
    }

    /// False when no pin starts exactly there.
    bool unpin(std::int32_t pid, std::uint64_t va) { return pins_.erase({pid, va}) != 0; }

    void drop_process(std::int32_t pid) {
        pins_.erase(pins_.lower_bound({pid, 0}), pins_.upper_bound({pid, kLast}));
    }

    [[nodiscard]] std::size_t count() const { return pins_.size(); }

private:
    static constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
    std::map<std::pair<std::int32_t, std::uint64_t>, std::uint64_t> pins_; ///< bytes
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
