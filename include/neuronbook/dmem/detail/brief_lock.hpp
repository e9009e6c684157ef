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
/// thread that waits wakes by itself: it looks ever more seldom, for some microseconds, then sleeps
/// in between, so that a holder that was put off its processor gets one, whatever its priority.
/// Looking seldom lets the holder go on with its line in its cache: two threads on one lock get as
/// much done as one, where looks in a row make it a third.
///
/// For sections of some hundred instructions, as those are that allocate and free. Who reads a
/// whole ring of events or every block holds up the others of its HBM as long. Thread-safe.
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
    static constexpr int kFirst = 4, kLast = 256; // pauses between two looks
    static constexpr long kShortSleep = 10'000;   // nanoseconds
    static constexpr long kLongSleep = 100'000;

    [[gnu::cold, gnu::noinline]] void wait() noexcept {
        std::timespec sleep{0, kShortSleep};
        for (int pauses = kFirst;;) {
            for (int i = 0; i < pauses; ++i) pause();
            if (!held_.load(std::memory_order_relaxed) &&
                !held_.exchange(true, std::memory_order_acquire))
                return;
            if (pauses < kLast) {
                pauses *= 2;
                continue;
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
