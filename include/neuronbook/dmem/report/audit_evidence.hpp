// SPDX-License-Identifier: Apache-2.0
//
// What the driver says of a device's memory: its list of chunks and its counters.
// Owns: asking for both, and what could not be asked. Does not own: the comparison (audit.hpp).
// Layer: dmem.   Source: driver-abi.md 6.1, 11
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/architecture.hpp"
#include "neuronbook/base/ids.hpp"

namespace neuronbook {
inline namespace v0 {

/// Plain data; what could not be read is absent. Chunks and counters are those of all processes.
struct AuditEvidence {
    HostDeviceId device{};
    std::array<std::optional<std::vector<ChunkRecord>>, kMaxHbm> lists{}; ///< by HBM
    std::optional<std::vector<MemoryCounter>> counters{};
    /// Whether no other process has the device open; nothing where the driver cannot tell.
    std::optional<bool> alone{};
};

/// Asks the driver for all it can tell; an operation it lacks or refuses is an absent value. The
/// answers are of one instant only while nobody allocates or frees on the device.
template <class D>
[[nodiscard]] AuditEvidence collect_evidence(D& driver, HostDeviceId device,
                                             const Geometry& geometry) {
    AuditEvidence found{.device = device};
    if constexpr (AuditOps<D>)
        for (std::uint32_t hbm = 0; hbm < geometry.hbms; ++hbm)
            if (auto list = driver.chunks(device, hbm)) found.lists[hbm] = *std::move(list);
    if constexpr (CounterOps<D>)
        if (auto counters = driver.memory_counters(device)) found.counters = *std::move(counters);
    if constexpr (ProcessOps<D>)
        if (const auto others = driver.attached(device)) found.alone = others->empty();
    return found;
}

} // namespace v0
} // namespace neuronbook
