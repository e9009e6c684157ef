// SPDX-License-Identifier: Apache-2.0
//
// Whether a range lies in a chunk, as each release computes it.
// Owns: the checks and their errnos. Does not own: the bytes (device_memory.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 7.2
#pragma once

#include <cerrno>
#include <cstdint>

#include "neuronbook/backend/sim/requests/call.hpp"
#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// 2.24 and 2.25 add without looking at overflow, so a sum that wraps passes. The bound is the size
/// rounded to pages.
[[nodiscard]] inline bool in_bounds(Call& call, const Chunk& chunk, std::uint64_t offset,
                                    std::uint64_t size) {
    if (chunk.without_pool())
        call.state.journal.crashes.add("bounds of a host chunk of category 19: no pool to check");
    if (!call.machine().at_least(Release::V2_26_5)) return offset + size <= chunk.reach;
    return contains(Bytes{chunk.reach}, Bytes{offset}, Bytes{size});
}

/// Answer to a handle that names nothing, in the requests whose errno changed with 2.29.
[[nodiscard]] inline std::int64_t bad_handle(const Call& call) {
    return call.machine().at_least(Release::V2_30_2) ? -ENOENT : -EINVAL;
}

/// Answer to a range outside the chunk, in the same requests.
[[nodiscard]] inline std::int64_t bad_range(const Call& call) {
    return call.machine().at_least(Release::V2_30_2) ? -E2BIG : -EINVAL;
}

/// Where a range lies that passed in_bounds(), or null when it left the chunk by a wrapped sum and
/// the device's memory with it; then the copy is done nowhere and that is noted. What a scrub left
/// there must be settled piece by piece, before a piece is touched.
[[nodiscard]] inline std::byte* place_of(Call& call, const Chunk& chunk, std::uint64_t offset,
                                         std::uint64_t size) {
    const bool wrapped = offset > chunk.reach;
    if (wrapped)
        call.state.journal.crashes.add("offset + size wraps and the copy misses its chunk");
    if (wrapped && chunk.on_host()) return nullptr;
    return call.device.memory.unsettled(chunk.pa + offset, size);
}

/// The same with all of it settled, for ranges that are touched as a whole.
[[nodiscard]] inline std::byte* bytes_of(Call& call, const Chunk& chunk, std::uint64_t offset,
                                         std::uint64_t size) {
    auto* bytes = place_of(call, chunk, offset, size);
    return bytes == nullptr ? nullptr : call.device.memory.at(chunk.pa + offset, size);
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
