// SPDX-License-Identifier: Apache-2.0
//
// What a test wants to know afterwards: requests that no driver serves, the moments a real kernel
// would have come down, and the kernel's log.
// Owns: the texts. Does not own: what is answered in those cases.
// Layer: backend (simulated kernel).   Source: driver-abi.md 2.1, 2.3, 7.1
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// Different texts in the order they first came, at most kMost of them. Not thread-safe.
class Notes {
public:
    static constexpr std::size_t kMost = 1000;

    void add(std::string text) {
        if (texts_.size() < kMost && std::find(texts_.begin(), texts_.end(), text) == texts_.end())
            texts_.push_back(std::move(text));
    }

    [[nodiscard]] const std::vector<std::string>& texts() const { return texts_; }

private:
    std::vector<std::string> texts_;
};

/// Lines in the order they came, the newest kMost of them. Not thread-safe.
class LogLines {
public:
    static constexpr std::size_t kMost = 1000;

    void add(std::string line) {
        if (lines_.size() == kMost) lines_.pop_front();
        lines_.push_back(std::move(line));
    }

    [[nodiscard]] std::vector<std::string> lines() const { return {lines_.begin(), lines_.end()}; }

private:
    std::deque<std::string> lines_;
};

struct Journal {
    LogLines log;
    Notes unknown;
    Notes crashes;

    /// A request word that no row of the driver's table serves.
    void note_unknown(std::uint32_t word) {
        constexpr std::string_view kDigits = "0123456789abcdef";
        std::string text = "0x";
        for (int shift = 28; shift >= 0; shift -= 4) text += kDigits[word >> shift & 0xFu];
        unknown.add(std::move(text));
    }

    /// A request that the lane of its file does not serve.
    void note_wrong_lane(std::string_view name) {
        unknown.add(std::string{name} + " on the free-access lane");
    }
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
