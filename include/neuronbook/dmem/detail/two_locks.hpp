// SPDX-License-Identifier: Apache-2.0
//
// One or two mutexes, held together.
// Owns: the order in which they are taken. Does not own: the mutexes.
// Layer: dmem.
#pragma once

#include "neuronbook/dmem/detail/brief_lock.hpp"
#include <utility>

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// Holds the locks until its end or unlock(). Two of one array are taken in the array's order, so
/// nobody waits in a circle. The first argument's is let go last: who has it next finds the other
/// one done with, and may destroy both.
class TwoLocks {
public:
    [[gnu::always_inline]] TwoLocks(BriefLock& a, BriefLock& b) noexcept
        : last_(&a), other_(&a == &b ? nullptr : &b) {
        if (other_ != nullptr && other_ < last_) [[unlikely]]
            other_->lock();
        last_->lock();
        if (other_ != nullptr && last_ < other_) [[unlikely]]
            other_->lock();
    }
    TwoLocks(const TwoLocks&) = delete;
    TwoLocks& operator=(const TwoLocks&) = delete;
    [[gnu::always_inline]] ~TwoLocks() { unlock(); }

    [[gnu::always_inline]] void unlock() noexcept {
        if (last_ == nullptr) return;
        if (other_ != nullptr) [[unlikely]]
            other_->unlock();
        std::exchange(last_, nullptr)->unlock();
    }

private:
    BriefLock* last_; ///< null once unlocked
    BriefLock* other_;
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
