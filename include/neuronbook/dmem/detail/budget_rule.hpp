// SPDX-License-Identifier: Apache-2.0
//
// Whether bytes fit a budget, and the refusal when they do not.
// Owns: the rule. Does not own: budgets and what is taken of them (ledger.hpp).
// Layer: dmem.
#pragma once

#include <cstdint>
#include <string_view>

#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// A budget and what is held and reserved of it.
struct BudgetUse {
    std::uint64_t most = 0; ///< 0: no budget
    std::uint64_t taken = 0;

    [[nodiscard]] bool fits(Bytes bytes) const noexcept {
        return most == 0 || (taken <= most && bytes.count() <= most - taken);
    }
};

/// RESOURCE with OverBudget. `whose` is the name of who has the budget.
[[nodiscard, gnu::cold]] inline Error over_budget(HostDeviceId device, CoreIndex core,
                                                  BudgetUse use, Bytes bytes, FailureCause cause,
                                                  std::string_view whose) noexcept {
    return {.status = Status::Resource,
            .operation = Operation::Allocate,
            .detail = Detail::OverBudget,
            .device = static_cast<std::int32_t>(device.value()),
            .core = static_cast<std::int32_t>(core.value()),
            .value = use.taken,
            .limit = use.most,
            .asked = bytes.count(),
            .free = use.most > use.taken ? use.most - use.taken : 0,
            .cause = cause,
            .text = whose};
}

} // namespace detail
} // namespace v0
} // namespace neuronbook
