// SPDX-License-Identifier: Apache-2.0
//
// What a pool has of one HBM, or of the host: chunks, blocks, and the lock of them all.
// Owns: the blocks, until the last handle or the pool's end; the chunks. Does not own: growing
// (pool_supply.hpp), the driver. Layer: dmem.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/process_mark.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/allocation_request.hpp"
#include "neuronbook/dmem/block.hpp"
#include "neuronbook/dmem/detail/block_record.hpp"
#include "neuronbook/dmem/detail/pool_books.hpp"
#include "neuronbook/dmem/detail/pool_record.hpp"
#include "neuronbook/dmem/detail/pool_waiting.hpp"
#include "neuronbook/dmem/detail/stamp_clock.hpp"
#include "neuronbook/dmem/detail/survivor_row.hpp"
#include "neuronbook/dmem/detail/weak_entry.hpp"
#include "neuronbook/dmem/owner_account.hpp"
#include "neuronbook/dmem/pool/pool_statistics.hpp"
#include "neuronbook/dmem/pool/segregated_fit.hpp"
#include "neuronbook/dmem/pool/work_queue.hpp"
#include "neuronbook/dmem/survivor.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// What a block is to be, when the rules are checked.
struct PoolWish {
    const AllocationRequest& request;
    std::uint32_t category = 0;
    std::uint64_t size = 0; ///< whole granules
    std::uint64_t number = 0;
    std::uint64_t ticks = 0;
};

/// Lives until the pool and the last record are gone. No driver call and no host memory under its
/// lock; handles free their blocks without the pool, and without the driver.
template <class Mutex>
class PoolArena final : public BlockOwner {
public:
    using BlockOwner::BlockOwner;
    PoolArena(const PoolArena&) = delete;
    PoolArena& operator=(const PoolArena&) = delete;

    /// Effects: a block with one handle where there is room, also in what queues are done with.
    /// Returns: null where there is none. std::bad_alloc passes through.
    PoolRecord* take(const PoolWish& wish) {
        for (;;) {
            PoolWaiting::Lines gone; // goes after the lock
            const Disposer later{gone};
            std::unique_lock lock(mutex_);
            if (!prepared(fit_.ready())) {
                prepare(lock);
                continue;
            }
            auto place = fit_.allocate(wish.size, wish.request.alignment.count());
            if (place == SegregatedFit::kNone && collect(gone))
                place = fit_.allocate(wish.size, wish.request.alignment.count());
            return place == SegregatedFit::kNone ? nullptr : &start(place, wish);
        }
    }

    /// Effects: the chunk is the pool's; with a wish, a block is cut from it, which fits. Returns:
    /// that block. std::bad_alloc passes through; then the chunk goes back.
    PoolRecord* add(Block chunk, const PoolWish* wish) {
        auto segment = std::make_unique<PoolSegment>(chunk);
        for (;;) {
            std::unique_lock lock(mutex_);
            if (!prepared(fit_.ready_to_add())) {
                prepare(lock);
                continue;
            }
            fit_.add(*segment);
            segments_.push_front(*segment);
            books_.chunk_comes(*segment);
            const PoolSegment& added = *segment.release();
            if (wish == nullptr) return nullptr;
            return &start(fit_.allocate_in(added, wish->size, wish->request.alignment.count()),
                          *wish);
        }
    }

    /// Effects: moves chunks without a block to `leaving`, until no more than `keep` bytes are
    /// reserved.
    void release(LeavingSegments& leaving, std::uint64_t keep) {
        PoolWaiting::Lines gone;
        const Disposer later{gone};
        const std::lock_guard lock(mutex_);
        collect(gone);
        for (auto before = segments_.before_begin(); std::next(before) != segments_.end();) {
            PoolSegment& segment = *std::next(before);
            if (books_.reserved <= keep || !fit_.unused(segment)) {
                ++before;
                continue;
            }
            fit_.remove(segment);
            segments_.erase_after(before);
            books_.chunk_goes(segment);
            leaving.take(segment);
        }
    }

    /// Effects: what the queues are done with is free. Returns: whether anything was.
    bool collect() {
        PoolWaiting::Lines gone;
        const Disposer later{gone};
        const std::lock_guard lock(mutex_);
        return collect(gone);
    }

    Result<void> finish(BlockRecord& base) noexcept override {
        if (!process_.here()) return not_up(); // the lock may belong to a thread that is not here
        auto& record = static_cast<PoolRecord&>(base);
        WeakEntry* weak = nullptr;
        {
            std::unique_lock lock(mutex_);
            // find() may have made a handle since the last one went; 0 is never counted up again.
            if (record.count.load(std::memory_order_acquire) > 1 &&
                record.count.fetch_sub(1, std::memory_order_acq_rel) != 1)
                return {};
            if (record.state == BlockState::Orphan) {
                records_.put(record);
                const bool last = --orphans_ == 0 && closed_;
                lock.unlock();
                if (last) delete this;
                return closed();
            }
            weak = retire(record);
            put_back(record);
        }
        delete_chain(weak);
        return {};
    }

    /// Effects: frees a block when a queue has reached `point`; `false` if it has a second handle.
    /// std::bad_alloc passes through; then the block is as before.
    bool free_after(PoolRecord& record, const WorkQueue& queue, std::uint64_t point) {
        const auto progress = QueueAccess::progress(queue);
        std::unique_ptr<PoolWaiting::Line> fresh;
        WeakEntry* weak = nullptr;
        for (;;) {
            {
                const std::lock_guard lock(mutex_);
                if (record.count.load(std::memory_order_acquire) != 1) return false;
                auto* line = waiting_.line(progress.get());
                if (line == nullptr && fresh) line = waiting_.add(std::move(fresh));
                if (line != nullptr) {
                    record.count.store(0, std::memory_order_relaxed);
                    weak = retire(record);
                    record.state = BlockState::Waiting;
                    record.fence = point;
                    books_.waits(record.facts.booking);
                    PoolWaiting::push(*line, record);
                    break;
                }
            }
            fresh = std::make_unique<PoolWaiting::Line>(progress);
        }
        delete_chain(weak);
        return true;
    }

    bool enter(BlockRecord& record, WeakEntry& entry) noexcept override {
        if (!process_.here()) return false;
        WeakEntry* stale = nullptr;
        bool live = false;
        {
            const std::lock_guard lock(mutex_);
            live = enter_list(record, entry, stale);
        }
        delete_chain(stale);
        return live;
    }

    [[nodiscard]] Chunk chunk_of(const BlockRecord& record) const noexcept override {
        return static_cast<const PoolRecord&>(record).chunk;
    }

    /// The live block that an address lies in, with a handle more; null where there is none.
    PoolRecord* find(std::uint64_t address) noexcept {
        const std::lock_guard lock(mutex_);
        const auto place = fit_.find(address);
        if (place == SegregatedFit::kNone) return nullptr;
        auto* record = static_cast<PoolRecord*>(fit_.holder(place));
        const Booking& booking = record->facts.booking;
        if (address - booking.address.value() >= booking.requested.count()) return nullptr;
        auto count = record->count.load(std::memory_order_relaxed);
        while (count != 0 &&
               !record->count.compare_exchange_weak(count, count + 1, std::memory_order_relaxed)) {}
        return count == 0 ? nullptr : record; // 0: it waits, or its last handle is being dropped
    }

    /// The chunk that a live block lies in.
    [[nodiscard]] const PoolSegment& segment_of(const PoolRecord& record) noexcept {
        const std::lock_guard lock(mutex_);
        return static_cast<const PoolSegment&>(fit_.segment_of(record.place));
    }

    [[nodiscard]] PoolStatistics statistics() noexcept {
        const std::lock_guard lock(mutex_);
        return books_.statistics(fit_);
    }
    [[nodiscard]] Bytes reserved() noexcept {
        const std::lock_guard lock(mutex_);
        return Bytes{books_.reserved};
    }
    [[nodiscard]] BlockCount outstanding() noexcept {
        const std::lock_guard lock(mutex_);
        return books_.live;
    }
    /// Effects: adds a row for each block that has a handle.
    void survivors(std::vector<Survivor>& rows, const OwnerAccount& owner,
                   const StampClock& clock) {
        for (std::size_t room = 16;; room *= 4) { // no memory is taken under the lock
            rows.reserve(rows.size() + room);
            const auto now = clock.look();
            const std::lock_guard lock(mutex_);
            if (books_.live.blocks > rows.capacity() - rows.size()) continue;
            for (const PoolRecord& record : live_)
                rows.push_back(survivor_row(record, owner, clock, now));
            return;
        }
    }

    /// Effects: the oldest block's handles are empty from now on. False: there is none.
    bool pop(Survivor& row, const OwnerAccount& owner, const StampClock& clock) noexcept {
        WeakEntry* weak = nullptr;
        {
            const auto now = clock.look();
            const std::lock_guard lock(mutex_);
            if (live_.empty()) return false;
            PoolRecord& record = live_.front();
            row = survivor_row(record, owner, clock, now);
            weak = retire(record);
            fit_.free(record.place);
            record.state = BlockState::Orphan;
            ++orphans_;
        }
        delete_chain(weak);
        return true;
    }
    /// Effects: the pool ends; its chunks go, whatever a queue may still do in them. Returns: bytes
    /// that were still waiting. Requires: no live block. The arena is gone if no handle is left.
    std::uint64_t close() noexcept {
        std::uint64_t waited = 0;
        {
            LeavingSegments leaving; // goes after the lock
            const std::lock_guard lock(mutex_);
            waited = books_.waiting();
            waiting_.drop([this](PoolRecord& record) { put_back(record); });
            while (!segments_.empty()) {
                PoolSegment& segment = segments_.front();
                segments_.pop_front();
                fit_.remove(segment);
                leaving.take(segment);
            }
        }
        std::unique_lock lock(mutex_);
        closed_ = true;
        const bool last = orphans_ == 0;
        lock.unlock();
        if (last) delete this;
        return waited;
    }
    /// Whether another chunk could not be told apart from those that are there.
    [[nodiscard]] bool full() noexcept {
        const std::lock_guard lock(mutex_);
        return fit_.segments().size() >= SegregatedFit::kMaxSegments;
    }
    /// For a thread that must not meet another one in the same step.
    [[nodiscard]] Mutex& growing() noexcept { return growing_; }

private:
    struct Disposer {
        PoolWaiting::Lines& lines;
        ~Disposer() { PoolWaiting::dispose(lines); }
    };

    ~PoolArena() = default; // of a handle or of the pool, whichever is last

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

    [[nodiscard]] bool prepared(bool fit) const noexcept { return fit && !records_.empty(); }
    /// Effects: takes the host memory that is missing, without the lock, which is open afterwards.
    void prepare(std::unique_lock<Mutex>& lock) {
        const bool records = records_.empty();
        const bool nodes = !fit_.ready_to_add();
        const auto extent = fit_.extent();
        lock.unlock();
        if (records) {
            auto page = RecordStore<PoolRecord>::make_page(*this);
            const std::lock_guard again(mutex_);
            records_.add(std::move(page));
        }
        if (nodes) {
            auto room = SegregatedFit::make_room(extent); // the old arrays go after the lock
            const std::lock_guard again(mutex_);
            fit_.give(room);
        }
    }

    PoolRecord& start(SegregatedFit::Place place, const PoolWish& wish) noexcept {
        PoolRecord& record = *records_.take(); // no record of a pool is ever `leaving`
        const auto& segment = static_cast<const PoolSegment&>(fit_.segment_of(place));
        const Chunk& chunk = segment.chunk;
        record.place = place;
        fit_.set_holder(place, &record);
        BlockFacts& facts = record.facts;
        facts.handle = chunk.handle;
        facts.booking = {.charge = {.usage = wish.request.usage,
                                    .location = chunk.location,
                                    .hbm = chunk.hbm,
                                    .core = core.core,
                                    .category = wish.category,
                                    .bytes = Bytes{wish.size}},
                         .requested = wish.request.size,
                         .address = DeviceAddress{segment.address() + fit_.offset(place)},
                         .hint = wish.request.hint};
        facts.number = wish.number;
        facts.ticks = wish.ticks;
        record.chunk = chunk;
        record.mapping.store(nullptr, std::memory_order_relaxed);
        record.state = BlockState::Live;
        record.held.store(true, std::memory_order_relaxed);
        record.count.store(1, std::memory_order_relaxed);
        live_.push_back(record);
        books_.comes(facts.booking);
        return record;
    }

    /// Effects: out of the list, its handles empty. Returns: what to delete without the lock.
    [[nodiscard]] WeakEntry* retire(PoolRecord& record) noexcept {
        live_.erase(live_.iterator_to(record));
        books_.goes(record.facts.booking);
        record.held.store(false, std::memory_order_release);
        return record.weak != nullptr ? leave_lists(record) : nullptr;
    }
    void put_back(PoolRecord& record) noexcept {
        if (record.state == BlockState::Waiting) books_.waited(record.facts.booking);
        fit_.free(record.place);
        records_.put(record);
    }
    bool collect(PoolWaiting::Lines& gone) noexcept {
        return waiting_.collect(gone, [this](PoolRecord& record) { put_back(record); });
    }

    Mutex mutex_;
    Mutex growing_; ///< taken before mutex_
    ProcessMark process_;
    SegregatedFit fit_;
    PoolSegments segments_;           ///< the driver has them back before the arena ends
    RecordStore<PoolRecord> records_; ///< ends after what lists its records
    PoolRecordList live_;             ///< oldest first
    PoolWaiting waiting_;
    PoolBooks books_;
    std::uint64_t orphans_ = 0;
    bool closed_ = false;
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
