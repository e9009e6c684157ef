// SPDX-License-Identifier: Apache-2.0
//
// Scrubs of one device's HBMs that were started and not yet waited for.
// Owns: the chunks each of them holds. Does not own: the bytes it overwrites.
// Layer: backend (simulated kernel).   Source: driver-abi.md 8.10
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "neuronbook/base/architecture.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// Not thread-safe.
struct Scrub {
    std::vector<std::uint32_t> chunks{}; ///< empty: nothing was started
    bool freed = false;                  ///< some of them went with their process
};

/// One a memory; a second start forgets what the first one holds.
class Scrubs {
public:
    [[nodiscard]] Scrub& operator[](std::uint32_t hbm) { return scrubs_[hbm]; }

    /// A chunk that was freed behind a scrub's back.
    void chunk_freed(std::uint32_t chunk) {
        for (auto& scrub : scrubs_)
            scrub.freed = scrub.freed || std::find(scrub.chunks.begin(), scrub.chunks.end(),
                                                   chunk) != scrub.chunks.end();
    }

private:
    std::array<Scrub, kMaxHbm> scrubs_{};
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
