// SPDX-License-Identifier: Apache-2.0
//
// What is free on an HBM and in which pieces, from the driver's own list of it.
// Owns: the layout of an HBM's two pools. Does not own: the list, or why something failed
// (diagnosis.hpp). Layer: dmem.   Source: driver-abi.md 6.1 and 7.1, tables.md 3 and 22
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/architecture.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/ledger_snapshot.hpp"

namespace neuronbook {
inline namespace v0 {

/// The top of each HBM, which small requests get first. The driver's parameter
/// mempool_small_pool_size; no request tells it, and this is its default.
inline constexpr Bytes kSmallPool{std::uint64_t{1} << 30};

/// A run of bytes that nobody holds, inside one pool.
struct FreeBlock {
    DeviceAddress address{};
    Bytes size{};

    /// What is left of it from the first address of that alignment on; 0 where there is none.
    [[nodiscard]] constexpr Bytes aligned(Bytes alignment) const noexcept {
        const std::uint64_t mask = alignment <= kPage ? 0 : alignment.count() - 1;
        const std::uint64_t skipped = (0 - address.value()) & mask;
        return Bytes{skipped < size.count() ? size.count() - skipped : 0};
    }
};

/// Figures of one pool.
struct PoolFigures {
    DeviceAddress begin{};
    DeviceAddress end{}; ///< behind the last byte
    Bytes used{};
    Bytes free{};
    Bytes largest{};          ///< free block; one allocation cannot have more
    std::uint64_t blocks = 0; ///< free ones
};

/// An HBM at one instant, as the driver lists it. Plain data; the carve-out is in no figure.
struct PoolView {
    HostDeviceId device{};
    std::uint32_t hbm = 0;
    PoolFigures main{};
    PoolFigures small{};
    Bytes ours{};   ///< what this runtime booked there, lost bytes included
    Bytes others{}; ///< what the list has beyond that: other processes', and the driver's own
    Bytes driver{}; ///< the driver's own part of `others`, category 13
    /// Booked here, but not in the list: 0 unless the list was read while something was freed.
    Bytes unlisted{};
    /// What the next page of contiguous scratchpad can have: it must end where the last one begins.
    Bytes scratchpad_room{};
    std::vector<FreeBlock> holes{};    ///< by address
    std::vector<ChunkRecord> chunks{}; ///< by address, without the carve-out

    [[nodiscard]] Bytes free() const noexcept {
        return Bytes{main.free.count() + small.free.count()};
    }
    [[nodiscard]] Bytes largest() const noexcept { return std::max(main.largest, small.largest); }
    [[nodiscard]] std::uint64_t blocks() const noexcept { return main.blocks + small.blocks; }
    /// The most that one allocation of this alignment could get, in either pool.
    [[nodiscard]] Bytes largest_at(Bytes alignment) const noexcept {
        Bytes most{};
        for (const FreeBlock& hole : holes) most = std::max(most, hole.aligned(alignment));
        return most;
    }
};

namespace detail {

/// NCDEV_DEVICE: what the driver allocates for itself.
inline constexpr std::uint32_t kDriverCategory = 13;

class PoolWalk {
public:
    PoolWalk(const Geometry& geometry, std::uint32_t hbm, Bytes small_pool, PoolView& view)
        : geometry_(geometry), base_(geometry.hbm_base[hbm].value()), view_(view),
          at_(base_ + kCarveOut.count()) {
        const std::uint64_t end = base_ + geometry.hbm_size.count();
        view.main = {.begin = DeviceAddress{at_}, .end = DeviceAddress{end - small_pool.count()}};
        view.small = {.begin = view.main.end, .end = DeviceAddress{end}};
    }

    Result<void> run(std::span<const ChunkRecord> sorted) {
        for (const ChunkRecord& chunk : sorted)
            if (auto taken = take(chunk); !taken) return taken;
        hole_until(view_.small.end.value());
        return {};
    }

private:
    Result<void> take(const ChunkRecord& chunk) {
        const std::uint64_t address = chunk.address.value(), size = chunk.size.count();
        const std::uint64_t offset = address - base_;
        if (address < base_ || size == 0 ||
            !contains(geometry_.hbm_size, Bytes{offset}, chunk.size))
            return odd(address, "a chunk of the driver's list does not lie on its HBM");
        if (contains(kCarveOut, Bytes{offset}, chunk.size)) return {};
        const std::uint64_t border = view_.main.end.value();
        if (address < at_) return odd(address, "two chunks of the driver's list overlap");
        if (address < border && address + size > border)
            return odd(address, "a chunk of the driver's list lies across the end of the main "
                                "pool: the driver has a small pool of another size");
        hole_until(address);
        auto& pool = address < border ? view_.main : view_.small;
        pool.used = Bytes{pool.used.count() + size};
        if (chunk.category == kDriverCategory) view_.driver = Bytes{view_.driver.count() + size};
        view_.chunks.push_back(chunk);
        at_ = address + size;
        return {};
    }

    /// No free block spans two pools.
    void hole_until(std::uint64_t end) {
        const std::uint64_t border = view_.main.end.value();
        if (at_ < border) add_hole(view_.main, at_, std::min(end, border));
        if (end > border) add_hole(view_.small, std::max(at_, border), end);
    }

    void add_hole(PoolFigures& pool, std::uint64_t begin, std::uint64_t end) {
        if (begin >= end) return;
        const Bytes size{end - begin};
        view_.holes.push_back({DeviceAddress{begin}, size});
        pool.free = Bytes{pool.free.count() + size.count()};
        pool.largest = std::max(pool.largest, size);
        ++pool.blocks;
    }

    [[nodiscard]] tl::unexpected<Error> odd(std::uint64_t address, std::string_view text) const {
        return fail({.operation = Operation::Query,
                     .detail = Detail::SelfCheckFailed,
                     .device = static_cast<std::int32_t>(view_.device.value()),
                     .hbm = static_cast<std::int32_t>(view_.hbm),
                     .value = address,
                     .text = text});
    }

    const Geometry& geometry_;
    std::uint64_t base_;
    PoolView& view_;
    std::uint64_t at_;
};

/// The free block below the lowest page of contiguous scratchpad, or below the main pool's end.
[[nodiscard]] inline Bytes scratchpad_room(const PoolView& view) noexcept {
    DeviceAddress end = view.main.end;
    for (auto chunk = view.chunks.rbegin(); chunk != view.chunks.rend(); ++chunk)
        if (chunk->category == kScratchpadCategory &&
            chunk->address.value() + chunk->size.count() == end.value())
            end = chunk->address;
    for (const FreeBlock& hole : view.holes)
        if (hole.address.value() + hole.size.count() == end.value()) return hole.size;
    return Bytes{};
}

} // namespace detail

/// Reads the driver's list of an HBM. `ours` is what this runtime holds there, in charged bytes;
/// more than the list has is not an error, but shown as `unlisted`.
/// Errors: INVALID with HbmOutOfRange; FAILURE with SelfCheckFailed (value: the address) for a list
/// that contradicts itself or the geometry: nothing that followed from it would be true.
[[nodiscard]] inline Result<PoolView> view_pools(HostDeviceId device, const Geometry& geometry,
                                                 std::uint32_t hbm, std::vector<ChunkRecord> chunks,
                                                 Bytes ours, Bytes small_pool = kSmallPool) {
    if (auto there = check_hbm(geometry, hbm, Operation::Query); !there) return fail(there.error());
    std::sort(chunks.begin(), chunks.end(),
              [](const auto& a, const auto& b) { return a.address < b.address; });
    PoolView view{.device = device, .hbm = hbm, .ours = ours};
    // The driver drops a small pool that would leave nothing.
    const bool fits = small_pool.count() < geometry.hbm_size.count() - kCarveOut.count();
    detail::PoolWalk walk(geometry, hbm, fits ? small_pool : Bytes{}, view);
    if (auto read = walk.run(chunks); !read) return fail(read.error());
    const std::uint64_t used = view.main.used.count() + view.small.used.count();
    view.others = Bytes{used > ours.count() ? used - ours.count() : 0};
    view.unlisted = Bytes{ours.count() > used ? ours.count() - used : 0};
    view.scratchpad_room = detail::scratchpad_room(view);
    return view;
}

/// What a runtime has on an HBM by its ledger: held, and lost to a refused free. 0 past the last.
[[nodiscard]] constexpr Bytes booked_on_hbm(const LedgerSnapshot& counters,
                                            std::uint32_t hbm) noexcept {
    if (hbm >= kMaxHbm) return Bytes{};
    return checked_sum(Bytes{counters.on_channel[hbm]}, Bytes{counters.lost_on_channel[hbm]})
        .value_or(Bytes{~std::uint64_t{0}});
}

/// The same, asking the driver. Errors: also the driver's own.
/// libnrt: dml_driver_dump
template <AuditOps D>
[[nodiscard]] Result<PoolView> view_pools(D& driver, HostDeviceId device, const Geometry& geometry,
                                          std::uint32_t hbm, const LedgerSnapshot& counters) {
    if (auto there = check_hbm(geometry, hbm, Operation::Query); !there) return fail(there.error());
    auto chunks = driver.chunks(device, hbm);
    if (!chunks) return fail(chunks.error());
    return view_pools(device, geometry, hbm, *std::move(chunks), booked_on_hbm(counters, hbm));
}

} // namespace v0
} // namespace neuronbook
