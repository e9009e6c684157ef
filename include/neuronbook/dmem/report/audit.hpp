// SPDX-License-Identifier: Apache-2.0
//
// Cross-check of three books of one device: ours, the driver's list of chunks, its counters.
// Owns: which figures must be equal, and what is said where they are not. Does not own: the figures
// (audit_evidence.hpp), their wording (audit_text.hpp). Layer: dmem.
// libnrt: dml_driver_dump. Source: nrt-surface.md 5.2 and 6.2, tables.md 7 and 22
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/architecture.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/device_usage.hpp"
#include "neuronbook/dmem/report/audit_evidence.hpp"
#include "neuronbook/dmem/report/detail/audit_sums.hpp"

namespace neuronbook {
inline namespace v0 {

/// Where figures are compared: an HBM; a category of the device; one of a core; one of the host.
struct AuditPlace {
    MemoryLocation location = MemoryLocation::Device;
    std::optional<std::uint32_t> hbm{};
    std::optional<CoreIndex> core{};
    std::optional<std::uint32_t> category{}; ///< mem_alloc_category; 19 counts as 11
};

/// The book that two others contradict.
enum class AuditedBook : std::uint8_t { Unknown, Ours, List, Counters };

/// Figures that should be equal and are not; absent where a book has no such figure. Bytes.
struct AuditFinding {
    AuditPlace place{};
    Bytes ours{};
    std::optional<Bytes> listed{};
    std::optional<Bytes> counted{};

    /// Nothing can be told of two figures alone.
    [[nodiscard]] AuditedBook suspect() const noexcept {
        if (!listed || !counted) return AuditedBook::Unknown;
        if (*listed == *counted) return AuditedBook::Ours;
        if (ours == *listed) return AuditedBook::Counters;
        return ours == *counted ? AuditedBook::List : AuditedBook::Unknown;
    }
};

/// What the driver took for itself: rings, queues, its own buffers. Categories 13 and 5.
struct DriverOwn {
    std::optional<Bytes> carve_out{}; ///< in the lists only: the counters begin after it
    std::optional<Bytes> listed{};    ///< category 13 besides
    std::optional<Bytes> counted{};   ///< category 13
    std::optional<Bytes> on_host{};   ///< category 5, which only a counter tells
};

/// What an audit found. `findings` is empty when all that could be read agrees.
struct Audit {
    HostDeviceId device{};
    std::vector<AuditFinding> findings{};
    std::vector<AuditPlace> unread{}; ///< what could not be compared: absent is not zero
    std::optional<bool> alone{};      ///< nothing: not known, then others are allowed for
    /// Listed beyond ours where others are allowed for; nothing unless every list was read.
    std::optional<Bytes> others{};
    DriverOwn driver_own{};

    [[nodiscard]] bool agrees() const noexcept { return findings.empty(); }
};

namespace detail {

class Auditor {
public:
    Auditor(const AuditSums& sums, const AuditEvidence& evidence, const Geometry& geometry)
        : sums_(sums), geometry_(geometry) {
        said_.device = evidence.device;
        said_.alone = evidence.alone;
    }

    [[nodiscard]] Audit run() && {
        compare_hbms();
        for (std::uint32_t category = 0; category < kChunkCategories; ++category) {
            if (is_host_category(category))
                compare_on_host(category);
            else if (category != kScratchpadCategory)
                compare_on_device(category);
        }
        said_.driver_own = {.carve_out = sums_.whole(sums_.carve_out),
                            .listed = sums_.listed_of(kDriverCategory),
                            .counted = sums_.counted(kDriverCategory, geometry_.cores),
                            .on_host = sums_.host[kDriverHostCategory]};
        return std::move(said_);
    }

private:
    /// Lost bytes are still the driver's, and nobody knows any more of which category.
    [[nodiscard]] bool fits(std::uint64_t ours, std::uint64_t theirs,
                            std::uint64_t lost) const noexcept {
        if (theirs < ours) return false;
        return said_.alone != true || theirs - ours <= lost;
    }
    void find(const AuditPlace& place, std::uint64_t ours, std::optional<Bytes> listed,
              std::optional<Bytes> counted) {
        said_.findings.push_back({place, Bytes{ours}, listed, counted});
    }

    void compare_hbms() {
        std::uint64_t others = 0;
        for (std::uint32_t hbm = 0; hbm < geometry_.hbms; ++hbm) {
            const AuditPlace place{.hbm = hbm};
            const std::uint64_t ours = sums_.ours_on_hbm[hbm];
            const auto listed = sums_.on_hbm[hbm];
            if (!listed)
                said_.unread.push_back(place);
            else if (!fits(ours, listed->count(), 0))
                find(place, ours, listed, std::nullopt);
            else
                others += listed->count() - ours;
        }
        said_.others = sums_.whole(others);
    }

    void compare_on_device(std::uint32_t category) {
        const bool drivers = category == kDriverCategory;
        std::uint64_t ours = 0;
        for (std::uint32_t c = 0; c < geometry_.cores; ++c) {
            const std::uint64_t here = sums_.ours_of(CoreIndex{c}, category);
            const auto counted = sums_.counted_of(CoreIndex{c}, category);
            const AuditPlace place{.core = CoreIndex{c}, .category = category};
            ours += here;
            if (!counted)
                said_.unread.push_back(place);
            else if (!drivers && !fits(here, counted->count(), sums_.lost_on_device))
                find(place, here, std::nullopt, counted);
        }
        const auto listed = sums_.listed_of(category);
        const auto counted = sums_.counted(category, geometry_.cores);
        const bool right = !listed || drivers || fits(ours, listed->count(), sums_.lost_on_device);
        if (!right || (listed && counted && *listed != *counted))
            find({.category = category}, ours, listed, counted);
    }

    void compare_on_host(std::uint32_t category) {
        if (category == kDriverHostCategory) return;
        const std::uint64_t ours = sums_.ours_on_host[category];
        const auto counted = sums_.host[category];
        const AuditPlace place{.location = MemoryLocation::Host, .category = category};
        if (!counted)
            said_.unread.push_back(place);
        else if (!fits(ours, counted->count(), sums_.lost_on_host))
            find(place, ours, std::nullopt, counted);
    }

    const AuditSums& sums_;
    const Geometry& geometry_;
    Audit said_;
};

} // namespace detail

/// Compares what is booked with what the driver says. `ours`: ledgers of this process, those of
/// other devices are passed over; several runtimes of a process give all of theirs.
/// - Each HBM: chunks less the carve-out and the driver's own are what we booked there.
/// - Each category of a core: its counter is what we booked. Host memory likewise.
/// - Each category of the device: the list's sum and the counters' sum are the same, whoever has
/// it. Where other processes have the device open, or nobody knows, theirs may be more than ours,
/// never less, so the sibling runtimes' ledgers of this process belong into `ours`. Bytes lost to a
/// refused free are still the driver's. A driver that keeps no
/// categories is compared by the sums of all.
[[nodiscard]] inline Audit compare_books(std::span<const DeviceUsage> ours,
                                         const AuditEvidence& evidence, const Geometry& geometry) {
    const detail::AuditSums sums(ours, evidence, geometry);
    return detail::Auditor(sums, evidence, geometry).run();
}

/// The same, asking the driver. Call it while nothing allocates or frees: the books are read one
/// after the other.
template <class D>
[[nodiscard]] Audit audit(D& driver, std::span<const DeviceUsage> ours, HostDeviceId device,
                          const Geometry& geometry) {
    return compare_books(ours, collect_evidence(driver, device, geometry), geometry);
}

} // namespace v0
} // namespace neuronbook
