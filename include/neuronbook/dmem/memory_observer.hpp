// SPDX-License-Identifier: Apache-2.0
//
// Who wants to be told of allocations and frees as they happen.
// Owns: the contract of an observer. Does not own: events (memory_event.hpp).
// Layer: dmem.   libnrt: tdrv_nds_register_mem_alloc, tdrv_nds_register_mem_free. Source: tables.md
// 15
#pragma once

#include <concepts>

#include "neuronbook/base/result.hpp"
#include "neuronbook/dmem/memory_event.hpp"

namespace neuronbook {
inline namespace v0 {

/// An observer. Called by the thread that allocates or frees, with no lock of the library held but
/// the turn to grow a pool, where the block is a chunk of one (it must not use that pool then), so
/// calls of several threads overlap and may come in another order than the events' numbers tell.
/// - `allocated(event)`: a block is there and booked.
/// - `freed(event)`: a block is out of the books; the driver has not been called yet.
/// - `refused(error)`: an allocation failed, with all the numbers.
template <class O>
concept MemoryObserver =
    std::move_constructible<O> && requires(O observer, const MemoryEvent& event, const Error& e) {
        { observer.allocated(event) } noexcept;
        { observer.freed(event) } noexcept;
        { observer.refused(e) } noexcept;
    };

/// Nobody. Costs nothing: events are not even copied for it.
struct NullObserver {
    static constexpr bool kSilent = true;
    void allocated(const MemoryEvent&) const noexcept {}
    void freed(const MemoryEvent&) const noexcept {}
    void refused(const Error&) const noexcept {}
};

static_assert(MemoryObserver<NullObserver>);

namespace detail {

/// Whether events have to be copied out for the observer.
template <class O>
inline constexpr bool kObserves = !requires { requires O::kSilent; };

} // namespace detail
} // namespace v0
} // namespace neuronbook
