// SPDX-License-Identifier: Apache-2.0
//
// Whether this is still the process in which something was made.
// Owns: the count of forks. Does not own: what a child may do (the driver's door says).
// Layer: base.
#pragma once

#include <atomic>
#include <cstdint>
#include <pthread.h>

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// Remembers the process it was made in. In a child a lock may belong to a thread that is not
/// there, so one has to know before any lock is taken. A child of _Fork() or of a bare clone is not
/// noticed: in those nothing but a few system calls may be done anyway.
class ProcessMark {
public:
    [[nodiscard]] bool here() const noexcept {
        return made_ == forks.load(std::memory_order_relaxed);
    }

private:
    static void in_child() noexcept { forks.fetch_add(1, std::memory_order_relaxed); }

    static inline constinit std::atomic<std::uint32_t> forks{0};
    static inline const int kNoticed = ::pthread_atfork(nullptr, nullptr, in_child);

    std::uint32_t made_ = forks.load(std::memory_order_relaxed);
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
