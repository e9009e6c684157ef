// SPDX-License-Identifier: Apache-2.0
//
// A decorator that counts the calls of a port.
// Owns: the counters. Does not own: the port.
// Layer: backend.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "neuronbook/backend/decorated_port.hpp"

namespace neuronbook {
inline namespace v0 {

/// How many calls of each kind were made. Thread-safe.
class CallCounts {
public:
    void add(PortCall call) noexcept {
        counts_[static_cast<std::size_t>(call)].fetch_add(1, std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint64_t of(PortCall call) const noexcept {
        return counts_[static_cast<std::size_t>(call)].load(std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint64_t total() const noexcept {
        std::uint64_t sum = 0;
        for (const auto& count : counts_) sum += count.load(std::memory_order_relaxed);
        return sum;
    }

private:
    std::array<std::atomic<std::uint64_t>, 6> counts_{};
};

namespace detail {

struct CountHook {
    CallCounts* counts;

    template <class F>
    std::int64_t around(const PortEvent& event, F call) {
        counts->add(event.call);
        return call();
    }
};

} // namespace detail

/// Counts into `counts`, which the user owns and keeps alive as long as any copy of the port.
template <Port P>
class CountPort : public DecoratedPort<P, detail::CountHook> {
public:
    CountPort(P inner, CallCounts& counts)
        : DecoratedPort<P, detail::CountHook>(std::move(inner), {&counts}) {}
};

} // namespace v0
} // namespace neuronbook
