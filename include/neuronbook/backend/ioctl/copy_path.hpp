// SPDX-License-Identifier: Apache-2.0
//
// By which request bytes go between a buffer and a chunk.
// Owns: the choice, from facts alone. Does not own: the requests (transfer_requests.hpp).
// Layer: backend.   Source: driver-abi.md 4.2, 8.4, 8.5, 8.7
#pragma once

#include <cstdint>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/backend/ioctl/releases.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// Through the driver's bounce buffer, with 32-bit or 64-bit ranges, or by the engine from and to
/// the caller's own pages, in the shape of 2.25 or of 2.29.
enum class CopyPath : std::uint8_t { Bounce32, Bounce64, Pinned48, Pinned64 };

/// Up to here the bounce buffer of 64 KiB takes all in one round: one engine run either way, and
/// copying that little costs no more than pinning its pages.
inline constexpr Bytes kBounceOnly{65536};

/// Whether engines can use the caller's pages. The feature bit is set on the second generation,
/// too, where they are refused unless the module was told otherwise, which the bit of 2.29 tells.
[[nodiscard]] inline bool can_pin(const DriverFacts& facts) noexcept {
    const bool works = facts.architecture == Architecture::Cayman ||
                       facts.architecture == Architecture::Mariana ||
                       (facts.features & uapi::kFeatureAsyncRw) != 0;
    return works && (facts.features & uapi::kFeatureZerocopy) != 0 &&
           (facts.features & uapi::kFeatureMemAlloc64) != 0 && facts.version >= kZeroCopySince;
}

[[nodiscard]] inline CopyPath bounce_path(const DriverFacts& facts) noexcept {
    return facts.features & uapi::kFeatureMemAlloc64 ? CopyPath::Bounce64 : CopyPath::Bounce32;
}

/// Host chunks are copied by the processor without an engine, which nothing beats.
[[nodiscard]] inline CopyPath copy_path(const DriverFacts& facts, MemoryLocation location,
                                        Bytes size) noexcept {
    if (location == MemoryLocation::Host || size <= kBounceOnly || !can_pin(facts))
        return bounce_path(facts);
    return facts.version >= kNumberedCopiesSince ? CopyPath::Pinned64 : CopyPath::Pinned48;
}

} // namespace detail
} // namespace v0
} // namespace neuronbook
