// SPDX-License-Identifier: Apache-2.0
// One core's memory over the fake driver: driver, ledger, both tiers, and the balance of them all.
#pragma once

#include <cstdint>
#include <memory>

#include "neuronbook/base/architecture.hpp"
#include "neuronbook/dmem/allocator.hpp"
#include "support/fake_driver.hpp"

namespace neuronbook::test {

template <AllocTag Tag>
using FakeAllocator = Allocator<Tag, FakeDriver>;

/// Core 5 of a third-generation device, host number 3; its HBM is 2.
struct OneCore {
    FakeDriver driver;
    std::shared_ptr<Ledger> shared = std::make_shared<Ledger>(HostDeviceId{3}, MemoryOptions{}, 2);
    Ledger& ledger = *shared;
    const Geometry& geometry = *geometry_of(Architecture::Cayman);
    PhysicalCore core{DeviceIndex{0}, CoreIndex{5}};
    FakeAllocator<GlobalTag> global{driver, HostDeviceId{3}, core, geometry, shared};
    FakeAllocator<ModelTag> model{driver, HostDeviceId{3}, core, geometry, shared};

    /// What the driver holds, what the ledger says and what the allocators list is the same.
    [[nodiscard]] bool balanced() const {
        const auto now = ledger.snapshot();
        std::uint64_t device = now.host().count();
        for (const auto bytes : now.on_channel) device += bytes;
        const auto a = global.outstanding();
        const auto b = model.outstanding();
        return driver.outstanding_bytes().count() == device &&
               driver.outstanding() == a.blocks + b.blocks &&
               device == a.charged.count() + b.charged.count() && driver.misuses == 0;
    }
    [[nodiscard]] bool empty() const { return balanced() && driver.outstanding() == 0; }
};

} // namespace neuronbook::test
