// SPDX-License-Identifier: Apache-2.0
//
// A queue of work, as far as memory has to know: how much of it is done.
// Owns: the point it has reached. Does not own: the work, the blocks that wait (detail/).
// Layer: dmem.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

namespace neuronbook {
inline namespace v0 {
namespace detail {

struct QueueProgress {
    std::atomic<std::uint64_t> reached{0};
};

struct QueueAccess;

} // namespace detail

/// Work that ends in the order in which it was queued. Whoever queues numbers it by rising points;
/// whoever learns that it ended says how far. A block that a queue still uses is given to
/// Pool::free_after() with the point of its last use.
///
/// Its destructor says that all work has ended. Thread-safe.
class WorkQueue {
public:
    WorkQueue() : progress_(std::make_shared<detail::QueueProgress>()) {}
    WorkQueue(const WorkQueue&) = delete;
    WorkQueue& operator=(const WorkQueue&) = delete;
    ~WorkQueue() { reach(std::numeric_limits<std::uint64_t>::max()); }

    /// Effects: everything up to `point` has ended. A lower point than before changes nothing.
    void reach(std::uint64_t point) noexcept {
        std::uint64_t before = progress_->reached.load(std::memory_order_relaxed);
        while (before < point &&
               !progress_->reached.compare_exchange_weak(before, point, std::memory_order_release,
                                                         std::memory_order_relaxed)) {}
    }
    /// The highest point that was reached; 0 before the first.
    [[nodiscard]] std::uint64_t reached() const noexcept {
        return progress_->reached.load(std::memory_order_acquire);
    }

private:
    friend detail::QueueAccess;
    std::shared_ptr<detail::QueueProgress> progress_;
};

namespace detail {

/// How a pool looks at a queue that may end before its blocks.
struct QueueAccess {
    static std::shared_ptr<const QueueProgress> progress(const WorkQueue& queue) noexcept {
        return queue.progress_;
    }
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
