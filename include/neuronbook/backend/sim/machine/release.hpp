// SPDX-License-Identifier: Apache-2.0
//
// Driver releases the model knows.
// Owns: their order. Does not own: what differs between them.
// Layer: backend (simulated kernel).   Source: driver-abi.md 14
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// Oldest first, so that they compare.
enum class Release : std::uint8_t { V2_24_7, V2_26_5, V2_30_2 };

struct KnownRelease {
    std::string_view version;
    Release release;
};

inline constexpr std::array kReleases{KnownRelease{"2.24.7.0", Release::V2_24_7},
                                      KnownRelease{"2.26.5.0", Release::V2_26_5},
                                      KnownRelease{"2.30.2.0", Release::V2_30_2}};

/// The row of a version, whose last number may be left out, or null.
[[nodiscard]] constexpr const KnownRelease* release_named(std::string_view text) {
    for (const auto& known : kReleases)
        if (text == known.version || text == known.version.substr(0, 6)) return &known;
    return nullptr;
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
