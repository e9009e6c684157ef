// SPDX-License-Identifier: Apache-2.0
//
// From the cores users count to the cores that are there.
// Owns: the arithmetic and the driver's map. Does not own: logical cores, claims.
// Layer: topology.   Source: tables.md 22 ("user core numbers"), driver-abi.md 5.10
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/architecture.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/result.hpp"

namespace neuronbook {
inline namespace v0 {

/// A core by the device's host number: where a user core is, before the tree gave slots.
struct HostCore {
    HostDeviceId device{};
    CoreIndex core{};

    friend constexpr bool operator==(HostCore, HostCore) noexcept = default;
};

/// User core u is core k = u mod n of host device u / n, n cores a device; on third- and fourth-
/// generation devices the driver's map turns k into the physical core. Immutable once made.
/// libnrt: tdrv_init (its virtual-to-physical map)
class CoreMap {
public:
    CoreMap() = default;

    /// `entries`: the driver's map, in order of user cores; nothing where it has none.
    CoreMap(const Geometry& geometry, std::optional<CoreMapEntries> entries)
        : per_device_(geometry.cores) {
        if (entries) entries_ = *std::move(entries);
    }

    [[nodiscard]] std::uint32_t cores_per_device() const noexcept { return per_device_; }

    /// Errors: INVALID with CoreOutOfRange (value, limit) past the map, and SelfCheckFailed where
    /// the driver's map names another device or a core that no device has.
    [[nodiscard]] Result<HostCore> host_core(UserCore user) const {
        const std::uint32_t limit = entries_.empty() ? kMaxHostDevices * per_device_
                                                     : static_cast<std::uint32_t>(entries_.size());
        if (user.value() >= limit) return fail(wrong(Detail::CoreOutOfRange, user, limit));
        const HostCore plain{HostDeviceId{user.value() / per_device_},
                             CoreIndex{user.value() % per_device_}};
        if (entries_.empty()) return plain;
        const CoreMapEntry& entry = entries_[user.value()];
        if (entry.device != plain.device || entry.core.value() >= per_device_)
            return fail(wrong(Detail::SelfCheckFailed, user, entry.core.value()));
        return HostCore{entry.device, entry.core};
    }

    /// The other way. Errors: INVALID with CoreOutOfRange for a core no user number leads to.
    [[nodiscard]] Result<UserCore> user_core(HostCore core) const {
        const std::uint32_t first = core.device.value() * per_device_;
        for (std::uint32_t k = 0; k < per_device_; ++k) {
            const auto there = host_core(UserCore{first + k});
            if (there && *there == core) return UserCore{first + k};
        }
        return fail(wrong(Detail::CoreOutOfRange, UserCore{core.core.value()}, per_device_));
    }

private:
    static Error wrong(Detail detail, UserCore value, std::uint64_t limit) {
        return {.status = Status::Invalid,
                .operation = Operation::ReadTopology,
                .detail = detail,
                .value = value.value(),
                .limit = limit};
    }

    std::uint32_t per_device_ = 0;
    CoreMapEntries entries_;
};

} // namespace v0
} // namespace neuronbook
