// SPDX-License-Identifier: Apache-2.0
//
// The contiguous scratchpad of one HBM: a region that grows downward by driver chunks.
// Owns: its chunks, their booking, the order in which they may go. Does not own: who uses a page.
// Layer: dmem.   Source: driver-abi.md 7.1; tables.md 17, 22
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/log.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/charge.hpp"
#include "neuronbook/dmem/ledger.hpp"
#include "neuronbook/dmem/usage.hpp"
#include "neuronbook/dmem/usage_ledger.hpp"

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
template <MemoryOps D, UsageLedger L = Ledger>
class ScratchpadArea {
public:
    /// `ledger`: the device's, which books each page for the core that asked for it, as scratchpad.
    ScratchpadArea(D& driver, HostDeviceId device, std::uint32_t hbm, std::shared_ptr<L> ledger)
        : driver_(&driver), ledger_(std::move(ledger)), device_(device), hbm_(hbm) {}
    ScratchpadArea(const ScratchpadArea&) = delete;
    ScratchpadArea& operator=(const ScratchpadArea&) = delete;

    /// Effects: frees what is left, newest first; a refusal is logged.
    ~ScratchpadArea() {
        if (!driver_->usable()) return;
        while (!pages_.empty()) {
            const std::size_t before = pages_.size();
            (void)shrink(pages_.back().chunk);
            if (pages_.size() != before) continue; // the driver has it, whatever the ledger said
            for (const Page& page : pages_) {
                (void)ledger_->remove(page.charge);
                ledger_->lose(page.charge);
            }
            Log::write(LogLevel::Error, "scratchpad of device %u, HBM %u: %llu bytes are lost",
                       device_.value(), hbm_, static_cast<unsigned long long>(total().count()));
            return;
        }
    }

    /// Effects: one page more, below the others, booked for `core`. Errors: the driver's; where
    /// there is no room, RESOURCE with ScratchpadCeiling: bytes the area has (value) and bytes
    /// asked. FAILURE with SelfCheckFailed if the page is not where it must be: some other process
    /// grows the region, too; the ledger's. Then the page is freed again.
    Result<Chunk> grow(Bytes page, CoreIndex core) {
        const std::lock_guard lock(mutex_);
        pages_.reserve(pages_.size() + 1); // nothing may fail behind the driver's call
        auto made = driver_->allocate(device_, {.size = page,
                                                .location = MemoryLocation::Device,
                                                .hbm = hbm_,
                                                .core = core,
                                                .category = kScratchpadCategory});
        if (!made) return fail(ceiling(made.error(), page));
        if (!pages_.empty() &&
            made->address.value() + made->size.count() != pages_.back().chunk.address.value())
            return fail(given_back(charge_of(*made, core), *made, misplaced(*made)));
        const Charge charge = charge_of(*made, core);
        if (const auto booked = ledger_->add(charge); !booked)
            return fail(given_back(charge, *made, booked.error()));
        pages_.push_back({*made, charge});
        return *made;
    }

    /// Effects: frees the newest page. Errors: INVALID with ScratchpadOrder for any other: its
    /// place (value, first is 0) and the newest's (limit); INVALID with Unmatched for a chunk that
    /// is not the area's. The driver's; then the page is still the area's.
    Result<void> shrink(const Chunk& page) {
        const std::lock_guard lock(mutex_);
        std::size_t place = pages_.size();
        for (std::size_t i = 0; i < pages_.size(); ++i)
            if (pages_[i].chunk.handle == page.handle && pages_[i].chunk.address == page.address)
                place = i;
        if (place == pages_.size()) return fail(refuse(Detail::Unmatched, 0, page.size));
        if (place + 1 != pages_.size()) return fail(refuse(Detail::ScratchpadOrder, place, {}));
        if (auto freed = driver_->free(device_, pages_.back().chunk); !freed) return freed;
        const Page gone = pages_.back();
        pages_.pop_back();
        return ledger_->remove(gone.charge);
    }

    /// A page by its age, the first being 0; nothing for one that is not there.
    [[nodiscard]] std::optional<Chunk> page(std::size_t index) const {
        const std::lock_guard lock(mutex_);
        if (index >= pages_.size()) return std::nullopt;
        return pages_[index].chunk;
    }

    /// The address of byte `offset` of the area, which counts upward from the newest page's first
    /// byte. Errors: INVALID with OutOfBounds unless [offset, offset + size) lies in the area.
    [[nodiscard]] Result<DeviceAddress> address(Bytes offset, Bytes size) const {
        const std::lock_guard lock(mutex_);
        const Bytes all = total();
        if (!pages_.empty() && contains(all, offset, size))
            return DeviceAddress{pages_.back().chunk.address.value() + offset.count()};
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
        return pages_.size();
    }
    /// Bytes charged for all pages.
    [[nodiscard]] Bytes size() const {
        const std::lock_guard lock(mutex_);
        return total();
    }

private:
    struct Page {
        Chunk chunk;
        Charge charge;
    };

    [[nodiscard]] Charge charge_of(const Chunk& page, CoreIndex core) const noexcept {
        return {.usage = Usage::Scratchpad,
                .location = MemoryLocation::Device,
                .hbm = hbm_,
                .core = core,
                .category = kScratchpadCategory,
                .bytes = page.size};
    }
    /// Pages lie in one HBM, so their sum fits.
    [[nodiscard]] Bytes total() const noexcept {
        std::uint64_t sum = 0;
        for (const Page& page : pages_) sum += page.chunk.size.count();
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
    [[nodiscard]] Error given_back(const Charge& charge, const Chunk& made, Error why) {
        if (const auto freed = driver_->free(device_, made); !freed) {
            Log::write(LogLevel::Error, "scratchpad of device %u, HBM %u: lost %llu bytes",
                       device_.value(), hbm_, static_cast<unsigned long long>(made.size.count()));
            ledger_->lose(charge);
        }
        return why;
    }
    [[nodiscard]] Error misplaced(const Chunk& made) const {
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
                .limit = pages_.empty() ? 0 : pages_.size() - 1,
                .asked = asked.count()};
    }

    D* driver_;
    std::shared_ptr<L> ledger_;
    HostDeviceId device_;
    std::uint32_t hbm_;
    mutable std::mutex mutex_;
    std::vector<Page> pages_; ///< oldest, that is highest, first
};

} // namespace v0
} // namespace neuronbook
