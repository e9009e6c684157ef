// SPDX-License-Identifier: Apache-2.0
//
// Memory handles of one device: small numbers that name chunks.
// Owns: which number names what. Does not own: the chunks (chunk.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 7.2 (measured)
#pragma once

#include <cstdint>
#include <vector>

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// Numbers from 1; a freed number is the next one given, else the next integer. A table that ran
/// out once stays down: nothing is found in it any more. Not thread-safe.
class HandleTable {
public:
    static constexpr std::uint32_t kNothing = 0xFFFFFFFFu;
    static constexpr std::uint32_t kMost = 4194302; ///< live handles, and the highest number

    /// A number for `what`, or 0 when there is none left.
    std::uint32_t add(std::uint32_t what) {
        if (down_) return 0;
        if (!freed_.empty()) {
            const auto handle = freed_.back();
            freed_.pop_back();
            named_[handle] = what;
            return handle;
        }
        if (named_.size() > kMost) {
            down_ = true;
            return 0;
        }
        named_.push_back(what);
        return static_cast<std::uint32_t>(named_.size() - 1);
    }

    /// Requires: `handle` is live.
    void remove(std::uint32_t handle) {
        named_[handle] = kNothing;
        freed_.push_back(handle);
    }

    /// What a number names, kNothing when it names nothing.
    [[nodiscard]] std::uint32_t find(std::uint64_t handle) const {
        if (down_ || handle >= named_.size()) return kNothing;
        return named_[handle];
    }

    [[nodiscard]] std::size_t live() const { return named_.size() - 1 - freed_.size(); }

private:
    std::vector<std::uint32_t> named_{kNothing};
    std::vector<std::uint32_t> freed_;
    bool down_ = false;
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
