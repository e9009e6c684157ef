// SPDX-License-Identifier: Apache-2.0
//
// Copies from one device to another.
// Owns: the way through the host. Does not own: the engines of the two cores.
// Layer: dmem.   Source: tables.md 22
#pragma once

#include <concepts>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/copy/copy_engine.hpp"
#include "neuronbook/dmem/copy/copy_progress.hpp"
#include "neuronbook/dmem/copy/detail/copy_errors.hpp"
#include "neuronbook/dmem/copy/detail/copy_turns.hpp"
#include "neuronbook/dmem/copy/detail/heap_copy.hpp"

namespace neuronbook {
inline namespace v0 {

/// Copies from a chunk of one engine's device to a chunk of another's, in pieces of 1 MiB through
/// memory of this process: a handle means something on its own device only, so no driver call names
/// both ends. Two cores of one device need none of this where both ends are on it: that is
/// CopyEngine::copy(), which this calls then.
/// Errors, progress: as CopyEngine::copy(). Thread safety: of the engines; none is held meanwhile.
template <class From, class To>
Result<void> copy_across(From& source, const Chunk& from, Bytes from_offset, To& target,
                         const Chunk& to, Bytes to_offset, Bytes size, ProgressRef progress = {}) {
    if constexpr (std::same_as<From, To>)
        if (source.same_device(target))
            return target.copy(from, from_offset, to, to_offset, size, progress);
    const detail::CopyPlace source_place{source.device(), source.core()};
    const detail::CopyPlace target_place{target.device(), target.core()};
    auto legal = source_place.check_range(from, from_offset, size, "source");
    if (legal) legal = target_place.check_range(to, to_offset, size, "destination");
    if (!legal) return legal;
    return detail::in_turns(target_place, size, kCopyTurn, progress, [&](Bytes done, Bytes turn) {
        return detail::by_reading_and_writing(source, from,
                                              Bytes{from_offset.count() + done.count()}, target, to,
                                              Bytes{to_offset.count() + done.count()}, turn);
    });
}

} // namespace v0
} // namespace neuronbook
