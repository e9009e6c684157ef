// SPDX-License-Identifier: Apache-2.0
//
// Why cores could not be had: how many were free, where others are, who may have them.
// Owns: the numbers and words of the refusal. Does not own: the claim (core_claim.hpp).
// Layer: topology.   Source: nrt-surface.md 4.1, driver-abi.md 5.4
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/describe.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/topology/present_cores.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// Devices that are asked who is attached to them. Asking takes one of their 16 attach slots for a
/// moment, and the driver pauses 10 ms when a process leaves (driver-abi.md 2.2 and 2.4).
inline constexpr std::uint32_t kMostAsked = 4;

/// What was asked for: `count` cores within a run of numbers, all of them unless `any` will do.
struct CoreRequest {
    LogicalRange within{};
    std::uint32_t count = 0;
    bool any = false;
};

/// All user cores of present devices that nobody has claimed.
template <ClaimOps D>
Result<CoreSet> free_here(D& driver, const PresentCores& present) {
    Result<CoreSet> free = CoreSet{};
    present.for_each_segment([&](const LogicalRange& segment) {
        if (!free) return;
        const auto part = driver.free_cores(present.lnc().core_of(segment.first),
                                            present.lnc().physical_count(segment.count));
        if (!part)
            free = fail(part.error());
        else
            *free |= *part;
    });
    return free;
}

/// Why the processes of a device stay unknown.
inline std::string cannot_tell(HostDeviceId device, const Error& error) {
    const std::string start =
        "who is attached to nd" + std::to_string(device.value()) + " cannot be told: ";
    if (error.detail == Detail::DeviceInReset) return start + "the device is being reset";
    if (error.detail == Detail::FileUnreadable)
        return start + "a reset may be running (" + errno_text(error.os_error) + ")";
    return start + (error.operation == Operation::OpenDevice ? "the attach" : "the question") +
           " was refused with " + errno_text(error.os_error);
}

/// Names the processes attached to devices of the request that have a busy core: candidates, since
/// the driver does not tell who marked a core.
template <class D>
std::string candidates(D& driver, const PresentCores& present, const CoreRequest& request,
                       const CoreSet& free) {
    std::string text;
    std::string refusal;
    if constexpr (ProcessOps<D>) {
        std::vector<std::int32_t> named;
        std::uint32_t asked = 0;
        const std::uint32_t end = request.within.first.value() + request.within.count;
        for (std::uint32_t i = request.within.first.value(); i < end && asked < kMostAsked; ++i) {
            const LogicalCore core{i};
            if (!present.has(core) || present.whole_in(free, core)) continue;
            ++asked;
            const HostDeviceId device = present.device_of(core);
            i = (device.value() + 1) * present.per_device() - 1; // on to the next device
            const auto found = driver.attached(device);
            if (!found) {
                if (refusal.empty()) refusal = cannot_tell(device, found.error());
                continue;
            }
            for (const AttachedProcess& process : *found) {
                if (std::find(named.begin(), named.end(), process.pid) != named.end()) continue;
                named.push_back(process.pid);
                text += (text.empty() ? "attached: " : ", ") + std::to_string(process.pid);
                if (const auto command = process.command.view(); !command.empty())
                    text.append(" (").append(command).append(")");
            }
        }
        if (text.empty()) text = refusal;
        if (text.empty() && asked != 0) text = "nobody else is attached to the devices";
    }
    return text;
}

/// The refusal in logical cores, from the one of the marks. When the machine cannot be looked at,
/// that one is all there is to say.
template <ClaimOps D>
Error explain_busy(D& driver, const PresentCores& present, const CoreRequest& request,
                   const Error& cause) {
    const auto free = free_here(driver, present);
    if (!free) return cause;
    Error error{.status = Status::LoadNotEnoughNc,
                .operation = Operation::ClaimCores,
                .os_error = cause.os_error,
                .asked = request.count,
                .lnc = present.lnc().count()};
    const std::uint32_t all = present.count_in(*free, {LogicalCore{0}, present.end()});
    if (request.any) {
        error.detail = Detail::NotEnoughCores;
        error.limit = all;
        error.largest = present.longest_run(*free);
    } else {
        error.detail = Detail::LogicalCoresBusy;
        error.value = request.within.first.value();
        error.limit = present.count_in(*free, request.within);
        error.free = all - error.limit;
    }
    error.text = std::string_view(candidates(driver, present, request, *free));
    return error;
}

} // namespace detail
} // namespace v0
} // namespace neuronbook
