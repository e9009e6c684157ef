// SPDX-License-Identifier: Apache-2.0
//
// A lock for a handful of counters.
// Owns: who is in. Does not own: fairness, and the wish to wait long.
// Layer: dmem.
#pragma once

#include <atomic>
#include <ctime>

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// BasicLockable. Half of what std::mutex costs when nobody waits: it is left by a plain store,
/// where a mutex needs a second locked instruction to learn whether to wake somebody. In exchange a
/// thread that waits wakes by itself: it looks for about a microsecond, then sleeps in between, so
/// that a holder that was put off its processor gets one, whatever its priority.
///
/// For sections of some hundred instructions without calls, as the ledger's are. Thread-safe.
class BriefLock {
public:
    BriefLock() noexcept = default;
    BriefLock(const BriefLock&) = delete;
    BriefLock& operator=(const BriefLock&) = delete;

    [[gnu::always_inline]] void lock() noexcept {
        if (held_.exchange(true, std::memory_order_acquire)) wait();
    }
    [[gnu::always_inline]] void unlock() noexcept { held_.store(false, std::memory_order_release); }

private:
    static constexpr int kLooks = 64;
    static constexpr long kShortSleep = 10'000; // nanoseconds
    static constexpr long kLongSleep = 1'000'000;

    [[gnu::cold, gnu::noinline]] void wait() noexcept {
        std::timespec sleep{0, kShortSleep};
        for (;;) {
            for (int look = 0; look < kLooks; ++look) {
                if (!held_.load(std::memory_order_relaxed) &&
                    !held_.exchange(true, std::memory_order_acquire))
                    return;
                pause();
            }
            ::nanosleep(&sleep, nullptr);
            if (sleep.tv_nsec < kLongSleep) sleep.tv_nsec *= 2;
        }
    }
    static void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("yield");
#endif
    }

    std::atomic<bool> held_{false};
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
