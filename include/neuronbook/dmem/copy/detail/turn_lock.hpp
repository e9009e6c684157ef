// SPDX-License-Identifier: Apache-2.0
//
// A lock that is given in the order in which it was asked for.
// Owns: the queue. Does not own: what the lock protects.
// Layer: dmem.
#pragma once

#include <atomic>
#include <cstdint>

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// First come, first served. A std::mutex that is let go and taken again at once mostly stays with
/// the same thread, so that a long copy would starve a short one. Meant for few threads and long
/// turns: each end of a turn wakes all that wait. Satisfies BasicLockable.
class TurnLock {
public:
    void lock() noexcept {
        const auto mine = next_.fetch_add(1, std::memory_order_relaxed);
        for (auto now = serving_.load(std::memory_order_acquire); now != mine;
             now = serving_.load(std::memory_order_acquire))
            serving_.wait(now, std::memory_order_acquire);
    }

    void unlock() noexcept {
        serving_.fetch_add(1, std::memory_order_release);
        serving_.notify_all();
    }

private:
    std::atomic<std::uint32_t> next_{0};
    std::atomic<std::uint32_t> serving_{0};
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
