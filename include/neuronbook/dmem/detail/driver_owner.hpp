// SPDX-License-Identifier: Apache-2.0
//
// The owner of an allocator's blocks, and who frees what when allocator and handles may end in any
// order.
// Owns: the list of live blocks, their records, the order of giving back. Does not own: driver,
// counters and lock (the ledger's). Layer: dmem.
#pragma once

#include <cstdint>
#include <ctime>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/architecture.hpp"
#include "neuronbook/base/log.hpp"
#include "neuronbook/base/process_mark.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/status.hpp"
#include "neuronbook/dmem/charge.hpp"
#include "neuronbook/dmem/detail/arrival.hpp"
#include "neuronbook/dmem/detail/block_record.hpp"
#include "neuronbook/dmem/detail/record_store.hpp"
#include "neuronbook/dmem/detail/survivor_row.hpp"
#include "neuronbook/dmem/detail/weak_entry.hpp"
#include "neuronbook/dmem/memory_event.hpp"
#include "neuronbook/dmem/memory_observer.hpp"
#include "neuronbook/dmem/owner_account.hpp"
#include "neuronbook/dmem/survivor.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// Lives until the allocator and the last record are gone; it shares the ledger, so the lock lives
/// as long.
///
/// The lock decides who frees a block: whoever finds it live takes it out of list and books, and
/// only then calls the driver, outside the lock. Such a record is `leaving` until the driver has
/// answered, and close() waits for those, so that the driver outlives every call to it. A record
/// that is neither live nor spare is an orphan: close() freed its block, its handles are left.
template <class D, class L>
class DriverOwner final : public BlockOwner {
    using Records = RecordStore<BlockRecord>;
    using More = std::unique_ptr<Records::Page>;
    using Observer = std::remove_cvref_t<decltype(std::declval<L&>().observer())>;

public:
    DriverOwner(D& driver, std::shared_ptr<L> ledger, HostDeviceId host, PhysicalCore at,
                std::uint32_t home, std::string_view tier, const OwnerName& name, Bytes budget)
        : BlockOwner(host, at), driver_(driver), ledger_(std::move(ledger)),
          account_(at.core, tier, name, budget), home_(home) {
        ledger_->enroll(account_);
    }
    DriverOwner(const DriverOwner&) = delete;
    DriverOwner& operator=(const DriverOwner&) = delete;

    [[nodiscard]] OwnerAccount& account() noexcept { return account_; }
    [[nodiscard]] L& ledger() noexcept { return *ledger_; }

    /// Effects: books a chunk and gives it a record with one handle; takes `reserved` bytes back
    /// that were set aside for it. Errors: the ledger's; std::bad_alloc passes through; then
    /// nothing was done.
    Result<BlockRecord*> admit(const Arrival& arrival, Bytes reserved) {
        Told told;
        Result<void> booked;
        BlockRecord* record = place(arrival, reserved, told, booked, nullptr);
        while (booked && record == nullptr)
            record = place(arrival, reserved, told, booked, Records::make_page(*this));
        if (!booked) return fail(booked.error());
        if constexpr (kObserves<Observer>) ledger_->observer().allocated(told);
        return record;
    }

    /// Effects: a block's chunk is another one from here on: out of the books with the old and into
    /// them with the new in one step, for whoever reads them. The record is a new one; the old,
    /// which has no handle any more, and its chunk are given back. Errors: as admit().
    /// Requires: `old` is live and has one handle, the caller's.
    Result<BlockRecord*> exchange(BlockRecord& old, const Arrival& arrival, Bytes reserved) {
        Told come;
        Leaving leaving;
        BlockRecord* record = nullptr;
        for (More page; record == nullptr;
             page = record == nullptr ? Records::make_page(*this) : nullptr) {
            const std::uint64_t ticks = ledger_->clock().now();
            const auto lock = ledger_->lock_all();
            if (page != nullptr) store_.add(std::move(page));
            record = store_.take();
            if (record == nullptr) continue;
            if (auto booked = start(*record, arrival, reserved, come); !booked)
                return fail(booked.error());
            take_out(old, leaving, ticks);
            old.held.store(false, std::memory_order_relaxed);
            store_.put(old);
        }
        if constexpr (kObserves<Observer>) ledger_->observer().allocated(come);
        (void)give_back(old, leaving);
        return record;
    }

    Result<void> finish(BlockRecord& record) noexcept override {
        if (!process_.here()) return not_up(); // the lock may belong to a thread that is not here
        const std::uint64_t ticks = ledger_->clock().now();
        Leaving leaving;
        {
            auto lock = ledger_->lock(account_.core, record.facts.channel());
            if (record.state == BlockState::Orphan) {
                store_.put(record);
                const bool last = --orphans_ == 0 && closed_;
                lock.unlock();
                if (last) delete this;
                return closed();
            }
            take_out(record, leaving, ticks);
            record.held.store(false, std::memory_order_relaxed);
            store_.put(record);
        }
        return give_back(record, leaving);
    }

    bool enter(BlockRecord& record, WeakEntry& entry) noexcept override {
        if (!process_.here()) return false;
        WeakEntry* stale = nullptr;
        bool live = false;
        {
            const auto lock = ledger_->lock(account_.core, record.facts.channel());
            live = enter_list(record, entry, stale);
        }
        delete_chain(stale);
        return live;
    }

    /// Effects: the allocator ends. Frees every block still live and reports each to `leak`; their
    /// handles stay valid and empty. With a driver that may not be spoken to, only forgets them.
    template <class F>
    void close(F leak) noexcept {
        if (!process_.here()) return; // the parent's
        Survivor row;
        Leaving leaving;
        while (BlockRecord* record = pop(row, leaving)) {
            if (leaving.usable) leak(std::as_const(row));
            (void)give_back(*record, leaving);
        }
        while (any_leaving()) { // as long as a driver's free takes
            constexpr std::timespec kShort{0, 50'000};
            ::nanosleep(&kShort, nullptr);
        }
        ledger_->dismiss(account_);
        auto lock = ledger_->lock(account_.core, home_);
        closed_ = true;
        const bool last = orphans_ == 0;
        lock.unlock();
        if (last) delete this;
    }

    [[nodiscard]] BlockCount outstanding() noexcept {
        if (!process_.here()) return {};
        const auto lock = ledger_->lock(account_.core, home_);
        return census_;
    }
    [[nodiscard]] BlockCount lost() noexcept {
        if (!process_.here()) return {};
        const auto lock = ledger_->lock(account_.core, home_);
        return lost_;
    }
    /// Every live block, oldest first. As the counts: none in a child of fork(), whose are the
    /// parent's.
    [[nodiscard]] std::vector<Survivor> survivors() {
        std::vector<Survivor> rows;
        if (!process_.here()) return rows;
        for (std::size_t room = 16;; room *= 4) { // no memory is taken under the lock
            rows.reserve(room);
            const auto& clock = ledger_->clock();
            const auto now = clock.look();
            const auto lock = ledger_->lock(account_.core, home_);
            if (census_.blocks > rows.capacity()) continue;
            for (const BlockRecord& record : live_)
                rows.push_back(survivor_row(record, account_, clock, now));
            return rows;
        }
    }

    /// Effects: gives a chunk that was never admitted to the driver; if it refuses, the bytes count
    /// as lost.
    Result<void> give_back(const Arrival& arrival) noexcept {
        BlockFacts facts;
        arrival.describe(facts);
        auto freed = driver_.free(device, facts.chunk());
        if (!freed) lose(facts, freed.error().os_error);
        return freed;
    }

private:
    struct Nothing {
        constexpr operator MemoryEvent*() const noexcept { return nullptr; }
    };
    struct Event : MemoryEvent {
        operator MemoryEvent*() noexcept { return this; }
    };
    /// The event, if anybody wants to see it.
    using Told = std::conditional_t<kObserves<Observer>, Event, Nothing>;

    /// What was found out under the lock of a block that leaves.
    struct Leaving {
        WeakEntry* weak = nullptr;
        bool usable = true; ///< false: there is no driver to give the chunk to
        bool booked = true; ///< false: the ledger knew nothing of it
        [[no_unique_address]] Told told{};
    };

    static tl::unexpected<Error> not_up() noexcept {
        return fail({.status = Status::Uninitialized,
                     .operation = Operation::Free,
                     .detail = Detail::NotUp});
    }
    static tl::unexpected<Error> closed() noexcept {
        return fail({.status = Status::Closed,
                     .operation = Operation::Free,
                     .detail = Detail::Closed,
                     .text = std::string_view("allocator")});
    }

    /// One try: null where it could not be `booked`, or there is no spare record; `page` brings
    /// some.
    [[gnu::always_inline]] BlockRecord* place(const Arrival& arrival, Bytes reserved, Told& told,
                                              Result<void>& booked, More page) noexcept {
        const auto lock = ledger_->lock(account_.core, arrival.channel());
        if (page != nullptr) store_.add(std::move(page));
        BlockRecord* record = store_.take();
        if (record == nullptr) return record;
        if (auto done = start(*record, arrival, reserved, told); !done) {
            booked = std::move(done);
            return nullptr;
        }
        return record;
    }

    /// On failure the record is spare again.
    [[gnu::always_inline]] Result<void> start(BlockRecord& record, const Arrival& arrival,
                                              Bytes reserved, Told& told) noexcept {
        arrival.describe(record.facts);
        const auto number =
            ledger_->add(account_, record.facts.booking, arrival.ticks, reserved, told);
        if (!number) {
            store_.put(record);
            return fail(number.error());
        }
        record.facts.number = *number;
        record.mapping.store(nullptr, std::memory_order_relaxed);
        record.state = BlockState::Live;
        record.held.store(true, std::memory_order_relaxed);
        record.count.store(1, std::memory_order_relaxed);
        live_.push_back(record);
        census_.add(record.facts.booking);
        return {};
    }

    /// Out of list and books, on its way to the driver; without a driver to give the chunk to, the
    /// books keep it.
    [[gnu::always_inline]] void take_out(BlockRecord& record, Leaving& leaving,
                                         std::uint64_t ticks) noexcept {
        live_.erase(live_.iterator_to(record));
        census_.remove(record.facts.booking);
        if (record.weak != nullptr) leaving.weak = leave_lists(record);
        leaving.usable = static_cast<const D&>(driver_).usable();
        if (!leaving.usable) return;
        leaving.booked =
            ledger_->remove(account_, record.facts.booking, ticks, leaving.told).has_value();
        record.leaving.store(true, std::memory_order_relaxed);
    }

    /// The oldest block, out of everything and its handles empty; null where there is none.
    BlockRecord* pop(Survivor& row, Leaving& leaving) noexcept {
        for (;;) {
            std::uint32_t channel = home_;
            {
                const auto lock = ledger_->lock(account_.core, home_);
                if (live_.empty()) return nullptr;
                channel = live_.front().facts.channel();
            }
            const auto& clock = ledger_->clock();
            const auto now = clock.look(); // never under the lock
            const auto lock = ledger_->lock(account_.core, channel);
            if (live_.empty()) return nullptr;
            BlockRecord& record = live_.front();
            if (record.facts.channel() != channel) continue; // freed in between
            row = survivor_row(record, account_, clock, now);
            leaving = {};
            take_out(record, leaving, now.stamp);
            record.state = BlockState::Orphan;
            record.held.store(false, std::memory_order_release);
            ++orphans_;
            return &record;
        }
    }

    /// Outside every lock. The record is `leaving`, so its facts stay until the end.
    Result<void> give_back(BlockRecord& record, Leaving& leaving) noexcept {
        if (leaving.weak != nullptr) delete_chain(leaving.weak);
        if (!leaving.usable) return not_up();
        const BlockFacts& facts = record.facts;
        if (!leaving.booked) report("the ledger refuses to take out", facts, 0);
        if constexpr (kObserves<Observer>)
            if (leaving.booked) ledger_->observer().freed(leaving.told);
        if constexpr (MapOps<D>)
            if (void* at = record.mapping.load(std::memory_order_acquire))
                if (auto gone = driver_.unmap(at, facts.chunk()); !gone)
                    report("the kernel refuses to unmap", facts, gone.error().os_error);
        const auto freed = driver_.free(device, facts.chunk());
        if (!freed) lose(facts, freed.error().os_error);
        record.leaving.store(false, std::memory_order_release); // the last touch: close() may end
        if (freed) return {};                                   // not a copy of the whole Result
        return fail(freed.error());
    }

    void lose(const BlockFacts& facts, std::int32_t os_error) noexcept {
        report("the driver refuses to free", facts, os_error);
        ledger_->lose(facts.booking.charge);
        const auto lock = ledger_->lock(account_.core, home_);
        lost_.add(facts.booking);
    }

    void report(const char* what, const BlockFacts& facts, std::int32_t number) const noexcept {
        Log::write(LogLevel::Error, "%s %llu bytes of device %u, handle %llu: errno %d", what,
                   static_cast<unsigned long long>(facts.booking.charge.bytes.count()),
                   device.value(), static_cast<unsigned long long>(facts.handle.value()), number);
    }

    bool any_leaving() noexcept {
        const auto lock = ledger_->lock(account_.core, home_);
        return store_.any_leaving();
    }

    D& driver_;
    std::shared_ptr<L> ledger_;
    OwnerAccount account_;
    const std::uint32_t home_; ///< channel whose lock is the core's
    ProcessMark process_;
    Records store_;
    RecordList<BlockRecord> live_;
    BlockCount census_;
    BlockCount lost_;
    std::uint64_t orphans_ = 0;
    bool closed_ = false;
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
