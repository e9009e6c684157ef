// SPDX-License-Identifier: Apache-2.0
//
// Requests for a core's reader/writer lock.
// Owns: their handlers, how long each of them waits. Does not own: the lock (core_locks.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 5.7 (measured but for the waits)
#pragma once

#include <cerrno>
#include <cstdint>

#include "neuronbook/backend/sim/device/core_locks.hpp"
#include "neuronbook/backend/sim/requests/call.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// Tries `times` with a pause of 10 us or a little more each; then -EBUSY. The model looks less
/// often, so a lock that gets free is seen within a millisecond.
inline std::int64_t wait_for_lock(Call& call, std::uint64_t times) {
    constexpr std::uint64_t kPause = 10'000;
    constexpr std::uint64_t kLook = 1'000'000;
    if (call.now.count - call.since.count >= times * kPause) return -EBUSY;
    call.until = Nanoseconds{call.now.count + kLook};
    return Call::kWaits;
}

/// Reads the argument and serves it with the core's lock. The bound is the driver's table, not what
/// the device has.
template <class F>
std::int64_t with_lock(Call& call, F serve) {
    uapi::Crwl ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    if (ask.nc_id >= kMaxCoresPerDevice) return -EINVAL;
    return serve(call.device.locks[ask.nc_id], ask.uuid);
}

inline std::int64_t crwl_writer_enter(Call& call) {
    constexpr std::uint64_t kTimes = 200'000;
    return with_lock(call, [&](CoreLock& lock, const uapi::Uuid& name) {
        if (lock.in_use()) return wait_for_lock(call, kTimes);
        return lock.write(call.caller.pid, name);
    });
}

inline std::int64_t crwl_writer_downgrade(Call& call) {
    return with_lock(call, [&](CoreLock& lock, const uapi::Uuid& name) {
        return lock.downgrade(call.caller.pid, name);
    });
}

/// Waits for a writer first, whoever that is, and only then looks at names.
inline std::int64_t crwl_reader_enter(Call& call) {
    constexpr std::uint64_t kTimes = 50'000;
    return with_lock(call, [&](CoreLock& lock, const uapi::Uuid& name) {
        if (lock.written()) return wait_for_lock(call, kTimes);
        return lock.read(call.caller.pid, name);
    });
}

inline std::int64_t crwl_reader_exit(Call& call) {
    return with_lock(call, [&](CoreLock& lock, const uapi::Uuid& name) {
        return lock.leave(call.caller.pid, name);
    });
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
