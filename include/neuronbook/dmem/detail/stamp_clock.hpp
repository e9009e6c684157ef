// SPDX-License-Identifier: Apache-2.0
//
// The time of an event, as cheap as it was asked for, and how long ago that was.
// Owns: reading clocks, turning ticks into nanoseconds. Does not own: who stamps what.
// Layer: dmem.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>

#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/memory_options.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// Thread-safe: nothing changes after construction.
class StampClock {
public:
    explicit StampClock(Stamps stamps) noexcept
        : stamps_(stamps), ticks_at_start_(ticks()), start_(monotonic(CLOCK_MONOTONIC)) {}

    /// Never 0, unless stamps are off.
    [[nodiscard]] std::uint64_t now() const noexcept {
        switch (stamps_) {
        case Stamps::Clock: return monotonic(CLOCK_MONOTONIC_COARSE);
        case Stamps::Ticks: return ticks();
        case Stamps::None: break;
        }
        return 0;
    }

    /// A look at the clock, to be taken before any lock: what age() counts from.
    struct Instant {
        std::uint64_t stamp = 0;
        std::uint64_t time = 0; ///< nanoseconds since the start, where stamps are ticks
    };
    [[nodiscard]] Instant look() const noexcept {
        return {now(), stamps_ == Stamps::Ticks ? monotonic(CLOCK_MONOTONIC) - start_ : 0};
    }

    /// How long before `at` a stamp was taken; nothing for 0. Reads no clock. Ticks are scaled by
    /// how many there were since the start, so that no frequency need be known.
    [[nodiscard]] std::optional<Nanoseconds> age(std::uint64_t stamp, Instant at) const noexcept {
        if (stamp == 0) return std::nullopt;
        const std::uint64_t passed = at.stamp > stamp ? at.stamp - stamp : 0;
        if (stamps_ != Stamps::Ticks) return Nanoseconds{passed};
        // Another processor's counter may be a little behind.
        if (at.stamp <= ticks_at_start_) return Nanoseconds{0};
        const double share =
            static_cast<double>(passed) / static_cast<double>(at.stamp - ticks_at_start_);
        return Nanoseconds{static_cast<std::uint64_t>(share * static_cast<double>(at.time))};
    }

private:
    static std::uint64_t monotonic(clockid_t clock) noexcept {
        std::timespec time{};
        ::clock_gettime(clock, &time);
        return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
               static_cast<std::uint64_t>(time.tv_nsec);
    }

    static std::uint64_t ticks() noexcept {
#if defined(__x86_64__) || defined(__i386__)
        return __builtin_ia32_rdtsc();
#else
        return monotonic(CLOCK_MONOTONIC);
#endif
    }

    Stamps stamps_;
    std::uint64_t ticks_at_start_;
    std::uint64_t start_;
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
