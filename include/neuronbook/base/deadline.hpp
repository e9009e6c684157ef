// SPDX-License-Identifier: Apache-2.0
//
// The instant at which a wait between threads gives up.
// Owns: the instant, on the machine's monotonic clock. Does not own: the wait (bell.hpp), or the
// clock of a port, which goes on by itself only where the kernel is a real one.
// Layer: base.
#pragma once

#include <cstdint>
#include <ctime>
#include <limits>
#include <optional>

#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {

/// A moment of CLOCK_MONOTONIC, or none. Threads of this process are waited for in real time, also
/// where the device is simulated: what holds them up does not know of virtual time.
class Deadline {
public:
    /// Never.
    constexpr Deadline() noexcept = default;
    /// That long from now; nothing: never. A duration past the end of the clock is never, too.
    explicit Deadline(std::optional<Nanoseconds> wait) noexcept {
        constexpr auto most = std::uint64_t{std::numeric_limits<std::int64_t>::max()};
        if (!wait || wait->count >= most) return;
        const std::uint64_t start = now().count;
        if (wait->count < most - start) at_ = Nanoseconds{start + wait->count};
    }

    [[nodiscard]] std::optional<Nanoseconds> at() const noexcept { return at_; }
    [[nodiscard]] bool passed() const noexcept { return at_ && now() >= *at_; }

    [[nodiscard]] static Nanoseconds now() noexcept {
        std::timespec time{};
        (void)::clock_gettime(CLOCK_MONOTONIC, &time);
        return {static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
                static_cast<std::uint64_t>(time.tv_nsec)};
    }

private:
    std::optional<Nanoseconds> at_{};
};

} // namespace v0
} // namespace neuronbook
