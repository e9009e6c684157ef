// SPDX-License-Identifier: Apache-2.0
//
// The figures of an audit, each book added up in the driver's categories.
// Owns: which category a byte counts as. Does not own: what must be equal (audit.hpp).
// Layer: dmem.   Source: tables.md 7, driver-abi.md 11
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/architecture.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/device_usage.hpp"
#include "neuronbook/dmem/report/audit_evidence.hpp"
#include "neuronbook/dmem/report/pool_view.hpp"
#include "neuronbook/dmem/usage.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

inline constexpr std::uint32_t kDriverHostCategory = 5; ///< NCDEV_HOST
inline constexpr std::uint32_t kUnknownOnHost = 0;
inline constexpr std::uint32_t kUnknownOnDevice = 7;

[[nodiscard]] constexpr bool is_host_category(std::uint32_t category) noexcept {
    return category <= 6 || category == 17;
}

struct AuditSums {
    using Row = std::array<std::uint64_t, kChunkCategories>;
    using Counted = std::array<std::optional<Bytes>, kChunkCategories>;

    AuditSums(std::span<const DeviceUsage> ours, const AuditEvidence& evidence,
              const Geometry& geometry) {
        for (std::uint32_t hbm = 0; hbm < geometry.hbms; ++hbm) add_list(hbm, evidence, geometry);
        if (evidence.counters)
            for (const MemoryCounter& counter : *evidence.counters) add(counter);
        for (const DeviceUsage& usage : ours)
            if (usage.device == evidence.device) add(usage.counters);
    }

    [[nodiscard]] std::uint64_t ours_of(CoreIndex core, std::uint32_t category) const noexcept {
        return by_core[core.value()][category];
    }
    [[nodiscard]] std::optional<Bytes> listed_of(std::uint32_t category) const noexcept {
        return whole(listed[category]);
    }
    /// A sum over the lists, if all of them were read.
    [[nodiscard]] std::optional<Bytes> whole(std::uint64_t sum) const noexcept {
        if (!all_listed) return std::nullopt;
        return Bytes{sum};
    }
    [[nodiscard]] std::optional<Bytes> counted_of(CoreIndex core,
                                                  std::uint32_t category) const noexcept {
        return by_counter[core.value()][category];
    }
    /// Of all cores; nothing when the counter of one is missing.
    [[nodiscard]] std::optional<Bytes> counted(std::uint32_t category,
                                               std::uint32_t cores) const noexcept {
        std::uint64_t sum = 0;
        for (std::uint32_t c = 0; c < cores; ++c) {
            const auto& one = by_counter[c][category];
            if (!one) return std::nullopt;
            sum += one->count();
        }
        return Bytes{sum};
    }

    std::array<std::uint64_t, kMaxHbm> ours_on_hbm{};   ///< lost bytes included
    std::array<std::optional<Bytes>, kMaxHbm> on_hbm{}; ///< without the driver's own
    std::array<Row, kMaxCoresPerDevice> by_core{};
    Row ours_on_host{};
    Row listed{};
    std::array<Counted, kMaxCoresPerDevice> by_counter{};
    Counted host{};
    std::uint64_t carve_out = 0;
    std::uint64_t lost_on_device = 0;
    std::uint64_t lost_on_host = 0;
    bool all_listed = true;

private:
    /// The contiguous scratchpad is counted with the shared one.
    [[nodiscard]] static std::uint32_t counted_as(std::uint32_t category) noexcept {
        if (category == kScratchpadCategory) return 11;
        return category < kChunkCategories ? category : kUnknownOnDevice;
    }

    void add_list(std::uint32_t hbm, const AuditEvidence& evidence, const Geometry& geometry) {
        const auto& list = evidence.lists[hbm];
        all_listed = all_listed && list.has_value();
        if (!list) return;
        std::uint64_t users = 0;
        for (const ChunkRecord& chunk : *list) {
            const std::uint64_t offset = chunk.address.value() - geometry.hbm_base[hbm].value();
            if (contains(kCarveOut, Bytes{offset}, chunk.size)) {
                carve_out += chunk.size.count();
                continue;
            }
            const std::uint32_t category = counted_as(chunk.category);
            listed[category] += chunk.size.count();
            if (category == kDriverCategory) continue;
            users += chunk.size.count();
            any_listed_ = true;
            any_category_ = any_category_ || category != kUnknownOnDevice;
        }
        on_hbm[hbm] = Bytes{users};
    }

    void add(const MemoryCounter& counter) {
        if (counter.category >= kChunkCategories) return;
        if (counter.location == MemoryLocation::Host)
            host[counter.category] = counter.now;
        else if (counter.core && counter.core->value() < kMaxCoresPerDevice)
            by_counter[counter.core->value()][counted_as(counter.category)] = counter.now;
    }

    /// Before release 2.24.7 or so requests had no category: everything counts as unknown.
    void add(const LedgerSnapshot& counters) {
        const bool kept = any_category_ || !any_listed_;
        for (std::size_t c = 0; c < kMaxCoresPerDevice; ++c)
            for (std::uint32_t u = 0; u < kUsages; ++u) {
                const std::uint32_t category = kUsageRows[u].device;
                by_core[c][kept ? category : kUnknownOnDevice] += counters.by_core[c][u];
            }
        for (std::uint32_t slot = 0; slot < kHostCategories; ++slot) {
            const std::uint32_t category = slot == kHostCategories - 1 ? 17 : slot;
            ours_on_host[kept ? category : kUnknownOnHost] += counters.on_host[slot];
        }
        for (std::uint32_t hbm = 0; hbm < kMaxHbm; ++hbm) {
            ours_on_hbm[hbm] += booked_on_hbm(counters, hbm).count();
            lost_on_device += counters.lost_on_channel[hbm];
        }
        lost_on_host += counters.lost_on_host;
    }

    bool any_listed_ = false;
    bool any_category_ = false;
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
