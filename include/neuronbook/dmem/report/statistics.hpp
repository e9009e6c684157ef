// SPDX-License-Identifier: Apache-2.0
//
// How much memory is used, by whom, of how much: own bytes, others' and the limit, apart.
// Owns: sums and the scope of each. Does not own: the figures they come from.
// Layer: dmem.   libnrt: nrt_vnc_memory_stats, dmem_get_memory_stats. Source: tables.md 3 and 22
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/architecture.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/ledger_snapshot.hpp"
#include "neuronbook/dmem/report/pool_view.hpp"

namespace neuronbook {
inline namespace v0 {

/// Bytes of an HBM, or of all HBMs of a device. What the driver does not tell is absent, not 0.
/// Differs: the original gives one number of use, which programs took for their own.
struct HbmUse {
    Bytes own{};                   ///< charged by this runtime, lost bytes included
    std::optional<Bytes> others{}; ///< other processes' and runtimes', and the driver's own
    Bytes reserved{};              ///< the driver's carve-out
    Bytes limit{};                 ///< the full size, of the architecture's table

    /// All that is taken; own + others + reserved.
    [[nodiscard]] constexpr std::optional<Bytes> all() const noexcept {
        if (!others) return std::nullopt;
        return Bytes{own.count() + others->count() + reserved.count()};
    }
    /// What is free, in whatever pieces: limit - all.
    [[nodiscard]] constexpr std::optional<Bytes> headroom() const noexcept {
        const auto taken = all();
        if (!taken) return std::nullopt;
        return Bytes{*taken < limit ? limit.count() - taken->count() : 0};
    }
};

/// Bytes of a core, physical or logical, and the HBM next to it, which it may share with others.
struct CoreUse {
    Bytes own{}; ///< charged to it, wherever they lie
    std::uint32_t hbm = 0;
    HbmUse on_hbm{};
};

/// An HBM by ledger and list. `listed`: what view_pools() made of the driver's list, or nothing.
/// Requires: hbm < geometry.hbms.
[[nodiscard]] constexpr HbmUse hbm_use(const LedgerSnapshot& counters, const Geometry& geometry,
                                       std::uint32_t hbm, std::optional<Bytes> listed_others) {
    return {.own = booked_on_hbm(counters, hbm),
            .others = listed_others,
            .reserved = kCarveOut,
            .limit = geometry.hbm_size};
}

/// The same, asking the driver; a driver that has no list, or refuses it, leaves `others` absent.
template <class D>
[[nodiscard]] HbmUse hbm_use(D& driver, HostDeviceId device, const Geometry& geometry,
                             std::uint32_t hbm, const LedgerSnapshot& counters) {
    std::optional<Bytes> others;
    if constexpr (AuditOps<D>)
        if (const auto view = view_pools(driver, device, geometry, hbm, counters))
            others = view->others;
    return hbm_use(counters, geometry, hbm, others);
}

/// HBMs together: of a device. Others are known if they are of each.
[[nodiscard]] constexpr HbmUse sum_of(std::span<const HbmUse> hbms) noexcept {
    HbmUse sum{.others = Bytes{0}};
    const auto add = [](Bytes a, Bytes b) { return Bytes{a.count() + b.count()}; };
    for (const HbmUse& one : hbms) {
        sum.own = add(sum.own, one.own);
        sum.reserved = add(sum.reserved, one.reserved);
        sum.limit = add(sum.limit, one.limit);
        if (sum.others)
            sum.others = one.others ? std::optional(add(*sum.others, *one.others)) : std::nullopt;
    }
    return sum;
}

} // namespace v0
} // namespace neuronbook
