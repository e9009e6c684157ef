// SPDX-License-Identifier: Apache-2.0
//
// One ioctl on its way through the simulated kernel.
// Owns: how arguments come in and answers go out. Does not own: what any request does.
// Layer: backend (simulated kernel).   Source: driver-abi.md 3
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "neuronbook/backend/sim/request.hpp"
#include "neuronbook/backend/sim/state.hpp"
#include "neuronbook/backend/sim/user_memory.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// The driver's errno for what it does not support; libc has no name for it.
inline constexpr std::int64_t kNotSupported = 524;

/// One ioctl being served. A handler returns the value the driver's handler returns, or kWaits
/// after it set `until`; it is then called again from the start, `resumed`.
struct Call {
    static constexpr std::int64_t kWaits = std::numeric_limits<std::int64_t>::min();

    State& state;
    Device& device;
    const OpenFile& file;
    const Caller& caller;
    UserMemory& user;
    std::uint32_t word;
    std::uint64_t argument;
    Nanoseconds now;
    bool resumed;
    Nanoseconds since; ///< when it was asked first; `now` unless resumed
    Progress progress; ///< of before the wait; what is left in it comes back after the next one
    Nanoseconds until{};

    [[nodiscard]] const MachineSpec& machine() const { return state.machine; }
    /// Bytes that the request word encodes.
    [[nodiscard]] std::uint32_t encoded_size() const { return word >> 16 & 0x3FFFu; }
    /// The caller's slot on this device, AttachSlots::kNone when it is not attached.
    [[nodiscard]] std::uint32_t slot() const { return device.slots.find(caller.pid); }

    /// Reads a structure. 0, or what the driver answers when it cannot: the number of bytes that
    /// are missing up to 2.28, -EFAULT since.
    template <class T>
    std::int64_t copy_in(T& value, std::uint64_t from) {
        const auto missing = sizeof(T) - user.read(&value, from, sizeof(T));
        if (missing == 0) return 0;
        return machine().at_least(Release::V2_30_2) ? -EFAULT : static_cast<std::int64_t>(missing);
    }
    template <class T>
    std::int64_t copy_in(T& value) {
        return copy_in(value, argument);
    }

    /// Writes a structure. 0, or the number of bytes that could not be written; most handlers
    /// return that as it is.
    template <class T>
    std::int64_t copy_out(std::uint64_t to, const T& value) {
        return static_cast<std::int64_t>(sizeof(T) - user.write(to, &value, sizeof(T)));
    }
    template <class T>
    std::int64_t copy_out(const T& value) {
        return copy_out(argument, value);
    }

    /// An address in the caller's memory, from a pointer member of an argument.
    [[nodiscard]] static std::uint64_t address_of(const void* pointer) {
        return reinterpret_cast<std::uint64_t>(pointer);
    }
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
