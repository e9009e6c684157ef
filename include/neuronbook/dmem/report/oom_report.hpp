// SPDX-License-Identifier: Apache-2.0
//
// The out-of-memory report: what failed, who holds what, why, and what would have fitted.
// Owns: the text. Does not own: the figures, the verdict (diagnosis.hpp), or where it goes.
// Layer: dmem.   libnrt: dml_dump. Source: nrt-surface.md 5.5, tables.md 15
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/architecture.hpp"
#include "neuronbook/base/describe.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/device_usage.hpp"
#include "neuronbook/dmem/report/diagnosis.hpp"
#include "neuronbook/dmem/report/pool_view.hpp"
#include "neuronbook/dmem/report/usage_table.hpp"
#include "neuronbook/dmem/usage.hpp"

namespace neuronbook {
inline namespace v0 {

namespace detail {

inline std::string maybe(const std::optional<Bytes>& size) {
    return size ? human(*size) : "unknown";
}

inline void append_pool(std::string& out, std::string_view name, const PoolFigures& pool) {
    out.append("  ").append(name).append(": ").append(human(pool.free)).append(" free");
    out.append(", largest free block ").append(human(pool.largest));
    out.append(", number of free blocks ").append(std::to_string(pool.blocks)).append("\n");
}

inline std::string verdict_text(const Diagnosis& said) {
    switch (said.cause) {
    case FailureCause::Size: return "size: fewer bytes are free than were asked for";
    case FailureCause::Fragmentation:
        return "fragmentation: enough bytes are free, but not in one block";
    case FailureCause::Alignment:
        return "alignment: a free block is large enough, but none is at such an address";
    case FailureCause::CoreBudget:
    case FailureCause::OwnerBudget:
        return std::string(name_of(said.cause)) + ": " + human(said.budget_used) + " of " +
               human(said.budget) + " are used";
    case FailureCause::Handles:
        return "handles: the driver can name no more chunks, whatever their size";
    default: return "unknown: " + std::string(said.reason);
    }
}

inline std::string change_text(const Diagnosis& said) {
    const Change& change = said.change;
    std::string text;
    const auto add = [&](const std::string& one) { text += (text.empty() ? "" : ", or ") + one; };
    if (change.alignment) {
        const bool none = *change.alignment <= kPage;
        add(none ? "ask for no alignment" : "align to " + human(*change.alignment));
    }
    if (change.raise_budget) {
        add("raise the budget by " + human(*change.raise_budget));
        add("free as much of it");
    }
    if (change.ask_less) add("ask for " + human(*change.ask_less) + " less");
    if (change.free) {
        char address[24];
        std::snprintf(address, sizeof address, "0x%llx",
                      static_cast<unsigned long long>(change.free->address.value()));
        const bool one = change.free->chunks == 1;
        const auto count =
            one ? "one chunk" : std::to_string(change.free->chunks) + " neighbouring chunks";
        add("free " + human(change.free->to_free) + " in " + count + " at " + address +
            ", whoever has " + (one ? "it" : "them"));
    }
    if (said.cause == FailureCause::Handles) add("free any block");
    return text.empty() ? "none is known" : text;
}

} // namespace detail

/// The first line of a report: what failed, how much, for what, where.
[[nodiscard]] inline std::string failure_line(const FailedRequest& request) {
    char place[48];
    std::snprintf(place, sizeof place, "ND%2u:NC%2u", request.device.value(), request.core.value());
    const bool none = request.alignment <= kPage;
    std::string text = "Failed to allocate " + human(request.requested);
    text += " (alignment: " + (none ? std::string("none") : human(request.alignment));
    return text.append(", usage: ").append(name_of(request.usage)).append(") on ").append(place);
}

/// Cause, numbers and smallest change, in three lines.
[[nodiscard]] inline std::string diagnosis_text(const Diagnosis& said) {
    std::string text = "Cause: " + detail::verdict_text(said) + "\n";
    text += "  requested " + human(said.request.requested) + " (" + human(said.charged) +
            " in whole pages)";
    text += ", limit " + (said.limit == Bytes{} ? std::string("unknown") : human(said.limit));
    text += ", used here " + human(said.used_here);
    text += ", used by others " + detail::maybe(said.used_by_others);
    text += ", free " + detail::maybe(said.free);
    text += ", largest free block " + detail::maybe(said.largest);
    text += ", number of free blocks " +
            (said.free_blocks ? std::to_string(*said.free_blocks) : std::string("unknown"));
    return text + "\nSmallest change that would have fitted: " + detail::change_text(said) + "\n";
}

/// What the original's report never had: the pools of the HBM, by the driver's list.
[[nodiscard]] inline std::string pool_text(const PoolView& view) {
    std::string text = "By the driver's list, HBM " + std::to_string(view.hbm) + " of ND " +
                       std::to_string(view.device.value()) + " has " + human(view.ours) +
                       " of this runtime and " + human(view.others) + " of others";
    if (view.driver != Bytes{}) text += ", " + human(view.driver) + " of it the driver's own";
    text += ":\n";
    detail::append_pool(text, "main pool", view.main);
    detail::append_pool(text, "small pool", view.small);
    if (view.unlisted != Bytes{})
        text += "  " + human(view.unlisted) + " are booked here that the list does not have\n";
    return text;
}

/// The whole report, lines ending in a newline; for Log::write_lines(), which keeps two apart.
/// `devices` are those to show, `lnc_size` the physical cores of a logical one, `pools` a view of
/// the request's HBM or null. Takes no lock and asks nobody.
///
/// libnrt: dml_dump, dml_log_dev_mem
/// Differs: cause, pools and the smallest change are ours; there are no side files.
[[nodiscard]] inline std::string oom_report(const Diagnosis& said, const Geometry& geometry,
                                            std::uint32_t lnc_size,
                                            std::span<const DeviceUsage> devices,
                                            const PoolView* pools) {
    const FailedRequest& request = said.request;
    const bool host = request.location == MemoryLocation::Host;
    std::string text;
    if (!host && lnc_size == 1 && geometry.cores_per_hbm > 1) {
        const std::uint32_t first = request.hbm * geometry.cores_per_hbm;
        const std::uint32_t last = first + geometry.cores_per_hbm - 1;
        text += "LNC size 1: NC " + std::to_string(first) + " and NC " + std::to_string(last) +
                " share HBM " + std::to_string(request.hbm) + " of ND " +
                std::to_string(request.device.value()) + ", its limit is that of both together\n";
    }
    text += failure_line(request) + "\n";
    text += "Memory by device, core and owner:\n" + usage_table(geometry, devices);
    if (const auto owners = owner_list(devices); !owners.empty()) text += "Owners:\n" + owners;
    for (const DeviceUsage& device : devices) {
        if (device.device != request.device) continue;
        if (host) text += "Host memory of the device: " + human(device.counters.host()) + "\n";
        if (host || request.core.value() >= kMaxCoresPerDevice) continue;
        text += "NC " + std::to_string(request.core.value()) + " holds\n";
        text += usage_list(AggregateRow(device.counters.by_core[request.core.value()]), "  ");
    }
    if (pools) text += pool_text(*pools);
    return text + diagnosis_text(said);
}

} // namespace v0
} // namespace neuronbook
