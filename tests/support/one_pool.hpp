// SPDX-License-Identifier: Apache-2.0
// One core's pool over the fake driver, and the balance of pool, ledger and driver.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "neuronbook/base/architecture.hpp"
#include "neuronbook/dmem/pool.hpp"
#include "support/fake_driver.hpp"

namespace neuronbook::test {

/// Core 5 of a third-generation device, host number 3; its HBM is 2. Chunks of 256 KiB.
template <class Mutex = std::mutex, class L = Ledger>
struct OnePool {
    using Memory = Pool<GlobalTag, FakeDriver, PoolTraits<L, Mutex, FixedGrowth>>;

    explicit OnePool(const PoolOptions& options = {}, Bytes room = Bytes{std::uint64_t{1} << 40},
                     const MemoryOptions& memory = {.report_out_of_memory = false})
        : driver(room), ledger(std::make_shared<Ledger>(HostDeviceId{3}, memory, 2)),
          pool(driver, HostDeviceId{3}, core, geometry, ledger, options, nullptr,
               {Bytes{256u << 10}}) {}

    [[nodiscard]] Block make(std::uint64_t size) { return *pool.allocate({.size = Bytes{size}}); }

    /// Pool, ledger and driver count the same chunks, and every byte of them is something.
    [[nodiscard]] bool balanced() const {
        const auto now = ledger->snapshot();
        std::uint64_t booked = now.host().count();
        for (const auto bytes : now.on_channel) booked += bytes;
        const auto all = pool.statistics();
        return driver.misuses == 0 && driver.outstanding_bytes().count() == booked &&
               driver.outstanding() == all.chunks && all.reserved.count() == booked &&
               all.used.count() + all.waiting.count() + all.free.count() == booked;
    }

    FakeDriver driver;
    std::shared_ptr<Ledger> ledger;
    const Geometry& geometry = *geometry_of(Architecture::Cayman);
    PhysicalCore core{DeviceIndex{0}, CoreIndex{5}};
    Memory pool;
};

} // namespace neuronbook::test
