// SPDX-License-Identifier: Apache-2.0
//
// The counters of a device at one instant, as plain data.
// Owns: the figures. Does not own: how they are kept (ledger.hpp) or printed (dmem/report/).
// Layer: dmem.   libnrt: dma_mem_log_t (its counters). Source: tables.md 8 and 22
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "neuronbook/base/architecture.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/usage.hpp"

namespace neuronbook {
inline namespace v0 {

/// Host memory is counted by the driver's category: 0..6 as they are, DMA rings (17) as 7.
inline constexpr std::uint32_t kHostCategories = 8;

/// All counters of a device at one instant. Plain data, bytes.
struct LedgerSnapshot {
    std::array<std::uint64_t, kMaxHbm> on_channel{};
    std::array<std::uint64_t, kMaxHbm> channel_peak{};
    /// By core and usage; column 22 is the core's total. Device memory only.
    std::array<std::array<std::uint64_t, kUsageColumns>, kMaxCoresPerDevice> by_core{};
    std::array<std::uint64_t, kMaxCoresPerDevice> core_peak{};
    /// Most a core may hold; 0 where no budget is set.
    std::array<std::uint64_t, kMaxCoresPerDevice> core_budget{};
    std::array<std::uint64_t, kHostCategories> on_host{};
    std::array<std::uint64_t, kMaxHbm> lost_on_channel{};
    std::uint64_t lost_on_host = 0;

    /// A core's total. Requires: core < 8.
    [[nodiscard]] constexpr Bytes total(CoreIndex core) const noexcept {
        return Bytes{by_core[core.value()][kUsages]};
    }
    /// A core's row in the columns of the report. Requires: core < 8.
    [[nodiscard]] constexpr std::array<Bytes, kAggregates>
    aggregates(CoreIndex core) const noexcept {
        std::array<std::uint64_t, kAggregates> sums{};
        for (std::size_t u = 0; u < kUsages; ++u)
            sums[static_cast<std::size_t>(aggregate_of(static_cast<Usage>(u)))] +=
                by_core[core.value()][u];
        std::array<Bytes, kAggregates> row;
        for (std::size_t i = 0; i < kAggregates; ++i) row[i] = Bytes{sums[i]};
        return row;
    }
    /// Host bytes, all categories together.
    [[nodiscard]] constexpr Bytes host() const noexcept {
        std::uint64_t sum = 0;
        for (const auto bytes : on_host) sum += bytes;
        return Bytes{sum};
    }
};

} // namespace v0
} // namespace neuronbook
