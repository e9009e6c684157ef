// SPDX-License-Identifier: Apache-2.0
//
// Host device numbers and fabric addresses.
// Owns: the map between them, and what stands in for it where the driver has none.
// Does not own: the driver's answer. Layer: topology.
// libnrt: host_did_to_rid_map. Source: tables.md 13 and 22
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/instance.hpp"
#include "neuronbook/base/result.hpp"

namespace neuronbook {
inline namespace v0 {

/// Which device answers to which routing id; up to 64. Immutable once made, so as thread-safe as a
/// number. libnrt: host_did_to_rid_map.
/// Differs: holds all 64 numbers a node may carry; a family without a table is an error, not an
/// empty map.
class RoutingMap {
public:
    RoutingMap() = default;

    /// From the driver's answer; where it has none, by the family's table.
    /// Errors: INVALID with UnknownFamily (value: the family's number) when there is neither.
    static Result<RoutingMap> make(const std::optional<RoutingIds>& driver, InstanceFamily family) {
        RoutingMap map;
        if (driver) {
            map.size_ = driver->count;
            map.of_ = driver->of;
            return map;
        }
        switch (family) {
        case InstanceFamily::Trn1:
        case InstanceFamily::Trn1n:
        case InstanceFamily::Inf2e:
            map.size_ = kTrn1.size();
            for (std::uint32_t i = 0; i < kTrn1.size(); ++i) map.of_[kTrn1[i]] = RoutingId{i};
            return map;
        case InstanceFamily::Inf2:
            map.size_ = 12;
            for (std::uint32_t i = 0; i < map.size_; ++i) map.of_[i] = RoutingId{i};
            return map;
        case InstanceFamily::Inf1: return map;
        default: break;
        }
        return fail({.status = Status::Invalid,
                     .operation = Operation::ReadTopology,
                     .detail = Detail::UnknownFamily,
                     .value = static_cast<std::uint64_t>(family)});
    }

    /// Entries the source spoke of: the host's devices, which may be more than this process sees.
    [[nodiscard]] std::uint32_t size() const noexcept { return size_; }

    /// With gaps a host number may be past size(), so every number up to 63 has an entry.
    /// Errors: INVALID with DeviceOutOfRange.
    [[nodiscard]] Result<RoutingId> routing_of(HostDeviceId host) const {
        if (host.value() < of_.size()) return of_[host.value()];
        return fail(missing(host.value(), of_.size()));
    }

    /// The lowest host number with that address. Errors: INVALID with DeviceOutOfRange.
    [[nodiscard]] Result<HostDeviceId> host_of(RoutingId routing) const {
        for (std::uint32_t i = 0; i < of_.size(); ++i)
            if (of_[i] == routing && (i < size_ || routing != RoutingId{0})) return HostDeviceId{i};
        return fail(missing(routing.value(), size_));
    }

private:
    static constexpr std::array<std::uint32_t, 16> kTrn1{0,  4, 1,  5, 3,  7,  2,  6,
                                                         12, 8, 13, 9, 15, 11, 14, 10};

    static Error missing(std::uint64_t value, std::uint64_t limit) {
        return {.status = Status::Invalid,
                .operation = Operation::ReadTopology,
                .detail = Detail::DeviceOutOfRange,
                .value = value,
                .limit = limit};
    }

    std::uint32_t size_ = 0;
    std::array<RoutingId, kMaxHostDevices> of_{};
};

} // namespace v0
} // namespace neuronbook
