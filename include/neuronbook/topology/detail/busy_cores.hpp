// SPDX-License-Identifier: Apache-2.0
//
// Why cores could not be had: how many were free, where others are, who may have them.
// Owns: the numbers and words of the refusal. Does not own: the claim (core_claim.hpp).
// Layer: topology.   Source: nrt-surface.md 4.1, driver-abi.md 5.4
#pragma once

#include <algorithm>
#include <cstddef>
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

/// What `ask(first, count)` says of all user cores of present devices.
template <class Ask>
Result<CoreSet> look_at(const PresentCores& present, Ask ask) {
    Result<CoreSet> found = CoreSet{};
    present.for_each_segment([&](const LogicalRange& segment) {
        if (!found) return;
        const Result<CoreSet> part =
            ask(present.lnc().core_of(segment.first), present.lnc().physical_count(segment.count));
        if (!part)
            found = fail(part.error());
        else
            *found |= *part;
    });
    return found;
}

/// All user cores of present devices that nobody has claimed.
template <ClaimOps D>
Result<CoreSet> free_here(D& driver, const PresentCores& present) {
    return look_at(present, [&](UserCore first, std::uint32_t count) {
        return driver.free_cores(first, count);
    });
}

/// Those that this process has claimed.
template <ClaimOps D>
Result<CoreSet> held_here(D& driver, const PresentCores& present) {
    return look_at(present,
                   [&](UserCore first, std::uint32_t count) { return driver.held(first, count); });
}

/// The words for processes, as many as an error's text has room for; no entry is cut.
class CandidateText {
public:
    void add(const AttachedProcess& process) {
        if (std::find(named_.begin(), named_.end(), process.pid) != named_.end()) return;
        named_.push_back(process.pid);
        if (process.host_number) tail_ = " (numbers of the host, this process among them)";
        std::string entry = (text_.empty() ? "attached: " : ", ") + std::to_string(process.pid);
        if (const auto command = process.command.view(); !command.empty())
            entry.append(" (").append(command).append(")");
        // Room is kept for the number of those left out.
        if (more_ != 0 || text_.size() + entry.size() + tail_.size() + kMore > ShortText::kCapacity)
            ++more_;
        else
            text_ += entry;
    }

    [[nodiscard]] std::string text() const {
        if (more_ == 0) return text_ + tail_;
        return text_ + " and " + std::to_string(more_) + " more" + tail_;
    }

private:
    static constexpr std::size_t kMore = sizeof " and 64 more" - 1;

    std::vector<std::int32_t> named_;
    std::string text_;
    std::string tail_;
    std::uint32_t more_ = 0;
};

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
    CandidateText found;
    std::string refusal;
    std::uint32_t asked = 0;
    if constexpr (ProcessOps<D>) {
        const std::uint32_t end = request.within.first.value() + request.within.count;
        for (std::uint32_t i = request.within.first.value(); i < end && asked < kMostAsked; ++i) {
            const LogicalCore core{i};
            if (!present.has(core) || present.whole_in(free, core)) continue;
            ++asked;
            const HostDeviceId device = present.device_of(core);
            i = (device.value() + 1) * present.per_device() - 1; // on to the next device
            const auto attached = driver.attached(device);
            if (!attached && refusal.empty()) refusal = cannot_tell(device, attached.error());
            if (!attached) continue;
            for (const AttachedProcess& process : *attached) found.add(process);
        }
    }
    std::string text = found.text();
    if (text.empty()) text = refusal;
    if (text.empty() && asked != 0) text = "nobody else is attached to the devices";
    return text;
}

/// The refusal in logical cores, from the one of the marks. Named cores may be shared within the
/// process, so those that it has are available; a number of cores is never made of them. When the
/// machine cannot be looked at, that one is all there is to say.
template <ClaimOps D>
Error explain_busy(D& driver, const PresentCores& present, const CoreRequest& request,
                   std::uint32_t most_devices, const Error& cause) {
    const auto free = free_here(driver, present);
    if (!free) return cause;
    CoreSet usable = *free;
    if (!request.any) usable |= held_here(driver, present).value_or(CoreSet{});
    Error error{.status = Status::LoadNotEnoughNc,
                .operation = Operation::ClaimCores,
                .os_error = cause.os_error,
                .asked = request.count,
                .lnc = present.lnc().count()};
    const std::uint32_t all = present.count_in(*free, {LogicalCore{0}, present.end()});
    if (request.any) {
        error.detail = Detail::NotEnoughCores;
        error.limit = all;
        error.largest = present.longest_run(*free, most_devices);
    } else {
        error.detail = Detail::LogicalCoresBusy;
        error.value = request.within.first.value();
        error.limit = present.count_in(usable, request.within);
        error.free = all - present.count_in(*free, request.within);
    }
    error.text = std::string_view(candidates(driver, present, request, usable));
    return error;
}

} // namespace detail
} // namespace v0
} // namespace neuronbook
