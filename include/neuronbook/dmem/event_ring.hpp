// SPDX-License-Identifier: Apache-2.0
//
// The last allocations and frees of one HBM, in order.
// Owns: the events and their numbers. Does not own: what an event says (memory_event.hpp), the lock
// that guards it. Layer: dmem.   libnrt: dma_mem_log_t (its ring). Source: tables.md 8 and 22
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "neuronbook/dmem/charge.hpp"
#include "neuronbook/dmem/memory_event.hpp"

namespace neuronbook {
inline namespace v0 {

/// The event of a booking. `total`: of its channel, after it.
[[nodiscard]] inline MemoryEvent event_of(MemoryAction action, const Booking& booking,
                                          std::uint64_t number, std::uint64_t ticks,
                                          std::uint64_t total, std::uint32_t owner) noexcept {
    const Charge& charge = booking.charge;
    return {.number = number,
            .ticks = ticks,
            .size = charge.bytes.count(),
            .requested = booking.requested.count(),
            .address = booking.address.value(),
            .channel_total = total,
            .align_offset = booking.align_offset,
            .action = action,
            .location = charge.location,
            .usage = charge.usage,
            .hbm = static_cast<std::uint8_t>(charge.on_host() ? 0 : charge.hbm),
            .core = static_cast<std::uint8_t>(charge.core.value()),
            .owner = owner,
            .hint = booking.hint};
}

/// A ring of events that overwrites the oldest and counts what it overwrote. Numbers go on, also
/// past 2^64 - 1, where they begin again at 0. Of a hint, the first 24 characters are kept.
///
/// Thread safety: prepare() may be called from any thread; everything else under the owner's lock.
/// Takes its memory at the first prepare(), and the system gives pages as they are written.
///
/// Differs: the original keeps a pointer to each block's hint, which dangles once it is freed.
class EventRing {
public:
    /// `first`: number of the first event.
    explicit EventRing(std::size_t capacity = 0, std::uint64_t first = 1) noexcept
        : capacity_(capacity), first_number_(first), next_number_(first) {}
    EventRing(const EventRing&) = delete;
    EventRing& operator=(const EventRing&) = delete;
    ~EventRing() { delete[] slots_.load(std::memory_order_relaxed); }

    /// Effects: takes the memory, if it has none. Call it without a lock, before an event that is
    /// to be kept. std::bad_alloc passes through.
    void prepare() {
        if (capacity_ == 0 || slots_.load(std::memory_order_relaxed) != nullptr) return;
        // Not initialised: nobody reads what was not written, and untouched pages cost nothing.
        auto slots = std::make_unique_for_overwrite<Slot[]>(capacity_ + kAhead);
        Slot* none = nullptr;
        if (slots_.compare_exchange_strong(none, slots.get(), std::memory_order_acq_rel))
            (void)slots.release();
    }

    /// Effects: enters an event; it is only counted where there is no room. Returns: its number.
    [[gnu::always_inline]] std::uint64_t add(MemoryAction action, const Booking& booking,
                                             std::uint64_t ticks, std::uint64_t channel_total,
                                             std::uint32_t owner) noexcept {
        const std::uint64_t number = next_number_++;
        Slot* const slots = slots_.load(std::memory_order_acquire);
        if (slots == nullptr) {
            ++missed_;
            return number;
        }
        Slot* const slot = slots + at_;
        if (++at_ == capacity_) at_ = 0;
        __builtin_prefetch(slot + kAhead, 1);
        slot->set(action, booking, ticks, channel_total, owner);
        return number;
    }

    /// Events that are gone: overwritten, or never kept.
    [[nodiscard]] std::uint64_t dropped() const noexcept {
        return next_number_ - first_number_ - size();
    }
    [[nodiscard]] std::size_t size() const noexcept {
        return std::min<std::uint64_t>(next_number_ - first_number_ - missed_, capacity_);
    }
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

    /// Effects: appends the events that are kept, oldest first. Requires: room in `out`, as no
    /// memory is taken under a lock.
    void copy_to(std::vector<MemoryEvent>& out) const noexcept {
        const Slot* const slots = slots_.load(std::memory_order_acquire);
        const std::size_t held = size();
        const std::size_t first = held == capacity_ ? at_ : 0;
        const std::size_t room = std::min(held, out.capacity() - out.size());
        for (std::size_t i = 0; i < room; ++i)
            out.push_back(slots[(first + i) % capacity_].get(next_number_ - held + i));
    }

private:
    /// So many events ahead a slot's line is asked for: the ring is larger than a cache, and the
    /// next lock would wait for the line.
    static constexpr std::size_t kAhead = 10;

    /// As small as it gets: at full speed the ring is written faster than a cache holds it.
    struct Slot {
        void set(MemoryAction action, const Booking& booking, std::uint64_t now,
                 std::uint64_t channel_total, std::uint32_t by) noexcept {
            const Charge& charge = booking.charge;
            ticks = now;
            size = charge.bytes.count();
            address = booking.address.value();
            total = channel_total;
            requested = booking.requested.count();
            align_offset = booking.align_offset;
            owner = by;
            what = static_cast<std::uint8_t>(static_cast<std::uint32_t>(action) << 4 |
                                             static_cast<std::uint32_t>(charge.location));
            usage = static_cast<std::uint8_t>(charge.usage);
            where = static_cast<std::uint8_t>(charge.hbm << 4 | charge.core.value());
            length = static_cast<std::uint8_t>(booking.hint.view().size());
            // Of a fixed length: a few moves.
            std::memcpy(hint.data(), booking.hint.view().data(), hint.size());
        }
        [[nodiscard]] MemoryEvent get(std::uint64_t number) const noexcept {
            const auto location = static_cast<MemoryLocation>(what & 15);
            const bool on_host = location == MemoryLocation::Host;
            const auto size_kept = std::min<std::size_t>(length, hint.size());
            return {.number = number,
                    .ticks = ticks,
                    .size = size,
                    .requested = requested,
                    .address = address,
                    .channel_total = total,
                    .align_offset = align_offset,
                    .action = static_cast<MemoryAction>(what >> 4),
                    .location = location,
                    .usage = static_cast<Usage>(usage),
                    .hbm = static_cast<std::uint8_t>(on_host ? 0 : where >> 4),
                    .core = static_cast<std::uint8_t>(where & 15),
                    .owner = owner,
                    .hint = Hint(std::string_view(hint.data(), size_kept))};
        }

        std::uint64_t ticks;
        std::uint64_t size;
        std::uint64_t requested;
        std::uint64_t address;
        std::uint64_t total;
        std::uint32_t align_offset;
        std::uint32_t owner;
        std::uint8_t what;
        std::uint8_t usage;
        std::uint8_t where;
        std::uint8_t length;
        std::array<char, 24> hint;
    };
    static_assert(sizeof(Slot) == 80);

    std::size_t capacity_;
    std::atomic<Slot*> slots_{nullptr};
    std::size_t at_ = 0;
    std::uint64_t first_number_;
    std::uint64_t next_number_;
    std::uint64_t missed_ = 0; ///< before there was memory
};

} // namespace v0
} // namespace neuronbook
