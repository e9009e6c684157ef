// SPDX-License-Identifier: Apache-2.0
//
// Pinning and unpinning of a process's own memory.
// Owns: the two handlers. Does not own: what is pinned (host/pins.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 8.9, read from source
#pragma once

#include <cerrno>
#include <cstdint>
#include <limits>

#include "neuronbook/backend/sim/requests/call.hpp"
#include "neuronbook/backend/uapi.hpp"
#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// A made-up physical address of a page of a process: above every chunk of host memory that a
/// device's driver hands out, the same whenever it is asked for.
[[nodiscard]] constexpr std::uint64_t user_page(std::int32_t pid, std::uint64_t va) noexcept {
    constexpr std::uint64_t kUserPages = std::uint64_t{1} << 43;
    constexpr std::uint64_t kPerProcess = std::uint64_t{1} << 36;
    return kUserPages + (static_cast<std::uint64_t>(pid) % 64) * kPerProcess + va % kPerProcess;
}

/// What the driver answers for memory that it tries to pin, writable and for long. The list of
/// pages must be allocated, whose bytes are counted in an int.
[[nodiscard]] inline std::int64_t try_to_pin(Call& call, std::uint64_t va, std::uint64_t size) {
    constexpr std::uint64_t kMostPages =
        std::numeric_limits<std::int32_t>::max() / sizeof(std::uint64_t);
    if (size > std::numeric_limits<std::uint64_t>::max() - va - kPage.count()) return -EFAULT;
    const auto start = va / kPage.count();
    const auto pages = (va + size + kPage.count() - 1) / kPage.count() - start;
    if (pages > kMostPages) return -ENOMEM;
    if (is_driver_mapping(call.state, call.caller.pid, va, size)) return -EFAULT;
    return call.user.can_pin(start * kPage.count(), pages * kPage.count()) ? 0 : -EFAULT;
}

/// Pages of two or more are not adjacent in the host's memory; nobody promises that they are.
inline std::int64_t pin_host_memory(Call& call) {
    uapi::HostMemPin ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    if (ask.va == 0 || ask.size == 0) return -EINVAL;
    if (const auto answer = try_to_pin(call, ask.va, ask.size)) return answer;
    if (!call.state.pins.pin(call.caller.pid, ask.va, ask.size)) return -EEXIST;
    const bool one_page = ask.va % kPage.count() + ask.size <= kPage.count();
    ask.pa = one_page ? call.machine().geometry().host_memory_base.value() |
                            user_page(call.caller.pid, ask.va)
                      : std::numeric_limits<std::uint64_t>::max();
    return call.copy_out(ask) == 0 ? 0 : -EFAULT; // the pin stays
}

inline std::int64_t unpin_host_memory(Call& call) {
    uapi::HostMemUnpin ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    return call.state.pins.unpin(call.caller.pid, ask.va) ? 0 : -ENOENT;
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
