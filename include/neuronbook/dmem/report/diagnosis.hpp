// SPDX-License-Identifier: Apache-2.0
//
// Why an allocation failed, and the smallest change that would have made it fit, as data.
// Owns: the verdict. Does not own: the figures it is made of, or its wording
// (oom_report.hpp). Layer: dmem.   Source: nrt-surface.md 5.5, tables.md 15 and 22
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/architecture.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/device_usage.hpp"
#include "neuronbook/dmem/report/nearest_room.hpp"
#include "neuronbook/dmem/report/pool_view.hpp"
#include "neuronbook/dmem/usage.hpp"

namespace neuronbook {
inline namespace v0 {

/// An allocation that was refused.
struct FailedRequest {
    HostDeviceId device{};
    CoreIndex core{};
    MemoryLocation location = MemoryLocation::Device;
    std::uint32_t hbm = 0;
    Usage usage = Usage::Generic;
    Bytes requested{};
    Bytes asked{}; ///< of the driver; more than requested where it cannot align. 0: as requested
    Bytes alignment{};
    std::uint32_t owner = 0; ///< id of the allocator, as OwnerUsage has it
    std::string_view
        tier{}; ///< the same; a model's number stands for an owner on each of its cores
    /// A page of contiguous scratchpad: the driver puts it right below the one before.
    bool contiguous = false;
    /// CoreBudget, OwnerBudget or Handles where one of these refused; else the driver did.
    FailureCause refused_by = FailureCause::Unknown;
};

/// What would have made the request fit; each alone would do. Nothing: no such change is known.
struct Change {
    std::optional<Bytes> ask_less{};     ///< bytes less to ask for
    std::optional<Room> free{};          ///< bytes to free, and where
    std::optional<Bytes> alignment{};    ///< the largest that works instead
    std::optional<Bytes> raise_budget{}; ///< bytes more, or bytes its owner must free
};

/// The verdict. What nobody knows is absent, not 0.
struct Diagnosis {
    FailureCause cause = FailureCause::Unknown;
    std::string_view reason{}; ///< static text; why the cause is unknown
    FailedRequest request{};
    Bytes charged{};   ///< what the driver would have taken: whole pages
    Bytes limit{};     ///< size of the HBM; 0 for host memory
    Bytes used_here{}; ///< by this runtime, on that HBM or of the host
    std::optional<Bytes> used_by_others{};
    std::optional<Bytes> free{};
    std::optional<Bytes> largest{};
    std::optional<std::uint64_t> free_blocks{};
    Bytes budget{};      ///< where a budget refused
    Bytes budget_used{}; ///< of it
    Change change{};
};

namespace detail {

[[nodiscard]] constexpr Bytes less(Bytes a, Bytes b) noexcept {
    return Bytes{a > b ? a.count() - b.count() : 0};
}

/// Whole pages of what is left: less than one is of no use to anybody.
[[nodiscard]] constexpr Bytes pages_in(Bytes size) noexcept {
    return Bytes{size.count() / kPage.count() * kPage.count()};
}

/// What the driver was asked for.
[[nodiscard]] inline Bytes asked_of(const FailedRequest& request) noexcept {
    return std::max(request.asked, request.requested);
}

/// The driver cannot align: it was asked for the alignment in bytes on top.
[[nodiscard]] inline bool padded(const FailedRequest& request) noexcept {
    return request.asked > request.requested;
}

/// What the driver would take of a pool at another alignment.
[[nodiscard]] inline Bytes charged_at(const FailedRequest& request, Bytes alignment) noexcept {
    const bool on_top = padded(request) && alignment > kPage;
    const Bytes asked =
        on_top ? Bytes{request.requested.count() + alignment.count()} : request.requested;
    return whole_pages(asked).value_or(asked);
}

/// Where a page of contiguous scratchpad may go is no choice, and its alignment is not looked at.
[[nodiscard]] inline Bytes largest_for(const FailedRequest& request, const PoolView& view,
                                       Bytes alignment) noexcept {
    return request.contiguous ? view.scratchpad_room
                              : view.largest_at(padded(request) ? Bytes{} : alignment);
}

/// So much less that the driver would have been asked for `largest`, if something is left then.
inline void suggest_less(Diagnosis& said, Bytes largest) noexcept {
    const Bytes by = less(asked_of(said.request), pages_in(largest));
    if (by < said.request.requested) said.change.ask_less = by;
}

inline void judge_budget(Diagnosis& said, const DeviceUsage& usage) {
    const auto& request = said.request;
    if (said.cause == FailureCause::CoreBudget && request.core.value() < kMaxCoresPerDevice) {
        said.budget = Bytes{usage.counters.core_budget[request.core.value()]};
        said.budget_used = usage.counters.total(request.core);
    }
    for (const OwnerUsage& owner : usage.owners)
        if (said.cause == FailureCause::OwnerBudget && owner.id == request.owner &&
            owner.core == request.core && owner.tier == request.tier) {
            said.budget = owner.budget;
            said.budget_used = Bytes{owner.used[kUsages]};
        }
    // Others may have freed since: then what is left of the budget is enough by now.
    const auto wanted = checked_sum(said.budget_used, said.charged);
    if (!wanted || *wanted <= said.budget) return;
    said.change.raise_budget = less(*wanted, said.budget);
    const Bytes left = pages_in(less(said.budget, said.budget_used));
    suggest_less(said, left);
}

inline void judge_pools(Diagnosis& said, const PoolView& view) {
    const auto& request = said.request;
    const Bytes largest = largest_for(request, view, request.alignment);
    if (largest >= said.charged) {
        said.reason = "it would fit now: memory was freed in between, or the driver refused for "
                      "another reason";
        return;
    }
    if (!request.contiguous && view.largest() >= charged_at(request, {})) {
        said.cause = FailureCause::Alignment;
        Bytes works = request.alignment;
        while (works > kPage && largest_for(request, view, works) < charged_at(request, works))
            works = Bytes{works.count() / 2};
        said.change.alignment = works;
    } else {
        said.cause = view.free() >= said.charged ? FailureCause::Fragmentation : FailureCause::Size;
    }
    suggest_less(said, largest);
    if (!request.contiguous)
        said.change.free =
            nearest_room(view, said.charged, padded(request) ? Bytes{} : request.alignment);
}

} // namespace detail

/// Effects: says why. `pools` is a view of the request's HBM made after the refusal, or null where
/// the driver cannot list its chunks: then the cause is Unknown, unless a budget, the handles or
/// the HBM's size refused. Host memory has no list either.
/// A refused alignment must be a power of two.
[[nodiscard]] inline Diagnosis diagnose(const FailedRequest& request, const Geometry& geometry,
                                        const DeviceUsage& usage, const PoolView* pools) {
    const bool host = request.location == MemoryLocation::Host;
    Diagnosis said{.cause = request.refused_by, .request = request};
    const Bytes asked = detail::asked_of(request);
    said.charged = whole_pages(asked).value_or(asked);
    said.used_here = host ? usage.counters.host() : booked_on_hbm(usage.counters, request.hbm);
    if (!host) said.limit = geometry.hbm_size;
    if (!host && pools) {
        said.used_by_others = pools->others;
        said.free = pools->free();
        said.largest = pools->largest();
        said.free_blocks = pools->blocks();
    }
    if (said.cause == FailureCause::Handles) return said;
    if (said.cause != FailureCause::Unknown) {
        detail::judge_budget(said, usage);
    } else if (host) {
        said.reason = "the driver does not tell how much host memory it could get in one piece";
    } else if (request.requested > geometry.hbm_size) {
        said.cause = FailureCause::Size;
        if (pools)
            detail::suggest_less(said, detail::largest_for(request, *pools, request.alignment));
    } else if (!pools) {
        said.reason = "the driver does not list its chunks";
    } else {
        detail::judge_pools(said, *pools);
    }
    return said;
}

/// Puts the verdict into an error: cause, free, largest, free_blocks, others and change; also value
/// (used here) and limit where a budget did not refuse.
[[nodiscard]] inline Error complete(Error error, const Diagnosis& said) noexcept {
    error.cause = said.cause;
    error.asked = said.request.requested.count();
    error.free = said.free.value_or(Bytes{}).count();
    error.largest = said.largest.value_or(Bytes{}).count();
    error.others = said.used_by_others.value_or(Bytes{}).count();
    error.free_blocks = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(said.free_blocks.value_or(0), ~std::uint32_t{0}));
    const bool budget =
        said.cause == FailureCause::CoreBudget || said.cause == FailureCause::OwnerBudget;
    error.value = (budget ? said.budget_used : said.used_here).count();
    error.limit = (budget ? said.budget : said.limit).count();
    const auto& change = said.change;
    const auto& smallest = said.cause == FailureCause::Alignment ? change.alignment
                           : budget                              ? change.raise_budget
                                                                 : change.ask_less;
    error.change = smallest.value_or(Bytes{}).count();
    return error;
}

} // namespace v0
} // namespace neuronbook
