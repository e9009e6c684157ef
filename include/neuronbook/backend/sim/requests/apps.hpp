// SPDX-License-Identifier: Apache-2.0
//
// Requests about the processes attached to a device.
// Owns: their handlers. Does not own: the slots (attach_slots.hpp), the locks (core_locks.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 5.4
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include "neuronbook/backend/sim/requests/call.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// Cores whose lock a process wrote last and that are in use; of the first four alone.
inline void add_lock_info(const CoreLocks& locks, uapi::AppInfo& app) {
    for (std::uint32_t core = 0; core < uapi::kAppInfoMaxModelsPerDevice; ++core) {
        const auto& lock = locks[core];
        if (!lock.in_use() || lock.pid() != app.pid) continue;
        app.nc_lock_map = static_cast<std::uint8_t>(app.nc_lock_map | 1u << core);
        app.uuid_data[core] = lock.name();
    }
}

/// In the order of their slots, as many as the caller has room for.
inline std::int64_t all_apps_info(Call& call) {
    constexpr int kStackLeftOver = 0xA5; // names of cores that are not locked are not initialised
    uapi::GetAppsInfo ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    std::vector<uapi::AppInfo> apps;
    auto& slots = call.device.slots;
    for (std::uint32_t i = 0; i < uapi::kMaxProcessPerDevice && apps.size() < ask.capacity; ++i) {
        if (slots[i].open_count == 0) continue;
        auto& app = apps.emplace_back();
        std::memset(&app.uuid_data, kStackLeftOver, sizeof app.uuid_data);
        app.pid = slots[i].pid;
        if ((ask.apps_info_flags & uapi::kAppInfoPidNcLockInfo) != 0)
            add_lock_info(call.device.locks, app);
        if ((ask.apps_info_flags & uapi::kAppInfoPidMemUsage) != 0) {
            app.host_mem_size = slots[i].host_bytes;
            app.device_mem_size = slots[i].device_bytes;
        }
    }
    ask.size = static_cast<std::uint32_t>(apps.size());
    if (const auto missing = call.copy_out(ask)) return missing;
    const auto size = apps.size() * sizeof(uapi::AppInfo);
    if (size == 0) return 0;
    return static_cast<std::int64_t>(
        size - call.user.write(call.argument + sizeof ask, apps.data(), size));
}

/// The process in the first slot, 0 when it is free.
inline std::int64_t app_pid(Call& call) {
    const auto& first = call.device.slots[0];
    return call.copy_out(first.open_count != 0 ? first.pid : std::int32_t{0});
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
