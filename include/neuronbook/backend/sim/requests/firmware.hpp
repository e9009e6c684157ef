// SPDX-License-Identifier: Apache-2.0
//
// Requests that the device's firmware answers through its mailbox.
// Owns: their handlers, what the firmware says. Does not own: the mailbox (device/registers.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 3, 12 (measured: parts 1 and 5)
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include "neuronbook/backend/sim/requests/call.hpp"
#include "neuronbook/backend/sim/requests/registers.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// Firmware that does not do as it is told is asked 15 times, a second each, then given up. 0, or
/// -EPERM, or kWaits.
inline std::int64_t ask_firmware(Call& call) {
    constexpr std::uint64_t kPatience = 15'000'000'000;
    if (!call.device.faults.firmware_refuses && !call.device.faults.gone) return 0;
    if (call.resumed) return -EPERM;
    call.until = Nanoseconds{call.now.count + kPatience};
    return Call::kWaits;
}

/// A register by the address at which the device itself knows it. What the firmware does not know
/// reads as a word that says so (measured).
[[nodiscard]] inline std::uint32_t firmware_register(Call& call, std::uint64_t address) {
    constexpr std::uint32_t kUnknown = 0xDEADBEEFu;
    const std::uint64_t base =
        call.machine().is(Architecture::Sunda) ? 0x0FFFC0000000u : 0x8000000000u;
    if (address < base) return kUnknown;
    return call.device.registers.read(call.device.memory, address - base).value_or(kUnknown);
}

inline std::int64_t read_hw_counters(Call& call) {
    constexpr std::uint64_t kLargestRequest = 65527;
    uapi::ReadHwCounters ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    std::vector<std::uint64_t> addresses;
    if (const auto answer = read_list(call, addresses, ask.address, ask.count)) return answer;
    if (call.machine().at_least(Release::V2_26_5) &&
        addresses.size() * sizeof(std::uint64_t) > kLargestRequest)
        return -EINVAL;
    if (const auto answer = ask_firmware(call)) return answer;
    std::vector<std::uint32_t> values;
    values.reserve(addresses.size());
    for (const auto address : addresses) values.push_back(firmware_register(call, address));
    const auto size = values.size() * sizeof(std::uint32_t);
    if (size == 0) return 0;
    return static_cast<std::int64_t>(
        size - call.user.write(Call::address_of(ask.data), values.data(), size));
}

/// Goes into the mailbox's block for metrics, from its start.
inline std::int64_t post_metric(Call& call) {
    constexpr std::uint32_t kBlock = 128;
    constexpr std::uint32_t kWord = sizeof(std::uint32_t);
    uapi::PostMetric ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    if (ask.data_size > kLargestBuffer) return -ENOMEM;
    // the size is tested after the copy, so a bad pointer comes first
    std::vector<std::uint8_t> bytes;
    const auto* from = reinterpret_cast<const std::uint8_t*>(ask.data);
    if (const auto answer = read_list(call, bytes, from, ask.data_size)) return answer;
    if (ask.data_size > kBlock) return -E2BIG;
    if (const auto answer = ask_firmware(call)) return answer;
    bytes.resize((bytes.size() + kWord - 1) / kWord * kWord);
    auto& registers = call.device.registers;
    for (std::size_t i = 0; i < bytes.size(); i += kWord) {
        std::uint32_t value = 0;
        std::memcpy(&value, bytes.data() + i, kWord);
        registers.write(call.device.memory, registers.bar().mailbox + mailbox::kMetrics + i, value);
    }
    return 0;
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
