// SPDX-License-Identifier: Apache-2.0
//
// The counters of a ledger, and how a charge moves them.
// Owns: all or none, never below zero, never past 2^64. Does not own: locks, events, budgets.
// Layer: dmem.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "neuronbook/base/architecture.hpp"
#include "neuronbook/dmem/charge.hpp"
#include "neuronbook/dmem/ledger_snapshot.hpp"
#include "neuronbook/dmem/owner_account.hpp"
#include "neuronbook/dmem/usage.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// Counters of one HBM. Lines of different HBMs are different lines: their cores run apart.
struct alignas(64) ChannelRow {
    std::uint64_t total = 0;
    std::uint64_t peak = 0;
    std::uint64_t lost = 0;
};

/// Counters of one core.
struct alignas(64) CoreRow {
    std::array<std::uint64_t, kUsageColumns> used{};
    std::uint64_t peak = 0;
    std::uint64_t pending = 0; ///< reserved by allocations under way
    std::atomic<std::uint64_t> budget{0};
};

struct alignas(64) HostRow {
    std::array<std::uint64_t, kHostCategories> used{};
    std::uint64_t total = 0;
    std::uint64_t lost = 0;
};

/// Counters that a charge moves together. An owner's are its own, and absent where it is nobody's.
/// Requires: check_charge() passed, and the locks of the charge's core and channel are held.
class LedgerRows {
public:
    /// The counter that has no room, or null.
    [[nodiscard]] const std::uint64_t* overflow(const Charge& charge) const noexcept {
        const auto room = ~std::uint64_t{0} - charge.bytes.count();
        if (charge.on_host()) return host.total > room ? &host.total : nullptr;
        const auto& row = cores[charge.core.value()].used;
        if (row[kUsages] > room) return &row[kUsages];
        const auto& channel = channels[charge.hbm];
        return channel.total > room ? &channel.total : nullptr;
    }

    /// The counter that holds less than would go, or null.
    [[nodiscard]] const std::uint64_t* shortfall(const Charge& charge,
                                                 const OwnerAccount* owner) const noexcept {
        const auto bytes = charge.bytes.count();
        if (charge.on_host()) {
            const auto& held = host.used[host_slot(charge.category)];
            return held < bytes ? &held : nullptr;
        }
        const auto usage = static_cast<std::size_t>(charge.usage);
        const auto& row = cores[charge.core.value()].used;
        if (row[usage] < bytes) return &row[usage];
        const auto& channel = channels[charge.hbm];
        if (channel.total < bytes) return &channel.total;
        return owner != nullptr && owner->used[usage] < bytes ? &owner->used[usage] : nullptr;
    }

    /// Requires: no overflow().
    [[gnu::always_inline]] void add(const Charge& charge, OwnerAccount* owner) noexcept {
        const auto bytes = charge.bytes.count();
        if (owner != nullptr) ++owner->blocks;
        if (charge.on_host()) {
            host.used[host_slot(charge.category)] += bytes;
            host.total += bytes;
            return;
        }
        const auto usage = static_cast<std::size_t>(charge.usage);
        auto& core = cores[charge.core.value()];
        core.used[usage] += bytes;
        raise(core.peak, core.used[kUsages] += bytes);
        auto& channel = channels[charge.hbm];
        raise(channel.peak, channel.total += bytes);
        if (owner == nullptr) return;
        owner->used[usage] += bytes;
        raise(owner->peak, owner->used[kUsages] += bytes);
    }

    /// Requires: no shortfall().
    [[gnu::always_inline]] void remove(const Charge& charge, OwnerAccount* owner) noexcept {
        const auto bytes = charge.bytes.count();
        if (owner != nullptr && owner->blocks != 0) --owner->blocks;
        if (charge.on_host()) {
            host.used[host_slot(charge.category)] -= bytes;
            host.total -= bytes;
            return;
        }
        const auto usage = static_cast<std::size_t>(charge.usage);
        auto& core = cores[charge.core.value()];
        core.used[usage] -= bytes;
        core.used[kUsages] -= bytes;
        channels[charge.hbm].total -= bytes;
        if (owner == nullptr) return;
        owner->used[usage] -= bytes;
        owner->used[kUsages] -= bytes;
    }

    /// What an event tells as the total after it: the HBM's, or all host memory.
    [[nodiscard]] std::uint64_t channel_total(const Charge& charge) const noexcept {
        return charge.on_host() ? host.total : channels[charge.hbm].total;
    }

    /// Requires: every lock is held.
    [[nodiscard]] LedgerSnapshot snapshot() const noexcept {
        LedgerSnapshot all;
        for (std::size_t c = 0; c < kMaxHbm; ++c) {
            all.on_channel[c] = channels[c].total;
            all.channel_peak[c] = channels[c].peak;
            all.lost_on_channel[c] = channels[c].lost;
        }
        for (std::size_t c = 0; c < kMaxCoresPerDevice; ++c) {
            all.by_core[c] = cores[c].used;
            all.core_peak[c] = cores[c].peak;
            all.core_budget[c] = cores[c].budget.load(std::memory_order_relaxed);
        }
        all.on_host = host.used;
        all.lost_on_host = host.lost;
        return all;
    }

    std::array<ChannelRow, kMaxHbm> channels;
    std::array<CoreRow, kMaxCoresPerDevice> cores;
    HostRow host;

private:
    static void raise(std::uint64_t& peak, std::uint64_t now) noexcept {
        if (peak < now) peak = now;
    }
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
