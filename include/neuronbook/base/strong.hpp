// SPDX-License-Identifier: Apache-2.0
//
// A number that belongs to one space and to no other.
// Owns: the type. Does not own: any space (ids.hpp, units.hpp).
// Layer: base.
#pragma once

#include <compare>

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// Explicit to make, comparable with its own kind, without arithmetic or conversion.
template <class Tag, class Number>
class Strong {
public:
    constexpr Strong() noexcept = default;
    explicit constexpr Strong(Number value) noexcept : value_(value) {}

    [[nodiscard]] constexpr Number value() const noexcept { return value_; }
    friend constexpr auto operator<=>(Strong, Strong) noexcept = default;

private:
    Number value_ = 0;
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
