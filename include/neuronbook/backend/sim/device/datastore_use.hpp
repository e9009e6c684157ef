// SPDX-License-Identifier: Apache-2.0
//
// What becomes of the numbers in a device's datastores.
// Owns: when they are added up, and how files show them. Does not own: who has a datastore
// (datastores.hpp), which number is where (datastore_counters.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 11, 12, 14
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "neuronbook/backend/sim/device/datastore_counters.hpp"
#include "neuronbook/backend/sim/device/device.hpp"
#include "neuronbook/backend/sim/machine/machine_spec.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// Makes a range of the device's memory zero; for datastores.
[[nodiscard]] inline auto wipe(Device& device) {
    return [&device](std::uint64_t pa, std::uint64_t size) { device.memory.clear(pa, size); };
}

/// Calls `visit(pages)` for each datastore that somebody has.
template <class F>
void for_each_datastore(Device& device, F visit) {
    for (const auto& entry : device.datastores.entries())
        if (entry.pid != 0)
            if (auto* pages = device.memory.at(entry.pa, Datastores::kSize)) visit(pages);
}

/// A process's datastore becomes nobody's. Up to 2.28 what it counted is added up now; later the
/// files of counters add up the datastores that somebody has, whenever they are read.
inline void give_back_datastore(Device& device, const MachineSpec& machine, std::int32_t pid) {
    auto* store = device.datastores.find(pid);
    if (store == nullptr) return;
    if (!machine.at_least(Release::V2_30_2))
        if (const auto* pages = device.memory.at(store->pa, Datastores::kSize))
            device.published.add(pages);
    device.datastores.release(*store, wipe(device));
}

/// One counter of a core as its files show it: total and present are one sum since 2.29.
[[nodiscard]] inline Counter published(Device& device, const MachineSpec& machine,
                                       std::uint32_t core, std::size_t counter) {
    if (!machine.at_least(Release::V2_30_2)) return device.published.of(core, counter);
    std::uint64_t sum = 0;
    for_each_datastore(device, [&](const std::byte* pages) {
        sum += datastore_value(pages, core, kDatastoreCounters[counter]);
    });
    return {sum, sum, sum};
}

/// What a write to a counter's file does: up to 2.28 that value becomes zero; later a total is
/// taken out of every datastore, and nothing else shows an effect.
inline void zero_published(Device& device, const MachineSpec& machine, std::uint32_t core,
                           std::size_t counter, bool total) {
    auto& kept = device.published.of(core, counter);
    if (!machine.at_least(Release::V2_30_2)) {
        (total ? kept.total : kept.present) = 0;
    } else if (total) {
        for_each_datastore(device, [&](std::byte* pages) {
            std::memset(pages + datastore_offset(core, kDatastoreCounters[counter].number), 0,
                        sizeof(std::uint64_t));
        });
    }
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
