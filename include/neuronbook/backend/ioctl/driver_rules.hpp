// SPDX-License-Identifier: Apache-2.0
//
// What is refused before any call, with the value and the rule.
// Owns: the checks of arguments. Does not own: what the kernel refuses by itself.
// Layer: backend.   Source: driver-abi.md 5.6, 7, 9, 15; tables.md 22
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/backend/ioctl/driver_abilities.hpp"
#include "neuronbook/backend/ioctl/releases.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

[[nodiscard]] inline Error no_device(Operation operation, HostDeviceId device) {
    return {.status = Status::Invalid,
            .operation = operation,
            .detail = Detail::DeviceOutOfRange,
            .device = static_cast<std::int32_t>(device.value()),
            .value = device.value(),
            .limit = kMaxHostDevices};
}

/// A range of user cores, on a discovery lane opened through node `lowest`.
[[nodiscard]] inline Result<void> check_cores(const Geometry& geometry, HostDeviceId lowest,
                                              UserCore first, std::uint32_t count,
                                              Operation operation) {
    const std::uint64_t begin = std::uint64_t{lowest.value()} * geometry.cores;
    const std::uint64_t end = std::uint64_t{kMaxHostDevices} * geometry.cores;
    if (count != 0 && first.value() >= begin && std::uint64_t{first.value()} + count <= end)
        return {};
    return fail({.status = Status::Invalid,
                 .operation = operation,
                 .detail = Detail::CoreRangeInvalid,
                 .value = first.value(),
                 .limit = end,
                 .asked = count});
}

/// What this driver cannot do, and says so as a plain failure: aligned chunks without that form,
/// and the contiguous scratchpad where its category would be one like any other.
[[nodiscard]] inline Result<void> check_form(const DriverFacts& facts, const ChunkRequest& ask) {
    const auto can = abilities_of(facts);
    const auto missing = [&](std::string_view what, std::uint64_t value) {
        return fail({.operation = Operation::Allocate,
                     .detail = Detail::NotOnThisDriver,
                     .value = value,
                     .asked = ask.size.count(),
                     .text = what});
    };
    if (ask.alignment > kPage && !can.aligned_allocation.available)
        return missing("aligned allocation", ask.alignment.count());
    if (ask.category == kScratchpadCategory && !can.contiguous_scratchpad.available)
        return missing("a contiguous scratchpad", ask.category);
    return {};
}

/// The driver checks the rounded size, and on 2.24 a sum that may have wrapped.
[[nodiscard]] inline Result<void> check_copy(const Chunk& chunk, Bytes offset, const void* buffer,
                                             std::size_t size) {
    Error error{.status = Status::Invalid, .operation = Operation::Copy};
    error.value = offset.count();
    error.asked = size;
    error.limit = chunk.size.count();
    if (!contains(chunk.size, offset, Bytes{size})) error.detail = Detail::OutOfBounds;
    if (size != 0 && !buffer) error.detail = Detail::NullPointer;
    if (error.detail == Detail::None) return {};
    return fail(error);
}

/// A range of a chunk that the engine alone touches.
[[nodiscard]] inline Result<void> check_range(const Chunk& chunk, Bytes offset, Bytes size) {
    if (contains(chunk.size, offset, size)) return {};
    return fail({.status = Status::Invalid,
                 .operation = Operation::Copy,
                 .detail = Detail::OutOfBounds,
                 .value = offset.count(),
                 .limit = chunk.size.count(),
                 .asked = size.count()});
}

/// Up to 2.28 the BAR window of a chunk that touches the end of its HBM is computed wrongly and the
/// mapping shows other memory.
[[nodiscard]] inline Result<void> check_mappable(const Geometry& geometry,
                                                 const DriverVersion& version, const Chunk& chunk) {
    if (auto there = check_hbm(geometry, chunk.hbm, Operation::Map); !there) return there;
    if (chunk.location == MemoryLocation::Host || version >= kHbmEndMappableSince) return {};
    const std::uint64_t end = geometry.hbm_base[chunk.hbm].value() + geometry.hbm_size.count();
    if (chunk.address.value() + chunk.size.count() < end) return {};
    return fail({.status = Status::Invalid,
                 .operation = Operation::Map,
                 .detail = Detail::TopOfHbmNotMappable,
                 .hbm = static_cast<std::int32_t>(chunk.hbm),
                 .value = chunk.address.value(),
                 .limit = end});
}

} // namespace detail
} // namespace v0
} // namespace neuronbook
