// SPDX-License-Identifier: Apache-2.0
//
// Byte quantities and the one place where offset + size is computed.
// Owns: Bytes, DeviceAddress, checked sums and ranges. Does not own: text (describe.hpp).
// Layer: base.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <optional>

#include "neuronbook/base/strong.hpp"

namespace neuronbook {
inline namespace v0 {

/// A number of bytes, 64 bits. Sums that may not fit go through checked_sum().
class Bytes {
public:
    constexpr Bytes() noexcept = default;
    explicit constexpr Bytes(std::uint64_t count) noexcept : count_(count) {}

    [[nodiscard]] constexpr std::uint64_t count() const noexcept { return count_; }
    friend constexpr auto operator<=>(Bytes, Bytes) noexcept = default;

private:
    std::uint64_t count_ = 0;
};

/// A device-local physical address, as the driver reports it. Host memory seen by the device lives
/// in the same space, above the architecture's host bit.
using DeviceAddress = detail::Strong<struct DeviceAddressTag, std::uint64_t>;

/// A duration or an instant of a port's clock, in nanoseconds.
struct Nanoseconds {
    std::uint64_t count = 0;
    friend constexpr auto operator<=>(Nanoseconds, Nanoseconds) noexcept = default;
};

namespace literals {

consteval Bytes operator""_B(unsigned long long n) { return Bytes{n}; }
consteval Bytes operator""_KiB(unsigned long long n) { return Bytes{n << 10}; }
consteval Bytes operator""_MiB(unsigned long long n) { return Bytes{n << 20}; }
consteval Bytes operator""_GiB(unsigned long long n) { return Bytes{n << 30}; }

} // namespace literals

/// The driver's granule: every chunk is a whole number of these (driver-abi.md 6.1, measured).
inline constexpr Bytes kPage{4096};

/// a + b, or nothing when the sum does not fit in 64 bits.
[[nodiscard]] constexpr std::optional<Bytes> checked_sum(Bytes a, Bytes b) noexcept {
    if (b.count() > std::numeric_limits<std::uint64_t>::max() - a.count()) return std::nullopt;
    return Bytes{a.count() + b.count()};
}

/// Whether [offset, offset + size) lies inside [0, limit). Never wraps, so an offset close to 2^64
/// is outside like any other that is too large.
[[nodiscard]] constexpr bool contains(Bytes limit, Bytes offset, Bytes size) noexcept {
    return size <= limit && offset.count() <= limit.count() - size.count();
}

/// The size the driver takes for a request: up to whole pages; nothing when that does not fit.
[[nodiscard]] constexpr std::optional<Bytes> whole_pages(Bytes size) noexcept {
    const auto sum = checked_sum(size, Bytes{kPage.count() - 1});
    if (!sum) return std::nullopt;
    return Bytes{sum->count() & ~(kPage.count() - 1)};
}

} // namespace v0
} // namespace neuronbook
