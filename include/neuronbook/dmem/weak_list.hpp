// SPDX-License-Identifier: Apache-2.0
//
// An index over blocks that owns none of them.
// Owns: its lines. Does not own: blocks, or references to them.
// Layer: dmem.   libnrt: dmem_list_t, gc_tracker, ref_list. Source: tables.md 6 and 22
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "neuronbook/base/result.hpp"
#include "neuronbook/dmem/block.hpp"
#include "neuronbook/dmem/detail/block_record.hpp"
#include "neuronbook/dmem/detail/weak_entry.hpp"

namespace neuronbook {
inline namespace v0 {

/// The blocks that belong together, a model's for instance, in the order in which they were
/// entered. A block that is freed leaves every list; clearing a list frees nothing. A block may be
/// in many lists, and in one several times.
///
/// Thread safety: every member may be called from any thread, also while blocks are freed.
///
/// libnrt: dmem_list_t.
/// Differs: the original's entries dangle once a block is freed.
class WeakList {
public:
    WeakList() : state_(std::make_shared<detail::WeakListState>()) {}
    WeakList(const WeakList&) = delete;
    WeakList& operator=(const WeakList&) = delete;
    WeakList(WeakList&&) noexcept = default;
    WeakList& operator=(WeakList&& other) noexcept {
        if (this != &other) clear();
        state_.swap(other.state_);
        return *this;
    }
    ~WeakList() { clear(); }

    /// Effects: enters the block; takes no reference. Errors: INVALID_HANDLE with UnknownHandle for
    /// an empty handle; CLOSED for one whose allocator has ended. std::bad_alloc passes through.
    /// libnrt: dmem_list_add
    Result<void> append(const Block& block) {
        auto* record = detail::BlockAccess::record(block);
        auto known = block.chunk();
        if (!known) return fail(known.error());
        if (!state_) state_ = std::make_shared<detail::WeakListState>(); // moved from before
        auto entry = std::make_unique<detail::WeakEntry>(*record, state_);
        if (!record->owner->enter(*record, *entry))
            return fail({.status = Status::Closed,
                         .operation = Operation::Query,
                         .detail = Detail::Closed,
                         .text = std::string_view("allocator")});
        (void)entry.release(); // the record's now
        return {};
    }

    /// Effects: forgets every block; frees none. Nothing in a child of fork().
    void clear() noexcept {
        if (!state_ || !state_->process.here()) return;
        const std::lock_guard lock(state_->mutex);
        state_->entries.clear();
    }

    /// How many blocks, and their bytes.
    [[nodiscard]] BlockCount count() const {
        BlockCount sum;
        visit([&](const detail::BlockRecord& record) { sum.add(record.facts.booking); });
        return sum;
    }

    /// Effects: calls `see(chunk, usage, requested)` for each block, in order. The list's lock is
    /// held, and whoever frees a block may hold a ledger's and wait for it: `see` must use neither
    /// the list, nor any block's handle, allocator, pool or ledger.
    template <class F>
    void for_each(F see) const {
        visit([&](const detail::BlockRecord& record) {
            const Booking& booking = record.facts.booking;
            see(record.owner->chunk_of(record), booking.charge.usage, booking.requested);
        });
    }

private:
    template <class F>
    void visit(F see) const {
        if (!state_ || !state_->process.here()) return;
        const std::lock_guard lock(state_->mutex);
        for (const auto& entry : state_->entries) see(std::as_const(entry.record));
    }

    std::shared_ptr<detail::WeakListState> state_; ///< null once moved from
};

} // namespace v0
} // namespace neuronbook
