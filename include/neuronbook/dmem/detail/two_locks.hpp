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
/// nobody waits in a circle.
class TwoLocks {
public:
    [[gnu::always_inline]] TwoLocks(BriefLock& a, BriefLock& b) noexcept
        : first_(&a), second_(&a == &b ? nullptr : &b) {
        if (second_ != nullptr && second_ < first_) [[unlikely]]
            std::swap(first_, second_);
        first_->lock();
        if (second_ != nullptr) [[unlikely]]
            second_->lock();
    }
    TwoLocks(const TwoLocks&) = delete;
    TwoLocks& operator=(const TwoLocks&) = delete;
    [[gnu::always_inline]] ~TwoLocks() { unlock(); }

    [[gnu::always_inline]] void unlock() noexcept {
        if (first_ == nullptr) return;
        if (second_ != nullptr) [[unlikely]]
            second_->unlock();
        std::exchange(first_, nullptr)->unlock();
    }

private:
    BriefLock* first_;
    BriefLock* second_;
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
