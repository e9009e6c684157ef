// SPDX-License-Identifier: Apache-2.0
//
// A long copy as a row of turns, between which it holds nothing.
// Owns: counting, telling the caller, stopping. Does not own: what a turn does.
// Layer: dmem.
#pragma once

#include <algorithm>
#include <cstdint>

#include "neuronbook/base/result.hpp"
#include "neuronbook/base/status.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/copy/copy_progress.hpp"
#include "neuronbook/dmem/copy/detail/copy_errors.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// The state of one end of a turn.
struct Moved {
    Bytes bytes{};          ///< surely where they belong
    Result<void> outcome{}; ///< an error when that is not all
};

/// Calls `turn(done, size)` until `total` bytes are moved, in turns of at most `most`. Nothing is
/// called for 0 bytes.
template <class Turn>
Result<void> in_turns(const CopyPlace& place, Bytes total, Bytes most, ProgressRef progress,
                      Turn turn) {
    Bytes done{};
    while (done < total) {
        const Bytes size{std::min(most.count(), total.count() - done.count())};
        const Moved moved = turn(done, size);
        done = Bytes{done.count() + moved.bytes.count()};
        if (!moved.outcome) return fail(failed_after(moved.outcome.error(), done, total));
        if (progress(done, total) == AfterProgress::GoOn || done == total) continue;
        auto stopped = place.error(Detail::Stopped);
        stopped.status = Status::Failure;
        return fail(failed_after(stopped, done, total));
    }
    return {};
}

/// A turn that has only one call: all of it or, as far as is known, nothing.
[[nodiscard]] inline Moved all_or_nothing(Bytes size, const Result<void>& done) {
    return {done ? size : Bytes{0}, done};
}

} // namespace detail
} // namespace v0
} // namespace neuronbook
