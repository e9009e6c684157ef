// SPDX-License-Identifier: Apache-2.0
//
// What to allocate, and the rules that hold before any driver is asked.
// Owns: the request, its translation into the driver's terms. Does not own: allocation.
// Layer: dmem.   libnrt: dmem_alloc_aligned. Source: tables.md 7, 15, 22
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/architecture.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/usage.hpp"

namespace neuronbook {
inline namespace v0 {

/// What to allocate.
struct AllocationRequest {
    Bytes size{}; ///< at least 1; the driver rounds up to whole pages
    Usage usage = Usage::Generic;
    MemoryLocation location = MemoryLocation::Device;
    /// Device memory only; the one next to the core unless given.
    std::optional<std::uint32_t> hbm{};
    /// 0 or a power of two up to kMaxAlignment; up to a page it is met anyway. Above a page for
    /// device memory only: the driver aligns no host memory.
    Bytes alignment{};
    /// For reports and the log, a name or the place of the call; copied, and cut after 47
    /// characters.
    std::string_view hint{};
};

namespace detail {

/// Effects: `ask` is the request in the driver's terms.
/// Errors: INVALID with ZeroSize, BadAlignment, HbmOutOfRange, UsageInvalid or UsageNotHere;
/// RESOURCE with LargerThanHbm (asked and limit); FAIL_HOST_MEM_ALLOC for host memory past 2^63.
[[nodiscard, gnu::always_inline]] inline Result<void> translate(const Geometry& geometry,
                                                                CoreIndex core,
                                                                const AllocationRequest& request,
                                                                ChunkRequest& ask) {
    const bool host = request.location == MemoryLocation::Host;
    const auto category = category_of(request.usage, request.location);
    if (!category) return fail(category.error());
    ask.size = request.size;
    ask.alignment = request.alignment;
    ask.location = request.location;
    ask.hbm = host ? 0 : request.hbm ? *request.hbm : geometry.default_hbm(core);
    ask.core = core;
    ask.category = *category;
    return check_request(geometry, ask);
}

/// Smallest offset to an aligned address at or after `address`. Requires: a power of two, or 0.
[[nodiscard]] constexpr std::uint64_t align_offset(DeviceAddress address,
                                                   Bytes alignment) noexcept {
    return alignment.count() == 0 ? 0 : (~address.value() + 1) & (alignment.count() - 1);
}

} // namespace detail
} // namespace v0
} // namespace neuronbook
