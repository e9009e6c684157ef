// SPDX-License-Identifier: Apache-2.0
//
// The logical cores of the devices that this process sees.
// Owns: which numbers there are, and runs among them. Does not own: who has them
// (core_claim.hpp). Layer: topology.   Source: tables.md 22 ("user core numbers"), nrt-surface.md
// 12
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/architecture.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/topology/core_string.hpp"
#include "neuronbook/topology/lnc_size.hpp"

namespace neuronbook {
inline namespace v0 {

/// Logical cores are numbered as the driver numbers cores, by host device, whether or not all
/// devices are here: device d has the cores d x n to d x n + n - 1. A gap of numbers is a missing
/// device. Immutable once made, nothing allocates.
class PresentCores {
public:
    PresentCores() = default;
    PresentCores(const DeviceList& devices, const Geometry& geometry, LncSize lnc) noexcept
        : lnc_(lnc), per_device_(geometry.cores / lnc.count()) {
        for (const HostDeviceId device : devices)
            if (device.value() < kMaxHostDevices) devices_ |= std::uint64_t{1} << device.value();
    }

    [[nodiscard]] LncSize lnc() const noexcept { return lnc_; }
    /// Logical cores of one device.
    [[nodiscard]] std::uint32_t per_device() const noexcept { return per_device_; }
    [[nodiscard]] HostDeviceId device_of(LogicalCore core) const noexcept {
        return HostDeviceId{core.value() / per_device_};
    }
    /// Place of a logical core on its device.
    [[nodiscard]] std::uint32_t place_of(LogicalCore core) const noexcept {
        return core.value() % per_device_;
    }

    /// Logical cores of all devices that are here.
    [[nodiscard]] std::uint32_t total() const noexcept {
        return static_cast<std::uint32_t>(std::popcount(devices_)) * per_device_;
    }
    /// The lowest number, 0 without devices.
    [[nodiscard]] std::uint32_t begin() const noexcept {
        return devices_ == 0 ? 0
                             : static_cast<std::uint32_t>(std::countr_zero(devices_)) * per_device_;
    }
    /// One past the highest number.
    [[nodiscard]] std::uint32_t end() const noexcept {
        return static_cast<std::uint32_t>(std::bit_width(devices_)) * per_device_;
    }
    [[nodiscard]] bool has(LogicalCore core) const noexcept {
        return core.value() < end() && (devices_ >> device_of(core).value() & 1) != 0;
    }

    /// How many devices a run touches.
    [[nodiscard]] std::uint32_t devices_of(const LogicalRange& range) const noexcept {
        if (range.count == 0) return 0;
        const LogicalCore last{range.first.value() + range.count - 1};
        return device_of(last).value() - device_of(range.first).value() + 1;
    }

    /// Whether all cores of a run that `text` named are here. Errors: INVALID with CoreRangeInvalid
    /// for an empty run, CoresPastEnd (value: the last core, limit: end()), MissingDevice.
    [[nodiscard]] Result<void> check(const LogicalRange& range, std::string_view text) const {
        Error error{.status = Status::Invalid,
                    .operation = Operation::ChooseCores,
                    .lnc = lnc_.count(),
                    .text = text};
        const std::uint64_t past = std::uint64_t{range.first.value()} + range.count;
        if (range.count == 0) {
            error.detail = Detail::CoreRangeInvalid;
            error.value = range.first.value();
            return fail(error);
        }
        if (past > end()) {
            error.detail = Detail::CoresPastEnd;
            error.value = past - 1;
            error.limit = end();
            return fail(error);
        }
        for (std::uint32_t i = range.first.value(); i < past; ++i) {
            if (has(LogicalCore{i})) continue;
            error.detail = Detail::MissingDevice;
            error.device = static_cast<std::int32_t>(device_of(LogicalCore{i}).value());
            return fail(error);
        }
        return {};
    }

    /// Effects: `visit(range)` for every run of cores between missing devices, ascending.
    template <class F>
    void for_each_segment(F visit) const {
        for (std::uint32_t i = 0; i < end();) {
            const std::uint32_t first = i;
            while (i < end() && has(LogicalCore{i})) i += per_device_;
            if (i != first)
                visit(LogicalRange{LogicalCore{first}, i - first});
            else
                i += per_device_;
        }
    }

    /// Whether all user cores of a logical core are in the set.
    [[nodiscard]] bool whole_in(const CoreSet& cores, LogicalCore core) const noexcept {
        for (std::uint32_t k = 0; k < lnc_.count(); ++k)
            if (!cores[lnc_.core_of(core, k).value()]) return false;
        return true;
    }

    /// Logical cores of a run that are whole in the set.
    [[nodiscard]] std::uint32_t count_in(const CoreSet& cores, const LogicalRange& range) const {
        std::uint32_t count = 0;
        for (std::uint32_t k = 0; k < range.count; ++k)
            count += whole_in(cores, LogicalCore{range.first.value() + k});
        return count;
    }

    /// The lowest run of `count` logical cores, one or more: all in the set, no device missing
    /// between them, on at most `most_devices` devices. Nothing when there is none.
    [[nodiscard]] std::optional<LogicalRange> lowest_run(const CoreSet& cores, std::uint32_t count,
                                                         std::uint32_t most_devices) const {
        std::uint32_t run = 0; // cores before i that a run may start with
        for (std::uint32_t i = 0; i < end(); ++i) {
            const LogicalCore core{i};
            run = has(core) && whole_in(cores, core) ? run + 1 : 0;
            if (run < count) continue;
            const LogicalRange found{LogicalCore{i + 1 - count}, count};
            if (devices_of(found) <= most_devices) return found;
        }
        return std::nullopt;
    }

    /// Whether there would be such a run if all cores were free.
    [[nodiscard]] bool has_run(std::uint32_t count, std::uint32_t most_devices) const {
        return lowest_run(CoreSet{}.set(), count, most_devices).has_value();
    }

    /// Length of the longest run that lowest_run() would find.
    [[nodiscard]] std::uint32_t longest_run(const CoreSet& cores,
                                            std::uint32_t most_devices) const noexcept {
        std::uint32_t run = 0;
        std::uint32_t longest = 0;
        for (std::uint32_t i = 0; i < end(); ++i) {
            run = has(LogicalCore{i}) && whole_in(cores, LogicalCore{i}) ? run + 1 : 0;
            while (run != 0 && devices_of({LogicalCore{i + 1 - run}, run}) > most_devices) --run;
            longest = std::max(longest, run);
        }
        return longest;
    }

private:
    std::uint64_t devices_ = 0; ///< bit d: host device d is here
    LncSize lnc_;
    std::uint32_t per_device_ = 1;
};

} // namespace v0
} // namespace neuronbook
