// SPDX-License-Identifier: Apache-2.0
//
// What a driver says of its copies, asked in one place.
// Owns: the questions. Does not own: the answers (backend/driver.hpp).
// Layer: dmem.
#pragma once

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/dmem/copy/copy_plan.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// Whether a chain of asynchronous copies may be begun: the driver has them, and says nothing
/// against them on this machine.
template <class D>
[[nodiscard]] bool has_chains(const D& driver) noexcept {
    if constexpr (!AsyncCopyOps<D>)
        return false;
    else if constexpr (requires { driver.abilities().asynchronous_copy.available; })
        return driver.abilities().asynchronous_copy.available;
    else
        return true;
}

template <class D>
[[nodiscard]] DriverCopies copies_of(const D& driver) noexcept {
    if constexpr (requires { driver.abilities().zero_copy.available; })
        if (driver.abilities().zero_copy.available) return DriverCopies::FromOwnPages;
    if constexpr (AsyncCopyOps<D>)
        if (has_chains(driver) && driver.copies_run_aside()) return DriverCopies::Aside;
    return DriverCopies::InTheCall;
}

} // namespace detail
} // namespace v0
} // namespace neuronbook
