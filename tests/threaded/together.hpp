// SPDX-License-Identifier: Apache-2.0
//
// Threads that start together, and how often they really met.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

namespace neuronbook::test {

inline constexpr int kThreads = 8;

/// Threads that start together.
template <class F>
void together(int count, F body) {
    std::atomic<int> waiting{count};
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i)
        threads.emplace_back([&, i] {
            waiting.fetch_sub(1);
            while (waiting.load() != 0) {}
            body(i);
        });
    for (auto& thread : threads) thread.join();
}

/// Counts how often another thread was inside at the same time. Of scopes inside each other in one
/// thread, the outermost counts.
class Overlaps {
public:
    struct Inside {
        explicit Inside(Overlaps& o) : overlaps(o) {
            if (depth++ == 0 && overlaps.inside_.fetch_add(1, std::memory_order_relaxed) != 0)
                overlaps.seen_.fetch_add(1, std::memory_order_relaxed);
        }
        ~Inside() {
            if (--depth == 0) overlaps.inside_.fetch_sub(1, std::memory_order_relaxed);
        }
        static inline thread_local int depth = 0;
        Overlaps& overlaps;
    };
    [[nodiscard]] int seen() const { return seen_.load(); }

private:
    std::atomic<int> inside_{0};
    std::atomic<int> seen_{0};
};

} // namespace neuronbook::test
