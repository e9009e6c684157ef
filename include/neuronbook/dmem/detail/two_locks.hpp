// SPDX-License-Identifier: Apache-2.0
//
// One or two mutexes, held together.
// Owns: the order in which they are taken. Does not own: the mutexes.
// Layer: dmem.
#pragma once

#include <mutex>
#include <utility>

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// Holds the locks until its end or unlock(). Two of one array are taken in the array's order, so
/// nobody waits in a circle.
class TwoLocks {
public:
    TwoLocks(std::mutex& a, std::mutex& b) : first_(&a), second_(&a == &b ? nullptr : &b) {
        if (second_ != nullptr && second_ < first_) std::swap(first_, second_);
        first_->lock();
        if (second_ != nullptr) second_->lock();
    }
    TwoLocks(const TwoLocks&) = delete;
    TwoLocks& operator=(const TwoLocks&) = delete;
    ~TwoLocks() { unlock(); }

    void unlock() noexcept {
        if (first_ == nullptr) return;
        if (second_ != nullptr) second_->unlock();
        std::exchange(first_, nullptr)->unlock();
    }

private:
    std::mutex* first_;
    std::mutex* second_;
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
