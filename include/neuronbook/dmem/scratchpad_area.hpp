// SPDX-License-Identifier: Apache-2.0
//
// The contiguous scratchpad of one HBM: a region that grows downward by driver chunks.
// Owns: its chunks and the order in which they may go. Does not own: any booking, who uses a page.
// Layer: dmem.   Source: driver-abi.md 7.1; tables.md 17, 22
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/log.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {

/// Pages of `page` bytes that hold `need` bytes: exactly, without a sum that can wrap. 0 for a need
/// of 0. Nothing for a page of 0.
[[nodiscard]] constexpr std::optional<std::uint64_t> pages_for(Bytes need, Bytes page) noexcept {
    if (page == Bytes{0}) return std::nullopt;
    const std::uint64_t whole = need.count() / page.count();
    return whole + (need.count() % page.count() != 0 ? 1 : 0);
}

/// One per device and HBM: all cores of an HBM grow the same region. The first chunk ends where the
/// HBM's main pool ends, each next one directly below. A chunk is one page of the area.
///
/// The driver keeps one running total and places the next chunk by it, so a chunk freed out of
/// order makes later ones collide with those that are left. Here that is refused, with both
/// numbers, and not held back: memory that was said to be free and is not would be in nobody's
/// book.
///
/// Requires: the driver outlives the area. Thread-safe; driver calls are made under the area's own
/// lock, since their order is what it keeps. libnrt: tdrv_scratchpad_t
template <MemoryOps D>
class ScratchpadArea {
public:
    ScratchpadArea(D& driver, HostDeviceId device, std::uint32_t hbm)
        : driver_(&driver), device_(device), hbm_(hbm) {}
    ScratchpadArea(const ScratchpadArea&) = delete;
    ScratchpadArea& operator=(const ScratchpadArea&) = delete;

    /// Effects: frees what is left, newest first; a refusal is logged.
    ~ScratchpadArea() {
        if (!driver_->usable()) return;
        while (!chunks_.empty()) {
            const auto freed = shrink(chunks_.back());
            if (freed) continue;
            Log::write(LogLevel::Error, "scratchpad of device %u, HBM %u: %llu bytes are lost",
                       device_.value(), hbm_, static_cast<unsigned long long>(total().count()));
            return;
        }
    }

    /// Effects: one page more, below the others, charged to `core`. Errors: the driver's; where
    /// there is no room, RESOURCE with ScratchpadCeiling: bytes the area has (value) and bytes
    /// asked. FAILURE with SelfCheckFailed if the page is not where it must be: some other process
    /// grows the region, too; the page is freed again.
    Result<Chunk> grow(Bytes page, CoreIndex core) {
        const std::lock_guard lock(mutex_);
        chunks_.reserve(chunks_.size() + 1); // nothing may fail behind the driver's call
        auto made = driver_->allocate(device_, {.size = page,
                                                .location = MemoryLocation::Device,
                                                .hbm = hbm_,
                                                .core = core,
                                                .category = kScratchpadCategory});
        if (!made) return fail(ceiling(made.error(), page));
        if (!chunks_.empty() &&
            made->address.value() + made->size.count() != chunks_.back().address.value())
            return fail(misplaced(*made));
        chunks_.push_back(*made);
        return *made;
    }

    /// Effects: frees the newest page. Errors: INVALID with ScratchpadOrder for any other: its
    /// place (value, first is 0) and the newest's (limit); INVALID with Unmatched for a chunk that
    /// is not the area's. The driver's; then the page is still the area's.
    Result<void> shrink(const Chunk& page) {
        const std::lock_guard lock(mutex_);
        std::size_t place = chunks_.size();
        for (std::size_t i = 0; i < chunks_.size(); ++i)
            if (chunks_[i].handle == page.handle && chunks_[i].address == page.address) place = i;
        if (place == chunks_.size()) return fail(refuse(Detail::Unmatched, 0, page.size));
        if (place + 1 != chunks_.size()) return fail(refuse(Detail::ScratchpadOrder, place, {}));
        auto freed = driver_->free(device_, chunks_.back());
        if (freed) chunks_.pop_back();
        return freed;
    }

    /// A page by its age, the first being 0; nothing for one that is not there.
    [[nodiscard]] std::optional<Chunk> page(std::size_t index) const {
        const std::lock_guard lock(mutex_);
        if (index >= chunks_.size()) return std::nullopt;
        return chunks_[index];
    }

    /// The address of byte `offset` of the area, which counts upward from the newest page's first
    /// byte. Errors: INVALID with OutOfBounds unless [offset, offset + size) lies in the area.
    [[nodiscard]] Result<DeviceAddress> address(Bytes offset, Bytes size) const {
        const std::lock_guard lock(mutex_);
        const Bytes all = total();
        if (!chunks_.empty() && contains(all, offset, size))
            return DeviceAddress{chunks_.back().address.value() + offset.count()};
        return fail({.status = Status::Invalid,
                     .operation = Operation::Query,
                     .detail = Detail::OutOfBounds,
                     .device = static_cast<std::int32_t>(device_.value()),
                     .hbm = static_cast<std::int32_t>(hbm_),
                     .value = offset.count(),
                     .limit = all.count(),
                     .asked = size.count()});
    }

    [[nodiscard]] std::size_t pages() const {
        const std::lock_guard lock(mutex_);
        return chunks_.size();
    }
    /// Bytes charged for all pages.
    [[nodiscard]] Bytes size() const {
        const std::lock_guard lock(mutex_);
        return total();
    }

private:
    /// Pages lie in one HBM, so their sum fits.
    [[nodiscard]] Bytes total() const noexcept {
        std::uint64_t sum = 0;
        for (const auto& chunk : chunks_) sum += chunk.size.count();
        return Bytes{sum};
    }

    [[nodiscard]] Error ceiling(Error error, Bytes page) const {
        if (error.detail != Detail::OutOfDeviceMemory) return error;
        error.detail = Detail::ScratchpadCeiling;
        error.value = total().count();
        error.asked = page.count();
        return error;
    }

    /// The page is the newest of the region, whoever grew it, so it may go again.
    [[nodiscard]] Error misplaced(const Chunk& made) {
        if (const auto freed = driver_->free(device_, made); !freed)
            Log::write(LogLevel::Error, "scratchpad of device %u, HBM %u: lost %llu bytes",
                       device_.value(), hbm_, static_cast<unsigned long long>(made.size.count()));
        auto error = refuse(Detail::SelfCheckFailed, made.address.value(), made.size);
        error.status = Status::Failure;
        error.operation = Operation::Allocate;
        error.text = std::string_view("another process has scratchpad memory on this HBM");
        return error;
    }

    [[nodiscard]] Error refuse(Detail detail, std::uint64_t value, Bytes asked) const {
        return {.status = Status::Invalid,
                .operation = Operation::Free,
                .detail = detail,
                .device = static_cast<std::int32_t>(device_.value()),
                .hbm = static_cast<std::int32_t>(hbm_),
                .value = value,
                .limit = chunks_.empty() ? 0 : chunks_.size() - 1,
                .asked = asked.count()};
    }

    D* driver_;
    HostDeviceId device_;
    std::uint32_t hbm_;
    mutable std::mutex mutex_;
    std::vector<Chunk> chunks_; ///< oldest, that is highest, first
};

} // namespace v0
} // namespace neuronbook
