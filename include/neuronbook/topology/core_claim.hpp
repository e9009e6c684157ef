// SPDX-License-Identifier: Apache-2.0
//
// Taking logical cores for this process: which, and when there are none.
// Owns: the choice, all or nothing, the wait. Does not own: the marks (backend), the words of a
// refusal (busy_cores.hpp). Layer: topology.   libnrt: NEURON_RT_VISIBLE_CORES,
// NEURON_RT_NUM_CORES. Source: nrt-surface.md 4, driver-abi.md 5.6
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/log.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/topology/core_string.hpp"
#include "neuronbook/topology/detail/busy_cores.hpp"
#include "neuronbook/topology/present_cores.hpp"

namespace neuronbook {
inline namespace v0 {

/// Which cores a process asks for.
struct CoreWish {
    std::optional<VisibleCores> visible{};        ///< these and no others
    std::uint32_t count = 0;                      ///< that many of any; 0: all that are here
    std::optional<Nanoseconds> wait{};            ///< how long to try; nothing: once
    std::uint32_t most_devices = kMaxHostDevices; ///< that the process has room for
};

/// How long a process sleeps between two tries. Marks have no event to wait for.
inline constexpr Nanoseconds kClaimPoll{100'000'000};

namespace detail {

/// One wish on its way. Which run a count of cores gets is found by looking and then claimed by its
/// exact place: the driver's own scan for a run would give one that begins in the middle of a
/// logical core, and it overlooks a run right behind a busy core.
template <class D>
    requires ClaimOps<D> && ClockOps<D>
class CoreClaim {
public:
    using Ranges = std::vector<LogicalRange>;

    CoreClaim(D& driver, const PresentCores& present, const CoreWish& wish)
        : driver_(driver), present_(present), wish_(wish) {}

    Result<Ranges> run() {
        if (auto sane = check(); !sane) return fail(sane.error());
        const std::uint64_t start = driver_.now().count;
        for (bool told = false;; told = true) {
            auto got = attempt();
            if (got || !is_busy(got.error())) return got;
            const std::uint64_t waited = driver_.now().count - start;
            const std::uint64_t most = hopeless() || !wish_.wait ? 0 : wish_.wait->count;
            if (waited >= most)
                return fail(
                    explain_busy(driver_, present_, request(), wish_.most_devices, got.error()));
            if (!told) Log::write(LogLevel::Info, "waiting for cores that others have");
            driver_.sleep({std::min(kClaimPoll.count, most - waited)});
        }
    }

private:
    /// Others may be faster between the look and the claim, but not for ever.
    static constexpr int kRaces = 64;

    static bool is_busy(const Error& error) { return error.detail == Detail::CoresBusy; }

    /// More cores than there are in a row: no wait will help.
    [[nodiscard]] bool hopeless() const {
        return !wish_.visible && wish_.count != 0 &&
               !present_.has_run(wish_.count, wish_.most_devices);
    }

    [[nodiscard]] CoreRequest request() const {
        if (wish_.visible) return {wish_.visible->range, wish_.visible->range.count, false};
        const LogicalRange here{LogicalCore{present_.begin()}, present_.end() - present_.begin()};
        if (wish_.count != 0) return {here, wish_.count, true};
        return {here, present_.total(), false};
    }

    /// What is wrong with a wish whoever has the cores.
    [[nodiscard]] Result<void> check() const {
        if (present_.total() == 0)
            return fail({.operation = Operation::ChooseCores, .detail = Detail::NoDevices});
        std::uint32_t devices = present_.total() / present_.per_device();
        if (wish_.visible) {
            const auto& [range, text] = *wish_.visible;
            if (auto here = present_.check(range, text.view()); !here) return here;
            devices = present_.devices_of(range);
        } else if (wish_.count != 0) {
            const std::uint32_t n = present_.per_device();
            devices = wish_.count / n + (wish_.count % n != 0);
            if (wish_.count > present_.total()) return {}; // not enough cores, says the attempt
        }
        if (devices <= wish_.most_devices) return {};
        return fail({.status = Status::Resource,
                     .operation = Operation::ClaimCores,
                     .detail = Detail::TooManyDevices,
                     .value = devices,
                     .limit = wish_.most_devices});
    }

    Result<Ranges> attempt() {
        if (wish_.visible) return take({wish_.visible->range});
        if (wish_.count != 0) return take_any();
        Ranges all;
        present_.for_each_segment([&](const LogicalRange& segment) { all.push_back(segment); });
        return take(std::move(all));
    }

    /// All or nothing.
    Result<Ranges> take(Ranges ranges) {
        for (std::size_t i = 0; i < ranges.size(); ++i) {
            auto taken = driver_.claim(first_of(ranges[i]), users_of(ranges[i]));
            if (taken) continue;
            while (i-- > 0)
                if (!driver_.release(first_of(ranges[i]), users_of(ranges[i])))
                    Log::write(LogLevel::Warn, "a claim of cores could not be taken back");
            return fail(taken.error());
        }
        return ranges;
    }

    Result<Ranges> take_any() {
        Error busy{.status = Status::LoadNotEnoughNc,
                   .operation = Operation::ClaimCores,
                   .detail = Detail::CoresBusy,
                   .asked = wish_.count};
        for (int race = 0; race < kRaces; ++race) {
            const auto free = free_here(driver_, present_);
            if (!free) return fail(free.error());
            const auto found = present_.lowest_run(*free, wish_.count, wish_.most_devices);
            if (!found) break;
            const auto taken = driver_.claim_free(first_of(*found), users_of(*found));
            if (taken) return Ranges{*found};
            if (!is_busy(taken.error())) return fail(taken.error());
            busy = taken.error();
        }
        return fail(busy);
    }

    [[nodiscard]] UserCore first_of(const LogicalRange& range) const {
        return present_.lnc().core_of(range.first);
    }
    [[nodiscard]] std::uint32_t users_of(const LogicalRange& range) const {
        return present_.lnc().physical_count(range.count);
    }

    D& driver_;
    const PresentCores& present_;
    const CoreWish& wish_;
};

} // namespace detail

/// Effects: claims the logical cores of a wish, all or nothing; the runs taken, ascending. A count
/// gets the lowest run of free cores that is long enough. Requires: the driver object has claimed
/// nothing yet. Holds no lock while it waits. Errors: FAILURE with NoDevices; INVALID for cores
/// that are not here (as PresentCores::check()); RESOURCE with TooManyDevices; LOAD_NOT_ENOUGH_NC
/// with LogicalCoresBusy or NotEnoughCores: cores asked, available (limit), free elsewhere or in a
/// row (free, largest), logical core size, and as text the processes attached to the devices, where
/// the driver tells.
template <class D>
    requires ClaimOps<D> && ClockOps<D>
Result<std::vector<LogicalRange>> claim_cores(D& driver, const PresentCores& present,
                                              const CoreWish& wish) {
    return detail::CoreClaim<D>(driver, present, wish).run();
}

} // namespace v0
} // namespace neuronbook
