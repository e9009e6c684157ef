// SPDX-License-Identifier: Apache-2.0
//
// A record, told as a row of the leak report.
// Owns: which fact goes where. Does not own: the record, the row (survivor.hpp).
// Layer: dmem.
#pragma once

#include <atomic>
#include <cstdint>

#include "neuronbook/base/ids.hpp"
#include "neuronbook/dmem/charge.hpp"
#include "neuronbook/dmem/detail/block_record.hpp"
#include "neuronbook/dmem/detail/stamp_clock.hpp"
#include "neuronbook/dmem/hint.hpp"
#include "neuronbook/dmem/owner_account.hpp"
#include "neuronbook/dmem/survivor.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// Requires: the lock of the record's owner. Reads no clock: `at` was looked up before.
[[nodiscard]] inline Survivor survivor_row(const BlockRecord& record, const OwnerAccount& owner,
                                           const StampClock& clock,
                                           StampClock::Instant at) noexcept {
    const BlockFacts& facts = record.facts;
    const Booking& booking = facts.booking;
    return {.device = record.owner->device,
            .core = booking.charge.core,
            .location = booking.charge.location,
            .hbm = booking.charge.hbm,
            .usage = booking.charge.usage,
            .requested = booking.requested,
            .charged = booking.charge.bytes,
            .address = DeviceAddress{booking.address.value() + booking.align_offset},
            .hint = booking.hint,
            .owner = owner.name.id,
            .tier = owner.tier,
            .label = owner.name.label,
            .number = facts.number,
            .age = clock.age(facts.ticks, at),
            .handles = static_cast<std::uint32_t>(record.count.load(std::memory_order_relaxed)),
            .mapped = record.mapping.load(std::memory_order_relaxed) != nullptr,
            .exported = record.exports.load(std::memory_order_relaxed)};
}

} // namespace detail
} // namespace v0
} // namespace neuronbook
