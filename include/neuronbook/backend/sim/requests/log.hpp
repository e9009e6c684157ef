// SPDX-License-Identifier: Apache-2.0
//
// Requests that write to the kernel's log.
// Owns: their handlers. Does not own: the lines (journal.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 5.6, 12; the wording is ours
#pragma once

#include <array>
#include <cerrno>
#include <cstdint>
#include <string>

#include "neuronbook/backend/sim/requests/call.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// A line from anybody.
inline std::int64_t printk(Call& call) {
    constexpr std::uint32_t kMost = 512;
    uapi::Printk ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    if (ask.size > kMost) return -EFAULT;
    if (ask.size == 0) {
        call.state.journal.crashes.add("PRINTK of size 0: looks at the byte before its buffer");
        return -EBADMSG;
    }
    std::array<char, kMost> text{};
    const auto missing =
        ask.size - call.user.read(text.data(), Call::address_of(ask.buffer), ask.size);
    if (missing != 0)
        return call.machine().at_least(Release::V2_30_2) ? -EFAULT
                                                         : static_cast<std::int64_t>(missing);
    if (text[ask.size - 1] != '\0') return -EBADMSG;
    call.state.journal.log.add(text.data());
    return 0;
}

/// What is known of the process that marked a core, by the core's number on the host.
inline std::int64_t pid_state_dump(Call& call) {
    uapi::NcPidStateDump ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    if (ask.nc_id >= uapi::kCoreSlots) return -ENOENT;
    const auto owner = call.state.marks.owner(ask.nc_id);
    if (owner == 0) return 0;
    const auto number = ask.nc_id / call.machine().cores();
    const auto core = ask.nc_id % call.machine().cores();
    if (number >= call.state.devices.size()) return -EPERM;
    const auto& device = call.state.devices[number];
    const auto& lock = device.locks[core];
    std::string line = "neuron" + std::to_string(number) + " core " + std::to_string(core) +
                       ": marked by process " + std::to_string(owner);
    if (lock.in_use()) line += ", lock held after process " + std::to_string(lock.pid());
    const auto slot = device.slots.find(owner);
    if (slot == AttachSlots::kNone) line += ", not attached";
    call.state.journal.log.add(std::move(line));
    return 0;
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
