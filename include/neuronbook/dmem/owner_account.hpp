// SPDX-License-Identifier: Apache-2.0
//
// What one allocator holds, as its ledger counts it.
// Owns: the account's counters and budget. Does not own: the lock that guards them (ledger.hpp).
// Layer: dmem.
#pragma once

#include <array>
#include <atomic>
#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <string_view>

#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/device_usage.hpp"
#include "neuronbook/dmem/hint.hpp"
#include "neuronbook/dmem/usage.hpp"

namespace neuronbook {
inline namespace v0 {

/// Who an allocator is, to reports.
struct OwnerName {
    std::uint32_t id = 0; ///< a model's handle or number; 0: the ledger gives one
    Hint label{};
};

/// An account of a ledger. Entered and left by enroll() and dismiss(); between them every member is
/// guarded by the lock of its core, the budget may be read without.
class OwnerAccount : public boost::intrusive::list_base_hook<> {
public:
    OwnerAccount(CoreIndex at, std::string_view tier_name, const OwnerName& who,
                 Bytes most) noexcept
        : core(at), tier(tier_name), name(who), budget(most.count()) {}
    OwnerAccount(const OwnerAccount&) = delete;
    OwnerAccount& operator=(const OwnerAccount&) = delete;

    /// Most it may hold; 0 for no budget.
    [[nodiscard]] bool limited() const noexcept {
        return budget.load(std::memory_order_relaxed) != 0;
    }
    /// Its name, or its tier's.
    [[nodiscard]] std::string_view called() const noexcept {
        return name.label.empty() ? tier : name.label.view();
    }
    [[nodiscard]] OwnerUsage usage() const noexcept {
        return {name.id, tier, name.label, core, used, Bytes{peak}, Bytes{budget.load()}, blocks};
    }

    const CoreIndex core;
    const std::string_view tier;
    OwnerName name;
    /// Device memory by usage, charged bytes; column 22 is the sum.
    std::array<std::uint64_t, kUsageColumns> used{};
    std::uint64_t peak = 0;
    std::uint64_t blocks = 0;
    std::uint64_t pending = 0; ///< reserved by allocations under way
    std::atomic<std::uint64_t> budget;
};

} // namespace v0
} // namespace neuronbook
