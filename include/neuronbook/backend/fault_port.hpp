// SPDX-License-Identifier: Apache-2.0
//
// A decorator that lets the n-th call of a port fail.
// Owns: the plan. Does not own: the port.
// Layer: backend.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <utility>

#include "neuronbook/backend/decorated_port.hpp"

namespace neuronbook {
inline namespace v0 {

/// Which call fails, and how. Counts the same calls as CallCounts, from 1. Thread-safe.
class FaultPlan {
public:
    /// The n-th call from now on answers `answer`: minus an errno, or a positive number.
    void fail_nth(std::uint64_t n, std::int64_t answer) noexcept {
        answer_.store(answer, std::memory_order_relaxed);
        seen_.store(0, std::memory_order_relaxed);
        nth_.store(n, std::memory_order_release);
    }
    /// Nothing fails from now on.
    void clear() noexcept { nth_.store(kNever, std::memory_order_release); }
    /// Whether the planned call has come.
    [[nodiscard]] bool struck() const noexcept {
        return seen_.load(std::memory_order_relaxed) >= nth_.load(std::memory_order_acquire);
    }

    /// For the port: whether this call is the one.
    [[nodiscard]] bool strikes() noexcept {
        return seen_.fetch_add(1, std::memory_order_relaxed) + 1 ==
               nth_.load(std::memory_order_acquire);
    }
    [[nodiscard]] std::int64_t answer() const noexcept {
        return answer_.load(std::memory_order_relaxed);
    }

private:
    static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

    std::atomic<std::uint64_t> nth_{kNever};
    std::atomic<std::uint64_t> seen_{0};
    std::atomic<std::int64_t> answer_{0};
};

namespace detail {

struct FaultHook {
    FaultPlan* plan;

    template <class F>
    std::int64_t around(const PortEvent& event, F call) {
        if (!plan->strikes()) return call();
        // A failing close or munmap has still let go of what it was given, as in Linux.
        if (event.call == PortCall::Close || event.call == PortCall::Unmap) (void)call();
        return plan->answer();
    }
};

} // namespace detail

/// Fails as `plan` says, which the user owns and keeps alive as long as any copy of the port. A
/// failed call does not reach the inner port, close and munmap apart.
template <Port P>
class FaultPort : public DecoratedPort<P, detail::FaultHook> {
public:
    FaultPort(P inner, FaultPlan& plan)
        : DecoratedPort<P, detail::FaultHook>(std::move(inner), {&plan}) {}
};

} // namespace v0
} // namespace neuronbook
