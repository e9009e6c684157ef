// SPDX-License-Identifier: Apache-2.0
//
// Which processes have a device open.
// Owns: the request and its decoding, the names of commands. Does not own: the descriptor it needs.
// Layer: backend.   Source: driver-abi.md 2.5 and 5.4
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <span>
#include <unistd.h>
#include <vector>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/backend/ioctl/discovery.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// The name of a command by its process's number, or nothing.
template <Port P>
ShortText command_of(P& port, std::int32_t pid) {
    char path[32];
    std::snprintf(path, sizeof path, "/proc/%d/comm", static_cast<int>(pid));
    char buffer[64];
    const auto text = read_text(port, path, buffer, Operation::Query);
    return text ? ShortText(*text) : ShortText{};
}

/// Who this process is to the kernel, as far as it can know: in a container the driver uses other
/// numbers.
template <Port P>
std::int32_t own_pid(const P& port) {
    const std::uint64_t process = port.identity().process;
    return process != 0 ? static_cast<std::int32_t>(process & 0xFFFF'FFFFu)
                        : static_cast<std::int32_t>(::getpid());
}

/// The processes attached to the device behind `fd`, but for this one. Whoever asks is attached, so
/// if this process is not among them the numbers are those of another namespace: then /proc would
/// tell the commands of innocents, and this process is one of the rows.
template <Port P>
Result<std::vector<AttachedProcess>> list_processes(P& port, int fd) {
    struct {
        uapi::GetAppsInfo head;
        uapi::AppInfo rows[uapi::kMaxProcessPerDevice];
    } ask{};
    ask.head.apps_info_flags = static_cast<std::uint16_t>(uapi::kAppInfoAll);
    ask.head.capacity = uapi::kMaxProcessPerDevice;
    auto done = request(port, fd, uapi::kDeviceGetAllAppsInfo, ask, Operation::Query);
    if (!done) return fail(done.error());
    std::vector<AttachedProcess> found;
    const std::uint32_t count = std::min(ask.head.size, uapi::kMaxProcessPerDevice);
    const std::span rows(ask.rows, count);
    const std::int32_t own = own_pid(port);
    const bool known =
        std::any_of(rows.begin(), rows.end(), [=](const auto& row) { return row.pid == own; });
    for (const auto& row : rows)
        if (row.pid != 0 && row.pid != own)
            found.push_back({row.pid, known ? command_of(port, row.pid) : ShortText{}, !known});
    return found;
}

} // namespace detail
} // namespace v0
} // namespace neuronbook
