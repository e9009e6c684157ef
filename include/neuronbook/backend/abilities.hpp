// SPDX-License-Identifier: Apache-2.0
//
// Optional abilities of a kernel driver: what it can do here, shared memory, its own counters.
// Owns: the data and one concept per ability. Does not own: how a driver does it (ioctl/).
// Layer: backend; part of driver.hpp.   Source: driver-abi.md 4.2, 9.1, 11
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "neuronbook/backend/chunk.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {

/// Whether something can be done, and why not. `reason` is static text, empty when it can.
struct Ability {
    bool available = false;
    std::string_view reason{};
};

/// What this driver on this machine can do. An ability that is not available is refused by the
/// operation itself, too, with Detail::NotOnThisDriver or NotOnThisArchitecture.
struct Abilities {
    Ability dmabuf{};                ///< ShareOps
    Ability zero_copy{};             ///< copies by pinned pages, of any size and in both directions
    Ability chunks_above_4gib{};     ///< bytes of a chunk beyond 4 GiB can be copied
    Ability asynchronous_copy{};     ///< AsyncCopyOps
    Ability aligned_allocation{};    ///< ChunkRequest::alignment above a page
    Ability contiguous_scratchpad{}; ///< category kScratchpadCategory
    Ability allocation_with_address{}; ///< an allocation takes one call, not two
};

/// Tells what the driver can do. No call is made: feature word, version and architecture decide.
/// - `abilities()`: before connect() and in a forked child nothing is available.
template <class D>
concept AbilityOps = requires(const D& view) {
    { view.abilities() } noexcept -> std::same_as<Abilities>;
};

/// Exports mapped device memory as a dma-buf, for another driver's hardware.
/// - `share(device, address, size)`: address is where map() put a chunk, plus an offset; both are
///   whole pages, and the range lies in that one mapping: shared_pages() makes such a range. The
///   descriptor is the caller's, close-on-exec.
/// - `close_shared(descriptor)`: closes it.
/// The mapping must last as long as the descriptor and its importers.
template <class D>
concept ShareOps =
    requires(D driver, HostDeviceId device, const void* address, Bytes size, int descriptor) {
        { driver.share(device, address, size) } -> std::same_as<Result<int>>;
        { driver.close_shared(descriptor) } -> std::same_as<Result<void>>;
    };

/// One of the driver's own counters: the chunks of every process, page-rounded.
struct MemoryCounter {
    std::optional<CoreIndex> core{}; ///< nothing where the driver counts by device
    MemoryLocation location = MemoryLocation::Device;
    std::uint32_t category = 0; ///< mem_alloc_category; 19 counts with 11
    Bytes now{};
    Bytes peak{};
};

/// Reads the driver's counters: device memory by core, host memory by device.
/// - `memory_counters(device)`: what cannot be read is absent, never 0.
template <class D>
concept CounterOps = requires(D driver, HostDeviceId device) {
    { driver.memory_counters(device) } -> std::same_as<Result<std::vector<MemoryCounter>>>;
};

/// Whole pages of a chunk, and where in the first of them what was asked for begins.
struct SharedPages {
    Bytes offset{};    ///< of the first page, in the chunk
    Bytes size{};      ///< of the pages
    Bytes into_page{}; ///< below a page
};

/// The pages around any range of a chunk: what share() takes, with the offset that a dma-buf itself
/// cannot tell. Returns: offset + into_page is the offset asked. Errors: INVALID with ZeroSize, or
/// OutOfBounds for a range that is not in the chunk.
[[nodiscard]] inline Result<SharedPages> shared_pages(Bytes chunk, Bytes offset, Bytes size) {
    Error error{.status = Status::Invalid, .operation = Operation::Share};
    error.value = offset.count();
    error.limit = chunk.count();
    error.asked = size.count();
    error.detail = size == Bytes{0} ? Detail::ZeroSize : Detail::OutOfBounds;
    if (size == Bytes{0} || !contains(chunk, offset, size)) return fail(error);
    const Bytes into{offset.count() % kPage.count()};
    const auto pages = whole_pages(Bytes{into.count() + size.count()});
    const Bytes start{offset.count() - into.count()};
    // A chunk has whole pages, unless somebody made it up.
    if (!pages || !contains(chunk, start, *pages)) {
        error.detail = Detail::OutOfBounds;
        return fail(error);
    }
    return SharedPages{start, *pages, into};
}

} // namespace v0
} // namespace neuronbook
