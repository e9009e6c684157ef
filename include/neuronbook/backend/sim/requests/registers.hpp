// SPDX-License-Identifier: Apache-2.0
//
// Requests that read and write registers by their addresses in the kernel.
// Owns: their handlers and checks. Does not own: the registers (device/registers.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 12 (measured on Trn1)
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "neuronbook/backend/sim/device/registers.hpp"
#include "neuronbook/backend/sim/requests/call.hpp"
#include "neuronbook/backend/sim/requests/semaphores.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// Largest buffer the kernel gives a handler.
inline constexpr std::uint64_t kLargestBuffer = std::uint64_t{4} << 20;

/// Reads `count` items. 0, -ENOMEM for too many of them, or what is said of memory that cannot be
/// read.
template <class T>
std::int64_t read_list(Call& call, std::vector<T>& list, const T* from, std::uint32_t count) {
    const auto size = std::uint64_t{count} * sizeof(T);
    if (size > kLargestBuffer) return -ENOMEM;
    list.resize(count);
    if (count == 0) return 0;
    const auto missing = size - call.user.read(list.data(), Call::address_of(from), size);
    if (missing == 0) return 0;
    return call.machine().at_least(Release::V2_30_2) ? -EFAULT : static_cast<std::int64_t>(missing);
}

/// Whether the driver reads a register there. 2.24 reads whatever it is told to.
[[nodiscard]] inline bool may_read(Call& call, std::uint64_t address) {
    const auto& bar = call.device.registers.bar();
    if (address >= bar.address && address - bar.address < bar.size) return true;
    if (!call.machine().at_least(Release::V2_26_5))
        call.state.journal.crashes.add("BAR_READ outside of the BAR: any kernel memory");
    return false;
}

/// Up to a hundred registers.
inline std::int64_t bar_read(Call& call) {
    constexpr std::uint32_t kMost = 100;
    uapi::BarRw ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    std::vector<std::uint64_t> addresses;
    const bool listed = ask.bar == 0;
    if (const auto answer = read_list(call, addresses, ask.address, listed ? ask.count : 1))
        return answer;
    if (ask.bar != 0 && ask.bar != 2) return -EINVAL;
    if (!listed && ask.count > 1) {
        call.state.journal.crashes.add("BAR_READ of bar 2 with more than one address: overrun");
        return -EINVAL;
    }
    if (!listed) addresses.resize(ask.count);
    for (const auto address : addresses)
        if (!may_read(call, address)) return -EINVAL;
    if (ask.count > kMost) return -EINVAL;
    std::vector<std::uint32_t> values;
    auto& device = call.device;
    for (const auto address : addresses) {
        const auto value =
            device.registers.read(device.memory, address - device.registers.bar().address);
        values.push_back(device.faults.gone ? kAllOnes : value.value_or(kAllOnes));
    }
    const auto size = values.size() * sizeof(std::uint32_t);
    if (size == 0) return 0;
    return static_cast<std::int64_t>(
        size - call.user.write(Call::address_of(ask.data), values.data(), size));
}

/// Registers of the firmware's own protocol, and those that tell a DMA engine where its rings are.
/// Where these are is known for Trn1 alone: each engine has 0x40000 bytes, its queues a page each
/// in either direction.
[[nodiscard]] inline bool is_blocked(const Call& call, std::uint64_t offset) {
    const auto into = offset - call.device.registers.bar().mailbox;
    for (std::uint64_t at = mailbox::kRequestHigh; at <= mailbox::kResponseLow; at += 4)
        if (into == at) return true;
    if (into == mailbox::kTrigger) return true;
    constexpr std::uint64_t kEngines = 0x30000000;
    constexpr std::uint64_t kEngine = 0x40000;
    constexpr std::uint64_t kEngineStarts[] = {0x0, 0x600000, 0x700000, 0xD00000};
    constexpr std::uint64_t kEnginesFrom[] = {16, 1, 16, 1};
    if (!call.machine().is(Architecture::Sunda)) return false;
    for (std::size_t i = 0; i < 4; ++i) {
        const auto in_group = offset - kEngines - kEngineStarts[i];
        if (in_group >= kEnginesFrom[i] * kEngine) continue;
        const auto in_side = in_group % kEngine % 0x20000;
        const auto queue = in_side / 0x1000;
        for (const std::uint64_t ring : {0x28u, 0x2Cu, 0x38u, 0x44u, 0x48u})
            if (queue >= 1 && queue <= 16 && in_side % 0x1000 == ring) return true;
    }
    return false;
}

/// Registers in order; what was written before one that is refused stays.
inline std::int64_t bar_write(Call& call) {
    uapi::BarRw ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    std::vector<std::uint64_t> addresses;
    std::vector<std::uint32_t> values;
    if (const auto answer = read_list(call, addresses, ask.address, ask.bar == 0 ? ask.count : 1))
        return answer;
    if (const auto answer = read_list(call, values, ask.data, ask.count)) return answer;
    if (ask.bar != 0) return -EINVAL;
    auto& device = call.device;
    const auto& bar = device.registers.bar();
    for (std::size_t i = 0; i < values.size(); ++i) {
        const auto offset = addresses[i] - bar.address; // below the BAR it is larger than any size
        const bool at_end = offset == bar.size && !call.machine().at_least(Release::V2_26_5);
        if (at_end) call.state.journal.crashes.add("BAR_WRITE just behind the BAR");
        if (offset >= bar.size && !at_end) return -EINVAL;
        if (is_blocked(call, offset)) return -EINVAL;
        if (!device.faults.gone) device.registers.write(device.memory, offset, values[i]);
    }
    return 0;
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
