// SPDX-License-Identifier: Apache-2.0
//
// An audit in words, a line for each disagreement.
// Owns: names of categories as sysfs has them. Does not own: the findings (audit.hpp).
// Layer: dmem.   Source: nrt-surface.md 6.2
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/report/audit.hpp"

namespace neuronbook {
inline namespace v0 {

/// The directory of a driver category below host_mem/ or device_mem/; "unknown" from 20 on.
[[nodiscard]] constexpr std::string_view category_name(std::uint32_t category) noexcept {
    constexpr std::array<std::string_view, kChunkCategories> names{
        "uncategorized",      "dma_buffers",   "tensors",       "constants",
        "application_memory", "driver_memory", "notifications", "uncategorized",
        "model_code",         "tensors",       "constants",     "model_shared_scratchpad",
        "runtime_memory",     "driver_memory", "collectives",   "nonshared_scratchpad",
        "notifications",      "dma_rings",     "dma_rings",     "model_shared_scratchpad"};
    return category < names.size() ? names[category] : "unknown";
}

/// "Ours" is the ledger of this library.
[[nodiscard]] constexpr std::string_view name_of(AuditedBook book) noexcept {
    constexpr std::array<std::string_view, 4> names{"unknown", "our ledger", "the driver's list",
                                                    "the driver's counters"};
    const auto i = static_cast<std::size_t>(book);
    return i < names.size() ? names[i] : "unknown";
}

/// "ND 0 NC 1 category 10 (constants)", "ND 0 HBM 2", "ND 0 host category 4 (application_memory)".
[[nodiscard]] inline std::string describe(HostDeviceId device, const AuditPlace& place) {
    std::string text = "ND " + std::to_string(device.value());
    if (place.location == MemoryLocation::Host) text += " host";
    if (place.hbm) text += " HBM " + std::to_string(*place.hbm);
    if (place.core) text += " NC " + std::to_string(place.core->value());
    if (place.category) {
        text += " category " + std::to_string(*place.category) + " (";
        text.append(category_name(*place.category)) += ")";
    }
    return text;
}

/// One line: place, the figures that there are, and which book two others contradict.
[[nodiscard]] inline std::string describe(HostDeviceId device, const AuditFinding& finding) {
    std::string text = describe(device, finding.place) + ": " +
                       std::to_string(finding.ours.count()) + " bytes in our ledger";
    const auto add = [&](const std::optional<Bytes>& bytes, const char* where) {
        if (bytes) text += ", " + std::to_string(bytes->count()) + where;
    };
    add(finding.listed, " in the driver's list");
    add(finding.counted, " in the driver's counters");
    if (finding.suspect() != AuditedBook::Unknown)
        text.append("; two disagree with ").append(name_of(finding.suspect()));
    return text;
}

/// Lines that end with a newline; what agrees, what does not, what could not be compared, and what
/// is the driver's own.
[[nodiscard]] inline std::string describe(const Audit& audit) {
    const std::string device = "ND " + std::to_string(audit.device.value());
    const auto bytes = [](std::optional<Bytes> size) {
        return size ? std::to_string(size->count()) + " bytes" : std::string("unknown");
    };
    std::string text = device + (audit.agrees() ? ": the books agree" : ": the books disagree");
    if (audit.alone == true) text += "; no other process has the device";
    if (audit.alone == false) text += "; other processes have the device";
    if (!audit.alone) text += "; whether others have the device is not known";
    text += ", " + bytes(audit.others) + " are not ours\n";
    for (const AuditFinding& finding : audit.findings)
        text += describe(audit.device, finding) + "\n";
    for (const AuditPlace& place : audit.unread)
        text += describe(audit.device, place) + ": not read\n";
    const DriverOwn& own = audit.driver_own;
    return text + device + " driver's own: carve-outs " + bytes(own.carve_out) +
           ", category 13 listed " + bytes(own.listed) + " and counted " + bytes(own.counted) +
           ", category 5 on the host " + bytes(own.on_host) + "\n";
}

} // namespace v0
} // namespace neuronbook
