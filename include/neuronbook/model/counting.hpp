// SPDX-License-Identifier: Apache-2.0
//
// Two ways to count references to a model, behind one interface.
// Owns: the concept and both ways. Does not own: the cells counted in, or who waits for zero.
// Layer: model.   libnrt: ref_count
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "neuronbook/base/process_barrier.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/model/detail/count_cell.hpp"
#include "neuronbook/model/detail/thread_tables.hpp"

namespace neuronbook {
inline namespace v0 {

/// How a database counts references. `hold` and `drop` come from any thread at any time, also for a
/// cell that has become another model's, or nobody's, since it was looked up.
/// - `Token`: what `hold` returns and `drop` gets back; converts to false where none was taken.
/// - `hold(cell, handle)`: takes a reference, unless the cell is not open for that handle.
/// - `drop(cell, token)`: gives it back; rings the cell's bell if that may have been the last one
/// to
///   a leaving model.
/// - `settle()`: called once after a cell was shut, under no lock; afterwards `held(cell)` knows of
///   each reference that was or will be taken.
/// - `held(cell)`: references to a cell that was shut and settled. Zero is for good.
/// - `available()`: whether it works as it should here, or falls back.
template <class C>
concept CountPolicy = requires(detail::CountCell& cell, const detail::CountCell& seen,
                               std::uint32_t handle, typename C::Token token) {
    { C::hold(cell, handle) } noexcept -> std::same_as<typename C::Token>;
    { C::drop(cell, token) } noexcept -> std::same_as<void>;
    { C::settle() } noexcept -> std::same_as<void>;
    { C::held(seen) } noexcept -> std::same_as<std::uint32_t>;
    { C::available() } noexcept -> std::same_as<Result<void>>;
    requires std::is_trivially_copyable_v<typename C::Token>;
    requires std::constructible_from<bool, typename C::Token>;
};

/// One count for all threads, changed by atomic additions: works everywhere, costs two of them. The
/// default.
class SharedCount {
public:
    using Token = bool;

    static Token hold(detail::CountCell& cell, std::uint32_t handle) noexcept {
        const auto word = cell.word.fetch_add(1, std::memory_order_acquire);
        if (detail::CountCell::handle_of(word) == handle) [[likely]]
            return true;
        drop(cell, true); // whose it is now may be leaving and wait for this very count
        return false;
    }
    static void drop(detail::CountCell& cell, Token) noexcept {
        const auto before = cell.word.fetch_sub(1, std::memory_order_release);
        if ((before & (detail::CountCell::kLeaving | detail::CountCell::kCount)) ==
            (detail::CountCell::kLeaving | 1)) [[unlikely]]
            cell.bell.ring();
    }
    static void settle() noexcept {}
    [[nodiscard]] static std::uint32_t held(const detail::CountCell& cell) noexcept {
        return static_cast<std::uint32_t>(cell.word.load(std::memory_order_acquire) &
                                          detail::CountCell::kCount);
    }
    [[nodiscard]] static Result<void> available() noexcept { return {}; }
};

/// A count for each thread, which the thread changes by plain loads and stores; whoever removes a
/// model makes every thread run a fence instead (ProcessBarrier), and then adds the counts up.
/// Several times cheaper to take and give back, many times where threads share a model; a removal
/// costs microseconds and looks at every thread.
///
/// Where the barrier cannot be had, and for a thread that gets no table, references are counted in
/// the cell by fenced additions: right, but dearer than SharedCount. available() tells.
class ThreadCounts {
public:
    /// The count that went up: the thread's, or `elsewhere` of the cell.
    using Token = std::atomic<std::uint32_t>*;

    static Token hold(detail::CountCell& cell, std::uint32_t handle) noexcept {
        auto offset = detail::thread_memory.offset(cell);
        if (!detail::ThreadMemory::fits(offset)) [[unlikely]] {
            if (!learns(cell)) return hold_elsewhere(cell, handle);
            offset = detail::thread_memory.offset(cell);
        }
        auto* count = detail::thread_memory.count(offset);
        count->store(count->load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        // The processor may still see the word before others see the count: the barrier of whoever
        // shuts the cell comes between the two, or after both.
        std::atomic_signal_fence(std::memory_order_seq_cst);
        const auto word = cell.word.load(std::memory_order_acquire);
        if (detail::CountCell::handle_of(word) == handle) [[likely]]
            return count;
        drop(cell, count);
        return nullptr;
    }
    static void drop(detail::CountCell& cell, Token count) noexcept {
        if (detail::ThreadTable::of(count) != detail::thread_memory.table) [[unlikely]]
            return drop_elsewhere(cell); // another thread's, or nobody's
        count->store(count->load(std::memory_order_relaxed) - 1, std::memory_order_release);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        const auto word = cell.word.load(std::memory_order_relaxed);
        if ((word & detail::CountCell::kLeaving) != 0) [[unlikely]]
            cell.bell.ring();
    }
    static void settle() noexcept {
        if (ProcessBarrier::usable()) ProcessBarrier::pass();
    }
    [[nodiscard]] static std::uint32_t held(const detail::CountCell& cell) noexcept {
        return cell.counted_at != 0 ? cell.tables->sum(cell)
                                    : cell.elsewhere.load(std::memory_order_seq_cst);
    }
    [[nodiscard]] static Result<void> available() noexcept { return ProcessBarrier::available(); }

private:
    /// Whether the calling thread can count for the cell in a table, from now on.
    [[gnu::noinline, gnu::cold]] static bool learns(const detail::CountCell& cell) noexcept {
        return cell.counted_at != 0 && ProcessBarrier::usable() && cell.tables->mine();
    }

    [[gnu::noinline, gnu::cold]] static Token hold_elsewhere(detail::CountCell& cell,
                                                             std::uint32_t handle) noexcept {
        cell.elsewhere.fetch_add(1, std::memory_order_seq_cst);
        const auto word = cell.word.load(std::memory_order_seq_cst);
        if (detail::CountCell::handle_of(word) == handle) return &cell.elsewhere;
        drop_elsewhere(cell);
        return nullptr;
    }
    [[gnu::noinline, gnu::cold]] static void drop_elsewhere(detail::CountCell& cell) noexcept {
        cell.elsewhere.fetch_sub(1, std::memory_order_seq_cst);
        const auto word = cell.word.load(std::memory_order_seq_cst);
        if ((word & detail::CountCell::kLeaving) != 0) cell.bell.ring();
    }
};

static_assert(CountPolicy<SharedCount>);
static_assert(CountPolicy<ThreadCounts>);

} // namespace v0
} // namespace neuronbook
