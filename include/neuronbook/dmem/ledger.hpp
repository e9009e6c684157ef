// SPDX-License-Identifier: Apache-2.0
//
// The usage ledger of a device: who holds how many bytes, for what, where.
// Owns: counters, peaks, the count of lost bytes. Does not own: blocks, events, text.
// Layer: dmem.   libnrt: dma_mem_log_t, dmem_logger, DML. Source: tables.md 8 and 22
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/usage.hpp"

namespace neuronbook {
inline namespace v0 {

/// One entry to book or to take out. `bytes` is what the driver charged, whole pages.
struct Charge {
    Usage usage = Usage::Generic;
    MemoryLocation location = MemoryLocation::Device;
    std::uint32_t hbm = 0; ///< channel; not looked at for host memory
    CoreIndex core{};
    std::uint32_t category = 0; ///< the driver's, as category_of() gives it
    Bytes bytes{};
};

/// Host memory is counted by the driver's category: 0..6 as they are, DMA rings (17) as 7.
inline constexpr std::uint32_t kHostCategories = 8;

/// All counters of a device at one instant. Plain data, bytes.
struct LedgerSnapshot {
    std::array<std::uint64_t, kMaxHbm> on_channel{};
    std::array<std::uint64_t, kMaxHbm> channel_peak{};
    /// By core and usage; column 22 is the core's total. Device memory only.
    std::array<std::array<std::uint64_t, kUsageColumns>, kMaxCoresPerDevice> by_core{};
    std::array<std::uint64_t, kMaxCoresPerDevice> core_peak{};
    std::array<std::uint64_t, kHostCategories> on_host{};
    std::array<std::uint64_t, kMaxHbm> lost_on_channel{};
    std::uint64_t lost_on_host = 0;

    /// A core's total. Requires: core < 8.
    [[nodiscard]] constexpr Bytes total(CoreIndex core) const noexcept {
        return Bytes{by_core[core.value()][kUsages]};
    }
    /// A core's row in the columns of the report. Requires: core < 8.
    [[nodiscard]] constexpr std::array<Bytes, kAggregates>
    aggregates(CoreIndex core) const noexcept {
        std::array<std::uint64_t, kAggregates> sums{};
        for (std::size_t u = 0; u < kUsages; ++u)
            sums[static_cast<std::size_t>(aggregate_of(static_cast<Usage>(u)))] +=
                by_core[core.value()][u];
        std::array<Bytes, kAggregates> row;
        for (std::size_t i = 0; i < kAggregates; ++i) row[i] = Bytes{sums[i]};
        return row;
    }
    /// Host bytes, all categories together.
    [[nodiscard]] constexpr Bytes host() const noexcept {
        std::uint64_t sum = 0;
        for (const auto bytes : on_host) sum += bytes;
        return Bytes{sum};
    }
};

/// What an allocator needs of a ledger. No member calls the driver or allocates.
/// - `add`, `remove`: all counters of the charge move, or none.
/// - `lose`: bytes that left the counters but that the driver refused to take back.
template <class L>
concept UsageLedger = requires(L ledger, const L& view, const Charge& charge, std::uint32_t hbm) {
    { ledger.add(charge) } -> std::same_as<Result<void>>;
    { ledger.remove(charge) } -> std::same_as<Result<void>>;
    { ledger.lose(charge) } noexcept -> std::same_as<void>;
    { view.used_on_channel(hbm) } noexcept -> std::same_as<Bytes>;
};

/// The book of one device. Only device memory moves the counters of cores and channels, by charged
/// bytes; host memory has counters of its own. No counter passes below zero or wraps: what would is
/// refused, and no counter moves. Not copyable or movable.
///
/// Thread safety: every member may be called from any thread; one mutex inside, the innermost lock
/// of the library, held for a few additions.
///
/// libnrt: dma_mem_log_t.
/// Differs: host memory is counted too, by category; underflow and overflow are refused; peaks are
/// kept; events are not logged here.
class Ledger {
public:
    /// `device` only names the device in errors.
    explicit Ledger(HostDeviceId device = HostDeviceId{}) noexcept : device_(device) {}
    Ledger(const Ledger&) = delete;
    Ledger& operator=(const Ledger&) = delete;

    [[nodiscard]] HostDeviceId device() const noexcept { return device_; }

    /// Errors: INVALID with UsageInvalid, HbmOutOfRange or CoreOutOfRange for what has no counter;
    /// RESOURCE with CounterOverflow (value: the counter, asked: the bytes).
    /// libnrt: dml_add_entry
    Result<void> add(const Charge& charge) {
        if (auto known = check(charge); !known) return known;
        const auto bytes = charge.bytes.count();
        const std::lock_guard lock(mutex_);
        const auto at = cells(charge);
        for (const auto* cell : at)
            if (cell && bytes > ~std::uint64_t{0} - *cell)
                return fail(error(charge, Status::Resource, Detail::CounterOverflow, *cell));
        for (auto* cell : at)
            if (cell) *cell += bytes;
        if (charge.location == MemoryLocation::Device) {
            raise(now_.channel_peak[charge.hbm], now_.on_channel[charge.hbm]);
            raise(now_.core_peak[charge.core.value()], now_.by_core[charge.core.value()][kUsages]);
        }
        return {};
    }

    /// Errors: as add(); INVALID_HANDLE with Unmatched for more bytes than were added (value: the
    /// counter, asked: the bytes).
    Result<void> remove(const Charge& charge) {
        if (auto known = check(charge); !known) return known;
        const auto bytes = charge.bytes.count();
        const std::lock_guard lock(mutex_);
        const auto at = cells(charge);
        for (const auto* cell : at)
            if (cell && bytes > *cell)
                return fail(error(charge, Status::InvalidHandle, Detail::Unmatched, *cell));
        for (auto* cell : at)
            if (cell) *cell -= bytes;
        return {};
    }

    /// Effects: counts bytes that are gone for this process: no longer held, never given back.
    void lose(const Charge& charge) noexcept {
        const std::lock_guard lock(mutex_);
        const bool host = charge.location == MemoryLocation::Host;
        auto& lost = host ? now_.lost_on_host : now_.lost_on_channel[charge.hbm % kMaxHbm];
        lost = checked_sum(Bytes{lost}, charge.bytes).value_or(Bytes{~std::uint64_t{0}}).count();
    }

    /// Bytes this runtime holds on a channel; 0 for a channel that does not exist.
    /// libnrt: memory_usage
    [[nodiscard]] Bytes used_on_channel(std::uint32_t hbm) const noexcept {
        const std::lock_guard lock(mutex_);
        return Bytes{hbm < kMaxHbm ? now_.on_channel[hbm] : 0};
    }
    /// Bytes of one usage on a core; Usage::Max gives the core's total.
    /// libnrt: memory_usage_nc
    [[nodiscard]] Bytes used_by_core(CoreIndex core, Usage usage = Usage::Max) const noexcept {
        const auto column = static_cast<std::uint32_t>(usage);
        const std::lock_guard lock(mutex_);
        const bool known = core.value() < kMaxCoresPerDevice && column < kUsageColumns;
        return Bytes{known ? now_.by_core[core.value()][column] : 0};
    }
    /// Everything at one instant.
    [[nodiscard]] LedgerSnapshot snapshot() const {
        const std::lock_guard lock(mutex_);
        return now_;
    }

private:
    static void raise(std::uint64_t& peak, std::uint64_t now) noexcept {
        if (peak < now) peak = now;
    }

    /// Host categories the driver knows: 0..6, and 17 for DMA rings.
    static constexpr std::uint32_t host_slot(std::uint32_t category) noexcept {
        return category == 17 ? kHostCategories - 1 : category;
    }

    std::array<std::uint64_t*, 3> cells(const Charge& charge) noexcept {
        if (charge.location == MemoryLocation::Host)
            return {&now_.on_host[host_slot(charge.category)], nullptr, nullptr};
        auto& row = now_.by_core[charge.core.value()];
        return {&row[static_cast<std::size_t>(charge.usage)], &row[kUsages],
                &now_.on_channel[charge.hbm]};
    }

    [[nodiscard]] Result<void> check(const Charge& charge) const {
        const bool host = charge.location == MemoryLocation::Host;
        auto said = error(charge, Status::Invalid, Detail::UsageInvalid,
                          static_cast<std::uint32_t>(charge.usage));
        said.limit = kUsages;
        if (!is_usage(charge.usage)) return fail(said);
        said.detail = Detail::UsageNotHere;
        if (host && charge.category != 17 && charge.category >= kHostCategories - 1)
            return fail(said);
        said.detail = Detail::HbmOutOfRange;
        said.value = charge.hbm;
        said.limit = kMaxHbm;
        if (!host && charge.hbm >= kMaxHbm) return fail(said);
        said.detail = Detail::CoreOutOfRange;
        said.value = charge.core.value();
        said.limit = kMaxCoresPerDevice;
        if (charge.core.value() >= kMaxCoresPerDevice) return fail(said);
        return {};
    }

    [[nodiscard]] Error error(const Charge& charge, Status status, Detail detail,
                              std::uint64_t value) const noexcept {
        const bool host = charge.location == MemoryLocation::Host;
        return {.status = status,
                .operation = Operation::Account,
                .detail = detail,
                .device = static_cast<std::int32_t>(device_.value()),
                .core = static_cast<std::int32_t>(charge.core.value()),
                .hbm = host ? Error::kNone : static_cast<std::int32_t>(charge.hbm),
                .value = value,
                .asked = charge.bytes.count(),
                .text = ShortText{host ? "host" : "device"}};
    }

    mutable std::mutex mutex_;
    LedgerSnapshot now_;
    HostDeviceId device_;
};

/// Counts nothing, refuses nothing.
struct NullLedger {
    Result<void> add(const Charge&) { return {}; }
    Result<void> remove(const Charge&) { return {}; }
    void lose(const Charge&) noexcept {}
    [[nodiscard]] Bytes used_on_channel(std::uint32_t) const noexcept { return Bytes{}; }
};

static_assert(UsageLedger<Ledger> && UsageLedger<NullLedger>);

} // namespace v0
} // namespace neuronbook
