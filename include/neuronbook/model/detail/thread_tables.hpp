// SPDX-License-Identifier: Apache-2.0
//
// A table of counts for each thread, and their sum.
// Owns: the tables, and who has which. Does not own: cells.
// Layer: model.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>

#include "neuronbook/base/process_mark.hpp"
#include "neuronbook/base/thread_id.hpp"
#include "neuronbook/model/detail/count_cell.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// The counts of one thread, one a cell; only the thread itself writes them. A reference that is
/// given back by another thread than took it leaves the one above zero and the other below, so only
/// the sum over all tables, modulo 2^32, says anything. So a thread that ends leaves its counts as
/// they are, and the next one that has the table goes on from there.
///
/// A power of two in size and alignment, so that from a count one gets to its table.
struct alignas(16384) ThreadTable {
    /// Cells with higher numbers are counted in the cell.
    static constexpr std::uint32_t kCells = 4096 - 16;

    static const ThreadTable* of(const std::atomic<std::uint32_t>* count) noexcept {
        return reinterpret_cast<const ThreadTable*>(reinterpret_cast<std::uintptr_t>(count) &
                                                    ~(alignof(ThreadTable) - 1));
    }

    ThreadTable* next = nullptr; ///< of all tables there ever were
    ThreadId owner{};
    alignas(64) std::atomic<std::uint32_t> counts[kCells]{};
};
static_assert(sizeof(ThreadTable) == alignof(ThreadTable));
static_assert(offsetof(ThreadTable, counts) == sizeof(ThreadTable) - sizeof(ThreadTable::counts));

/// What a thread remembers, so that it finds its table without a call. A shared object with hidden
/// symbols has one of its own; then the thread's two memories lead to the same table. Trivial, so
/// that the compiler puts no call before each access.
struct ThreadMemory {
    std::uintptr_t home = 1; ///< of the table; 1: none yet, no cell is counted there
    ThreadTable* table = nullptr;

    /// From the table to the count of a cell; inside of a table only if both have the same home.
    [[nodiscard]] std::uintptr_t offset(const CountCell& cell) const noexcept {
        return cell.counted_at - home;
    }
    [[nodiscard]] static bool fits(std::uintptr_t offset) noexcept {
        return offset < sizeof(ThreadTable);
    }
    /// Requires: fits(offset).
    [[nodiscard]] std::atomic<std::uint32_t>* count(std::uintptr_t offset) const noexcept {
        auto* count = reinterpret_cast<std::atomic<std::uint32_t>*>(
            reinterpret_cast<std::uintptr_t>(table) + offset);
        if (!count) __builtin_unreachable(); // or callers would look
        return count;
    }
};
/// initial-exec: in a shared object the general form would cost as much as the counting. It takes
/// 16 bytes of what the C library keeps for this (1664 in a process, unless told otherwise).
[[gnu::tls_model("initial-exec")]] inline constinit thread_local ThreadMemory thread_memory{};

/// Thread safety: every member may be called from any thread. Tables are never freed, only had by
/// another thread once the kernel no longer knows the one before: nothing runs when a thread ends,
/// so its last destructors may still give references back.
///
/// Two such objects are further apart than a table is large: that is how a cell tells with one word
/// where in which tables it is counted.
class alignas(ThreadTable) ThreadTables {
public:
    ThreadTables() noexcept = default;
    ThreadTables(const ThreadTables&) = delete;
    ThreadTables& operator=(const ThreadTables&) = delete;
    ~ThreadTables() {
        while (auto* table = first_) {
            first_ = table->next;
            delete table;
        }
    }

    /// What a cell has in `counted_at`; 0 beyond the end of a table.
    [[nodiscard]] std::uintptr_t place_of(std::uint32_t index) const noexcept {
        if (index >= ThreadTable::kCells) return 0;
        return home() + sizeof(ThreadTable) - sizeof(ThreadTable::counts) +
               index * sizeof(ThreadTable::counts[0]);
    }

    /// The table of the calling thread, which remembers it; null if there is no memory for one, and
    /// in a child of fork(), where other threads' tables are nobody's. Slow: for the first time.
    ThreadTable* mine() const noexcept {
        if (!mark_.here()) return nullptr;
        const auto me = ThreadId::self();
        auto* table = of(me);
        if (!table) {
            table = new (std::nothrow) ThreadTable;
            if (!table) return nullptr;
            table->owner = me;
            const std::lock_guard lock(mutex_);
            table->next = first_;
            first_ = table;
        }
        thread_memory = {home(), table};
        return table;
    }

    /// References to the model of a cell, modulo 2^32. While one moves between threads it may be
    /// counted more than once, never not at all: once no more can be had, zero is for good.
    /// Requires: the cell is one that threads count for.
    [[nodiscard]] std::uint32_t sum(const CountCell& cell) const noexcept {
        std::uint32_t sum = cell.elsewhere.load(std::memory_order_seq_cst);
        const auto index = (cell.counted_at - place_of(0)) / sizeof(ThreadTable::counts[0]);
        const std::lock_guard lock(mutex_);
        for (const auto* table = first_; table; table = table->next)
            sum += table->counts[index].load(std::memory_order_acquire);
        return sum;
    }

    /// How many tables there are.
    [[nodiscard]] std::uint32_t tables() const noexcept {
        const std::lock_guard lock(mutex_);
        std::uint32_t count = 0;
        for (const auto* table = first_; table; table = table->next) ++count;
        return count;
    }

private:
    [[nodiscard]] std::uintptr_t home() const noexcept {
        return reinterpret_cast<std::uintptr_t>(this);
    }

    /// A table that is mine already (by way of another shared object), or whose thread has ended.
    /// The kernel is asked under the lock: a new thread with the old one's number would otherwise
    /// come in between.
    [[nodiscard]] ThreadTable* of(ThreadId me) const noexcept {
        const std::lock_guard lock(mutex_);
        for (auto* table = first_; table; table = table->next)
            if (table->owner == me) return table;
        for (auto* table = first_; table; table = table->next)
            if (!table->owner.runs()) {
                table->owner = me;
                return table;
            }
        return nullptr;
    }

    ProcessMark mark_;
    mutable std::mutex mutex_;
    mutable ThreadTable* first_ = nullptr;
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
