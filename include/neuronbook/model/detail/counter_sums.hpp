// SPDX-License-Identifier: Apache-2.0
//
// 48 counters added to 48 others, all or nothing.
// Owns: the sum and the proof that it fits. Does not own: the counters, the error.
// Layer: model.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

#include "neuronbook/model/descriptor_counts.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

inline constexpr std::uint32_t kCounterMost = std::numeric_limits<std::uint32_t>::max();

/// Four counters, as every x86-64 and aarch64 adds them at once. At -O2 without flags a loop over
/// single counters takes more than twice as long, or is not made of these at all.
typedef std::uint32_t FourCounters // NOLINT(modernize-use-using): using takes no may_alias
    __attribute__((vector_size(16), may_alias));

inline constexpr std::size_t kFours = sizeof(DescriptorCounts) / sizeof(FourCounters);

[[gnu::always_inline]] inline void read_all(const DescriptorCounts& counts,
                                            FourCounters (&into)[kFours]) noexcept {
    const auto* from = reinterpret_cast<const FourCounters*>(&counts);
#pragma GCC unroll 12
    for (std::size_t i = 0; i < kFours; ++i) into[i] = from[i];
}
/// Effects: adds without looking.
[[gnu::always_inline]] inline void add_all(DescriptorCounts& counts,
                                           const FourCounters (&more)[kFours]) noexcept {
    auto* sums = reinterpret_cast<FourCounters*>(&counts);
#pragma GCC unroll 12
    for (std::size_t i = 0; i < kFours; ++i) sums[i] += more[i];
}

inline void add_all(DescriptorCounts& counts, const DescriptorCounts& more) noexcept {
    FourCounters read[kFours];
    read_all(more, read);
    add_all(counts, read);
}

/// A number that no counter is above: all of them, or-ed.
[[nodiscard]] inline std::uint32_t bound_of(const FourCounters (&some)[kFours]) noexcept {
    FourCounters even = some[0];
    FourCounters odd = some[1];
#pragma GCC unroll 12
    for (std::size_t i = 2; i < kFours; i += 2) {
        even |= some[i];
        odd |= some[i + 1];
    }
    even |= odd;
    std::uint64_t halves[2];
    std::memcpy(halves, &even, sizeof halves);
    halves[0] |= halves[1];
    return static_cast<std::uint32_t>(halves[0] | halves[0] >> 32);
}

/// What the counters of a table can still grow by: a lower bound, which goes down by the bound of
/// everything that is added. Comparing each counter costs as much again as adding it; as long as
/// this bound lasts, that is not needed.
class CounterRoom {
public:
    /// Effects: adds `more` to `sums`; they may be the same object. False, and nothing happens, if
    /// it is not known to fit.
    [[nodiscard]] bool add(DescriptorCounts& sums, const DescriptorCounts& more) noexcept {
        FourCounters read[kFours];
        read_all(more, read);
        const std::uint32_t bound = bound_of(read);
        if (bound > left_) [[unlikely]]
            return false;
        left_ -= bound;
        add_all(sums, read);
        return true;
    }
    /// Effects: takes counters into account that came about without add().
    void cover(const DescriptorCounts& counts) noexcept {
        FourCounters read[kFours];
        read_all(counts, read);
        const std::uint32_t room = kCounterMost - bound_of(read);
        if (room < left_) left_ = room;
    }

private:
    std::uint32_t left_ = kCounterMost;
};

/// Place of a counter in a DescriptorCounts.
struct CounterPlace {
    const char* array;
    std::size_t ring;
    std::uint32_t counted;
    std::uint32_t more;
};

/// The first counter that would pass 2^32 - 1, or nothing.
[[nodiscard]] inline std::optional<CounterPlace>
first_overflow(const DescriptorCounts& sums, const DescriptorCounts& more) noexcept {
    struct Pair {
        const char* name;
        const std::array<std::uint32_t, DescriptorCounts::kRings>&a, &b;
    };
    const Pair pairs[]{{"m2s", sums.m2s, more.m2s},
                       {"s2m", sums.s2m, more.s2m},
                       {"packets", sums.packets, more.packets}};
    for (const auto& [name, a, b] : pairs)
        for (std::size_t ring = 0; ring < a.size(); ++ring)
            if (b[ring] > kCounterMost - a[ring]) return CounterPlace{name, ring, a[ring], b[ring]};
    return std::nullopt;
}

} // namespace detail
} // namespace v0
} // namespace neuronbook
