// SPDX-License-Identifier: Apache-2.0
//
// What an allocator needs of a ledger.
// Owns: the contract, and a ledger that counts nothing. Does not own: counters (ledger.hpp).
// Layer: dmem.
#pragma once

#include <concepts>
#include <cstdint>

#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/charge.hpp"
#include "neuronbook/dmem/detail/brief_lock.hpp"
#include "neuronbook/dmem/detail/stamp_clock.hpp"
#include "neuronbook/dmem/detail/two_locks.hpp"
#include "neuronbook/dmem/ledger.hpp"
#include "neuronbook/dmem/memory_event.hpp"
#include "neuronbook/dmem/memory_observer.hpp"
#include "neuronbook/dmem/memory_options.hpp"
#include "neuronbook/dmem/owner_account.hpp"

namespace neuronbook {
inline namespace v0 {

/// A ledger for allocators. No member calls the driver; none but prepare() takes host memory.
/// - `lock(core, channel)`: guards the core's blocks and whatever add() and remove() touch;
///   `lock_all()`: those of every core and channel.
/// - `add`, `remove` of a booking (under the lock), and of a charge (under its own): all counters
///   move, or none.
/// - `reserve`, `unreserve`: bytes set aside before the driver is asked, where `limited`.
/// - `lose`: bytes that left the counters but that the driver refused to take back.
template <class L>
concept UsageLedger = requires(L ledger, const L& view, OwnerAccount& owner, const Charge& charge,
                               const Booking& booking, CoreIndex core, std::uint32_t channel,
                               Bytes bytes, std::uint64_t ticks, MemoryEvent* told) {
    typename L::Lock;
    { ledger.lock(core, channel) } -> std::same_as<typename L::Lock>;
    ledger.lock_all();
    { ledger.prepare(channel) } -> std::same_as<void>;
    {
        ledger.add(owner, booking, ticks, bytes, told)
    } noexcept -> std::same_as<Result<std::uint64_t>>;
    { ledger.remove(owner, booking, ticks, told) } noexcept -> std::same_as<Result<void>>;
    { ledger.add(charge) } -> std::same_as<Result<void>>;
    { ledger.remove(charge) } -> std::same_as<Result<void>>;
    { ledger.lose(charge) } noexcept -> std::same_as<void>;
    { ledger.enroll(owner) } noexcept -> std::same_as<void>;
    { ledger.dismiss(owner) } noexcept -> std::same_as<void>;
    { view.limited(owner) } noexcept -> std::same_as<bool>;
    { ledger.reserve(owner, bytes) } -> std::same_as<Result<void>>;
    { ledger.unreserve(owner, bytes) } noexcept -> std::same_as<void>;
    { view.used_on_channel(channel) } noexcept -> std::same_as<Bytes>;
    { view.options() } noexcept -> std::same_as<const MemoryOptions&>;
    { view.clock() } noexcept -> std::same_as<const detail::StampClock&>;
    requires MemoryObserver<std::remove_cvref_t<decltype(ledger.observer())>>;
};

/// Counts nothing, refuses nothing; one lock for all.
class NullLedger {
public:
    using Lock = detail::TwoLocks;
    Lock lock(CoreIndex, std::uint32_t) noexcept { return Lock(mutex_, mutex_); }
    Lock lock_all() noexcept { return Lock(mutex_, mutex_); }
    void prepare(std::uint32_t) noexcept {}
    Result<std::uint64_t> add(OwnerAccount&, const Booking&, std::uint64_t, Bytes,
                              MemoryEvent*) noexcept {
        return 0;
    }
    Result<void> remove(OwnerAccount&, const Booking&, std::uint64_t, MemoryEvent*) noexcept {
        return {};
    }
    Result<void> add(const Charge&) { return {}; }
    Result<void> remove(const Charge&) { return {}; }
    void lose(const Charge&) noexcept {}
    void enroll(OwnerAccount&) noexcept {}
    void dismiss(OwnerAccount&) noexcept {}
    [[nodiscard]] bool limited(const OwnerAccount&) const noexcept { return false; }
    Result<void> reserve(OwnerAccount&, Bytes) { return {}; }
    void unreserve(OwnerAccount&, Bytes) noexcept {}
    [[nodiscard]] Bytes used_on_channel(std::uint32_t) const noexcept { return Bytes{}; }
    [[nodiscard]] const MemoryOptions& options() const noexcept { return options_; }
    [[nodiscard]] const detail::StampClock& clock() const noexcept { return clock_; }
    [[nodiscard]] NullObserver& observer() noexcept { return observer_; }

private:
    detail::BriefLock mutex_;
    MemoryOptions options_{.stamps = Stamps::None, .report_out_of_memory = false};
    detail::StampClock clock_{Stamps::None};
    [[no_unique_address]] NullObserver observer_;
};

static_assert(UsageLedger<Ledger> && UsageLedger<NullLedger>);

} // namespace v0
} // namespace neuronbook
