// SPDX-License-Identifier: Apache-2.0
//
// The usage ledger of a device: who holds how many bytes, for what, where.
// Owns: counters, peaks, budgets, events, and the locks of the device's blocks. Does not own:
// blocks, text, the driver. Layer: dmem.
// libnrt: dma_mem_log_t, dmem_logger, DML. Source: tables.md 8 and 22
#pragma once

#include <array>
#include <atomic>
#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "neuronbook/base/log.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/charge.hpp"
#include "neuronbook/dmem/detail/budget_rule.hpp"
#include "neuronbook/dmem/detail/ledger_domains.hpp"
#include "neuronbook/dmem/detail/ledger_rows.hpp"
#include "neuronbook/dmem/detail/stamp_clock.hpp"
#include "neuronbook/dmem/detail/two_locks.hpp"
#include "neuronbook/dmem/device_usage.hpp"
#include "neuronbook/dmem/event_ring.hpp"
#include "neuronbook/dmem/memory_observer.hpp"
#include "neuronbook/dmem/memory_options.hpp"
#include "neuronbook/dmem/owner_account.hpp"
#include "neuronbook/dmem/usage.hpp"

namespace neuronbook {
inline namespace v0 {

/// The book of one device. Only device memory moves the counters of cores and channels, by charged
/// bytes; host memory has counters of its own. No counter passes below zero or wraps: what would is
/// refused, and no counter moves. Not copyable or movable.
///
/// Thread safety: every member may be called from any thread, `Requires` apart. One lock for each
/// HBM, and one for host memory; a core's counters, its owners and its blocks go by the lock of the
/// HBM next to it, so cores of different HBMs never wait for each other, and an allocation takes
/// one lock (two when it lies on another HBM, or on the host).
///
/// libnrt: dma_mem_log_t.
/// Differs: host memory is counted too, by category; underflow and overflow are refused; peaks,
/// owners and budgets are kept; events hold text instead of pointers.
template <MemoryObserver O = NullObserver>
class BasicLedger {
public:
    /// Locks of a core and of a channel, see lock().
    using Lock = detail::TwoLocks;
    /// The channel of host memory.
    static constexpr std::uint32_t kHostChannel = kMaxHbm;

    /// `cores_per_hbm` is the geometry's: cores that share an HBM share a lock.
    explicit BasicLedger(HostDeviceId device = HostDeviceId{}, const MemoryOptions& options = {},
                         std::uint32_t cores_per_hbm = 1, O observer = O{}) noexcept
        : domains_{Domain{options.events}, Domain{options.events}, Domain{options.events},
                   Domain{options.events}, Domain{options.events}},
          options_(options), clock_(options.stamps), device_(device),
          observer_(std::move(observer)) {
        for (std::uint32_t c = 0; c < kMaxCoresPerDevice; ++c)
            homes_[c] =
                static_cast<std::uint8_t>(c / (cores_per_hbm == 0 ? 1 : cores_per_hbm) % kMaxHbm);
        for (auto& core : rows_.cores) core.budget.store(options.core_budget.count());
    }
    BasicLedger(const BasicLedger&) = delete;
    BasicLedger& operator=(const BasicLedger&) = delete;

    [[nodiscard]] HostDeviceId device() const noexcept { return device_; }
    [[nodiscard]] const MemoryOptions& options() const noexcept { return options_; }
    [[nodiscard]] const detail::StampClock& clock() const noexcept { return clock_; }
    [[nodiscard]] O& observer() noexcept { return observer_; }

    // --- booking by itself ------------------------------------------------------------------

    /// Errors: INVALID with UsageInvalid, HbmOutOfRange or CoreOutOfRange for what has no counter;
    /// RESOURCE with CounterOverflow (value: the counter, asked: the bytes).
    /// libnrt: dml_add_entry
    Result<void> add(const Charge& charge) {
        if (auto known = detail::check_charge(device_, charge); !known) return known;
        const Lock held = lock(charge.core, channel_of(charge));
        return book_in(charge, nullptr);
    }
    /// Errors: as add(); INVALID_HANDLE with Unmatched for more bytes than were added (value: the
    /// counter, asked: the bytes), and the first of those is logged.
    Result<void> remove(const Charge& charge) {
        if (auto known = detail::check_charge(device_, charge); !known) return known;
        Result<void> done;
        {
            const Lock held = lock(charge.core, channel_of(charge));
            done = book_out(charge, nullptr);
        }
        if (!done) tell_once(charge);
        return done;
    }
    /// Effects: counts bytes that are gone for this process: no longer held, never given back.
    void lose(const Charge& charge) noexcept {
        const Lock held = lock(charge.core, channel_of(charge));
        auto& lost = charge.on_host() ? rows_.host.lost : rows_.channels[charge.hbm % kMaxHbm].lost;
        lost = checked_sum(Bytes{lost}, charge.bytes).value_or(Bytes{~std::uint64_t{0}}).count();
    }

    // --- booking for an allocator, under its lock ---------------------------------------------

    /// The lock of a core's blocks and counters, and of a channel (an HBM, or kHostChannel).
    [[nodiscard, gnu::always_inline]] Lock lock(CoreIndex core, std::uint32_t channel) noexcept {
        return Lock(domains_[home_of(core)].mutex, domains_[domain_of(channel)].mutex);
    }
    /// All of them, for what takes more than two.
    [[nodiscard]] detail::AllLocks lock_all() const { return detail::AllLocks(domains_); }
    /// Effects: takes the memory of a channel's events, if it has none. No lock may be held.
    /// std::bad_alloc passes through.
    void prepare(std::uint32_t channel) { domains_[domain_of(channel)].events.prepare(); }

    /// Requires: lock() of the booking is held. Effects: books it on the owner's account, takes its
    /// reservation back (`reserved` bytes, 0 for none), and writes the event, of which `told` gets
    /// a copy for the observer, if not null. Returns: the event's number. Errors: as
    /// add(const Charge&); then nothing happened.
    [[gnu::always_inline]] Result<std::uint64_t> add(OwnerAccount& owner, const Booking& booking,
                                                     std::uint64_t ticks, Bytes reserved,
                                                     MemoryEvent* told) noexcept {
        if (auto done = book_in(booking.charge, &owner); !done) return fail(done.error());
        if (reserved != Bytes{}) settle(owner, reserved);
        return write(MemoryAction::Allocate, owner, booking, ticks, told);
    }
    /// Requires: lock() of the booking is held. Effects: the opposite of add(). Errors: as
    /// remove(const Charge&); then nothing happened.
    [[gnu::always_inline]] Result<void> remove(OwnerAccount& owner, const Booking& booking,
                                               std::uint64_t ticks, MemoryEvent* told) noexcept {
        if (auto done = book_out(booking.charge, &owner); !done) return done;
        (void)write(MemoryAction::Free, owner, booking, ticks, told);
        return {};
    }

    /// Effects: an account joins the book, and gets a number where it has none.
    void enroll(OwnerAccount& owner) noexcept {
        if (owner.name.id == 0) owner.name.id = next_owner_.fetch_add(1, std::memory_order_relaxed);
        const std::lock_guard held(domains_[home_of(owner.core)].mutex);
        owners_[home_of(owner.core)].push_back(owner);
    }
    void dismiss(OwnerAccount& owner) noexcept {
        const std::lock_guard held(domains_[home_of(owner.core)].mutex);
        auto& all = owners_[home_of(owner.core)];
        all.erase(all.iterator_to(owner));
    }

    // --- budgets --------------------------------------------------------------------------------

    /// Whether an allocation must reserve() first.
    [[nodiscard]] bool limited(const OwnerAccount& owner) const noexcept {
        return owner.limited() ||
               rows_.cores[owner.core.value()].budget.load(std::memory_order_relaxed) != 0;
    }
    /// Effects: sets bytes aside before the driver is asked, so that two threads cannot both pass.
    /// Errors: RESOURCE with OverBudget (value: bytes held and reserved, limit: the budget, asked,
    /// text: whose).
    Result<void> reserve(OwnerAccount& owner, Bytes bytes) {
        const std::lock_guard held(domains_[home_of(owner.core)].mutex);
        auto& core = rows_.cores[owner.core.value()];
        const detail::BudgetUse of_core{core.budget.load(std::memory_order_relaxed),
                                        core.used[kUsages] + core.pending};
        const detail::BudgetUse of_owner{owner.budget.load(std::memory_order_relaxed),
                                         owner.used[kUsages] + owner.pending};
        if (!of_core.fits(bytes))
            return fail(detail::over_budget(device_, owner.core, of_core, bytes,
                                            FailureCause::CoreBudget, "core"));
        if (!of_owner.fits(bytes))
            return fail(detail::over_budget(device_, owner.core, of_owner, bytes,
                                            FailureCause::OwnerBudget, owner.called()));
        core.pending += bytes.count();
        owner.pending += bytes.count();
        return {};
    }
    /// Effects: gives back what reserve() set aside, for an allocation that failed.
    void unreserve(OwnerAccount& owner, Bytes bytes) noexcept {
        const std::lock_guard held(domains_[home_of(owner.core)].mutex);
        settle(owner, bytes);
    }
    /// Most a core may hold from now on, 0 for no budget. What it holds already stays.
    void set_core_budget(CoreIndex core, Bytes most) noexcept {
        if (core.value() < kMaxCoresPerDevice) rows_.cores[core.value()].budget = most.count();
    }

    // --- reading --------------------------------------------------------------------------------

    /// Bytes this runtime holds on a channel; 0 for a channel that does not exist.
    /// libnrt: memory_usage
    [[nodiscard]] Bytes used_on_channel(std::uint32_t hbm) const noexcept {
        if (hbm >= kMaxHbm) return Bytes{};
        const std::lock_guard held(domains_[hbm].mutex);
        return Bytes{rows_.channels[hbm].total};
    }
    /// Bytes of one usage on a core; Usage::Max gives the core's total.
    /// libnrt: memory_usage_nc
    [[nodiscard]] Bytes used_by_core(CoreIndex core, Usage usage = Usage::Max) const noexcept {
        const auto column = static_cast<std::uint32_t>(usage);
        if (core.value() >= kMaxCoresPerDevice || column >= kUsageColumns) return Bytes{};
        const std::lock_guard held(domains_[home_of(core)].mutex);
        return Bytes{rows_.cores[core.value()].used[column]};
    }
    /// All counters at one instant.
    [[nodiscard]] LedgerSnapshot snapshot() const {
        const detail::AllLocks held(domains_);
        return rows_.snapshot();
    }
    /// Counters and owners at one instant.
    [[nodiscard]] DeviceUsage usage() const {
        DeviceUsage all{.device = device_};
        for (std::size_t room = 64;; room *= 4) { // no memory is taken under a lock
            all.owners.reserve(room);
            const detail::AllLocks held(domains_);
            std::size_t count = 0;
            for (const auto& list : owners_) count += list.size();
            if (count > all.owners.capacity()) continue;
            all.counters = rows_.snapshot();
            for (const auto& list : owners_)
                for (const auto& owner : list) all.owners.push_back(owner.usage());
            for (const auto& domain : domains_) all.ring_dropped += domain.events.dropped();
            return all;
        }
    }
    /// The events of a channel that are kept, oldest first; kHostChannel for host memory.
    [[nodiscard]] std::vector<MemoryEvent> events(std::uint32_t channel) const {
        std::vector<MemoryEvent> all;
        const auto& domain = domains_[domain_of(channel)];
        for (;;) {
            const std::size_t room = all.capacity();
            std::size_t needed = 0;
            {
                const std::lock_guard held(domain.mutex);
                needed = domain.events.size();
                if (needed <= room) domain.events.copy_to(all);
            }
            if (needed <= room) return all;
            all.reserve(needed + needed / 8);
        }
    }
    /// Events of a channel that are gone.
    [[nodiscard]] std::uint64_t dropped_events(std::uint32_t channel) const noexcept {
        const auto& domain = domains_[domain_of(channel)];
        const std::lock_guard held(domain.mutex);
        return domain.events.dropped();
    }

private:
    using Domain = detail::LedgerDomain;

    [[nodiscard]] std::uint32_t home_of(CoreIndex core) const noexcept {
        return homes_[core.value() % kMaxCoresPerDevice];
    }
    /// What is no channel goes by the host's lock: it is refused, but only under one.
    static constexpr std::uint32_t domain_of(std::uint32_t channel) noexcept {
        return channel < kHostChannel ? channel : kHostChannel;
    }
    static std::uint32_t channel_of(const Charge& charge) noexcept {
        return charge.on_host() ? kHostChannel : charge.hbm;
    }

    [[gnu::always_inline]] Result<void> book_in(const Charge& charge,
                                                OwnerAccount* owner) noexcept {
        if (const auto* full = rows_.overflow(charge))
            return fail(detail::booking_error(device_, charge, Status::Resource,
                                              Detail::CounterOverflow, *full));
        rows_.add(charge, owner);
        return {};
    }
    [[gnu::always_inline]] Result<void> book_out(const Charge& charge,
                                                 OwnerAccount* owner) noexcept {
        if (const auto* less = rows_.shortfall(charge, owner))
            return fail(detail::booking_error(device_, charge, Status::InvalidHandle,
                                              Detail::Unmatched, *less));
        rows_.remove(charge, owner);
        return {};
    }
    void settle(OwnerAccount& owner, Bytes reserved) noexcept {
        rows_.cores[owner.core.value()].pending -= reserved.count();
        owner.pending -= reserved.count();
    }

    [[gnu::always_inline]] std::uint64_t write(MemoryAction action, const OwnerAccount& owner,
                                               const Booking& booking, std::uint64_t ticks,
                                               MemoryEvent* told) noexcept {
        const Charge& charge = booking.charge;
        const std::uint64_t total = rows_.channel_total(charge);
        const std::uint64_t number =
            domains_[channel_of(charge)].events.add(action, booking, ticks, total, owner.name.id);
        if (told != nullptr) *told = event_of(action, booking, number, ticks, total, owner.name.id);
        return number;
    }

    void tell_once(const Charge& charge) noexcept {
        if (told_of_unmatched_.exchange(true, std::memory_order_relaxed)) return;
        Log::write(LogLevel::Warn,
                   "device %u core %u: %llu bytes given back that were never taken here; more of "
                   "these are not logged",
                   device_.value(), charge.core.value(),
                   static_cast<unsigned long long>(charge.bytes.count()));
    }

    detail::LedgerDomains domains_;
    detail::LedgerRows rows_;
    std::array<boost::intrusive::list<OwnerAccount>, kMaxHbm> owners_;
    MemoryOptions options_;
    detail::StampClock clock_;
    HostDeviceId device_;
    /// By core: the HBM next to it, whose lock is the core's.
    std::array<std::uint8_t, kMaxCoresPerDevice> homes_{};
    std::atomic<std::uint32_t> next_owner_{1};
    std::atomic<bool> told_of_unmatched_{false};
    [[no_unique_address]] O observer_;
};

/// The ledger unless another is named.
using Ledger = BasicLedger<>;

} // namespace v0
} // namespace neuronbook
