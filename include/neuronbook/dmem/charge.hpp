// SPDX-License-Identifier: Apache-2.0
//
// What is booked: so many bytes, for what, where, on whose account.
// Owns: the entry and the rule which entries have a counter. Does not own: counters (ledger.hpp).
// Layer: dmem.
#pragma once

#include <cstdint>
#include <string_view>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/hint.hpp"
#include "neuronbook/dmem/ledger_snapshot.hpp"
#include "neuronbook/dmem/usage.hpp"

namespace neuronbook {
inline namespace v0 {

/// One entry to book or to take out. `bytes` is what the driver charged, whole pages.
struct Charge {
    Usage usage = Usage::Generic;
    MemoryLocation location = MemoryLocation::Device;
    std::uint32_t hbm = 0; ///< channel; not looked at for host memory
    CoreIndex core{};
    std::uint32_t category = 0; ///< the driver's, as category_of() gives it
    Bytes bytes{};

    [[nodiscard]] constexpr bool on_host() const noexcept {
        return location == MemoryLocation::Host;
    }
};

/// A charge with what the event ring tells of it besides.
struct Booking {
    Charge charge{};
    Bytes requested{};
    DeviceAddress address{}; ///< where the chunk begins
    std::uint32_t align_offset = 0;
    Hint hint{};
};

namespace detail {

/// An error of booking, with all that a charge tells.
[[nodiscard, gnu::cold, gnu::noinline]] inline Error
booking_error(HostDeviceId device, const Charge& charge, Status status, Detail detail,
              std::uint64_t value, std::uint64_t limit = 0) noexcept {
    const bool host = charge.on_host();
    return {.status = status,
            .operation = Operation::Account,
            .detail = detail,
            .device = static_cast<std::int32_t>(device.value()),
            .core = static_cast<std::int32_t>(charge.core.value()),
            .hbm = host ? Error::kNone : static_cast<std::int32_t>(charge.hbm),
            .value = value,
            .limit = limit,
            .asked = charge.bytes.count(),
            .text = std::string_view(host ? "host" : "device")};
}

/// Counter of a host category: those that the driver knows are 0..6, and 17 for DMA rings.
[[nodiscard]] constexpr std::uint32_t host_slot(std::uint32_t category) noexcept {
    return category == 17 ? kHostCategories - 1 : category;
}

/// Errors: INVALID with UsageInvalid, UsageNotHere, HbmOutOfRange or CoreOutOfRange for what has no
/// counter.
[[nodiscard]] inline Result<void> check_charge(HostDeviceId device, const Charge& charge) {
    const auto refuse = [&](Detail detail, std::uint64_t value, std::uint64_t limit) {
        return fail(booking_error(device, charge, Status::Invalid, detail, value, limit));
    };
    const auto usage = static_cast<std::uint32_t>(charge.usage);
    if (!is_usage(charge.usage)) return refuse(Detail::UsageInvalid, usage, kUsages);
    if (charge.on_host() && charge.category != 17 && charge.category >= kHostCategories - 1)
        return refuse(Detail::UsageNotHere, usage, kUsages);
    if (!charge.on_host() && charge.hbm >= kMaxHbm)
        return refuse(Detail::HbmOutOfRange, charge.hbm, kMaxHbm);
    if (charge.core.value() >= kMaxCoresPerDevice)
        return refuse(Detail::CoreOutOfRange, charge.core.value(), kMaxCoresPerDevice);
    return {};
}

} // namespace detail
} // namespace v0
} // namespace neuronbook
