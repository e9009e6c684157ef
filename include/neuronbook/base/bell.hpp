// SPDX-License-Identifier: Apache-2.0
//
// Sleeping until another thread rings.
// Owns: the count of rings. Does not own: what the ring is about.
// Layer: base.
#pragma once

#include <atomic>
#include <cstdint>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "neuronbook/base/deadline.hpp"

namespace neuronbook {
inline namespace v0 {

/// How to wait without a lock and without burning a core: remember what was heard(), look whether
/// what one waits for is there, and if not, wait() for a ring after that. std::atomic::wait() has
/// no deadline, and a condition variable would need a lock that lives as long as its last user.
///
/// Thread safety: every member may be called from any thread.
class Bell {
public:
    Bell() noexcept = default;
    Bell(const Bell&) = delete;
    Bell& operator=(const Bell&) = delete;

    [[nodiscard]] std::uint32_t heard() const noexcept {
        return rings_.load(std::memory_order_acquire);
    }

    /// Effects: whoever waits wakes up; whoever looked before the ring does not fall asleep.
    [[gnu::cold, gnu::noinline]] void ring() noexcept {
        rings_.fetch_add(1, std::memory_order_release);
        (void)::syscall(SYS_futex, &rings_, FUTEX_WAKE_PRIVATE, kEverybody, nullptr, nullptr, 0);
    }

    /// Effects: sleeps until a ring after `heard`, a signal, or the deadline. May also return for
    /// no reason: look again.
    void wait(std::uint32_t heard, const Deadline& deadline) const noexcept {
        std::timespec until{};
        if (const auto at = deadline.at()) {
            until.tv_sec = static_cast<std::time_t>(at->count / 1'000'000'000u);
            until.tv_nsec = static_cast<long>(at->count % 1'000'000'000u);
        }
        // BITSET, as the plain form takes a duration, which a signal would start anew.
        (void)::syscall(SYS_futex, &rings_, FUTEX_WAIT_BITSET_PRIVATE, heard,
                        deadline.at() ? &until : nullptr, nullptr, FUTEX_BITSET_MATCH_ANY);
    }

private:
    static constexpr int kEverybody = 0x7FFF'FFFF;

    std::atomic<std::uint32_t> rings_{0};
    static_assert(sizeof(std::atomic<std::uint32_t>) == 4, "the kernel compares four bytes");
};

} // namespace v0
} // namespace neuronbook
