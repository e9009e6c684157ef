// SPDX-License-Identifier: Apache-2.0
//
// Where the references to one model are counted.
// Owns: the word of a cell and how it is read. Does not own: cells (cell_pool.hpp), or who counts
// where (counting.hpp).
// Layer: model.   libnrt: ref_count
#pragma once

#include <atomic>
#include <cstdint>

#include "neuronbook/base/bell.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

class ThreadTables;

/// A reader may come with a handle whose model has just gone, so what it counts in must outlive
/// every model: cells are never freed, only used again. The number of the model stands in the same
/// word as the count, so whoever counts learns in the same step whether it is still the model it
/// meant, and takes its count back if not.
///
/// The word: handle (32 bits, 0 where no model can be had) | leaving (1) | references (31; only the
/// shared count keeps them here).
struct alignas(128) CountCell {
    static constexpr std::uint64_t kLeaving = std::uint64_t{1} << 31;
    static constexpr std::uint64_t kCount = kLeaving - 1;

    static constexpr std::uint64_t named(std::uint32_t handle) noexcept {
        return std::uint64_t{handle} << 32;
    }
    static constexpr std::uint32_t handle_of(std::uint64_t word) noexcept {
        return static_cast<std::uint32_t>(word >> 32);
    }

    // What is only read while a model is in use lies apart from what each reference changes.
    void* object = nullptr; ///< written while nobody can have it
    /// Where threads count for this cell: the address of `tables` and the place in each table; 0 if
    /// they do not.
    std::uintptr_t counted_at = 0;
    const ThreadTables* tables = nullptr;
    CountCell* next_free = nullptr;
    Bell bell{}; ///< rung when a reference to a leaving model is given back

    alignas(64) std::atomic<std::uint64_t> word{0};
    /// References that are neither in the word nor in the table of a thread that still runs, modulo
    /// 2^32: a thread may take all its life what others give back.
    std::atomic<std::uint32_t> elsewhere{0};

    /// Effects: from now on references to the model can be had. Requires: not in use.
    void open(std::uint32_t handle, void* model) noexcept {
        object = model;
        // An addition: a reader that came too late may just be counting and taking back.
        word.fetch_add(named(handle), std::memory_order_release);
    }
    /// Effects: no more references can be had; those that are given back are heard. Sequentially
    /// consistent, as are the readers' steps where there is no barrier to order the two.
    void shut(std::uint32_t handle) noexcept {
        word.fetch_add(kLeaving - named(handle), std::memory_order_seq_cst);
    }
    /// Effects: free for another model. Requires: shut, and nobody holds a reference.
    void retire() noexcept { word.fetch_sub(kLeaving, std::memory_order_relaxed); }
};
static_assert(sizeof(CountCell) == 128);

} // namespace detail
} // namespace v0
} // namespace neuronbook
