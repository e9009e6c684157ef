// SPDX-License-Identifier: Apache-2.0
//
// What a runtime can tell of its memory besides the bytes it holds: others' use, the table of
// cores and owners, whether the driver's books agree.
// Owns: where the figures come from. Does not own: how they are computed (dmem/report/).
// Layer: runtime.   libnrt: nrt_debug_log_oom_report, nrt_dump_device_allocation_info.
// Source: nrt-surface.md 3.4
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/architecture.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/report/audit.hpp"
#include "neuronbook/dmem/report/statistics.hpp"
#include "neuronbook/dmem/report/usage_table.hpp"
#include "neuronbook/topology/logical_cores.hpp"

namespace neuronbook {
inline namespace v0 {

/// Base of a runtime `R`. Asks the driver, with no lock held. Thread safety: any number of threads,
/// while the runtime is open. Errors of all: CLOSED once closed, UNINITIALIZED in a forked child,
/// and as the tree's resolve() or LogicalAccess::logical_core() for what is not owned.
template <class R>
class MemoryReports {
public:
    /// Own bytes, others' and the limit of an HBM of a device. Errors: too, INVALID with
    /// HbmOutOfRange, and DeviceOutOfRange for a slot without a device.
    [[nodiscard]] Result<HbmUse> used_on_hbm(DeviceIndex device, std::uint32_t hbm) {
        const auto host = host_of(device);
        if (!host) return fail(host.error());
        const Geometry& geometry = *self().geometry_;
        if (auto there = check_hbm(geometry, hbm, Operation::Query); !there)
            return fail(there.error());
        return hbm_use(self().driver(), *host, geometry, hbm, self().ledger(device)->snapshot());
    }
    /// The same for all HBMs of a device together.
    [[nodiscard]] Result<HbmUse> used_on_device(DeviceIndex device) {
        std::array<HbmUse, kMaxHbm> all{};
        const auto host = host_of(device);
        if (!host) return fail(host.error());
        const std::uint32_t count = self().geometry_->hbms;
        for (std::uint32_t hbm = 0; hbm < count; ++hbm) {
            const auto one = used_on_hbm(device, hbm);
            if (!one) return one;
            all[hbm] = *one;
        }
        return sum_of(std::span(all).first(count));
    }
    /// What is charged to a physical core, and how the HBM next to it stands.
    [[nodiscard]] Result<CoreUse> used_by_core(PhysicalCore core) {
        const auto own = self().memory(core);
        if (!own) return fail(own.error());
        const auto hbm = used_on_hbm(core.device, own->hbm);
        if (!hbm) return fail(hbm.error());
        return CoreUse{.own = own->used, .hbm = own->hbm, .on_hbm = *hbm};
    }
    /// The same for the physical cores of a logical core together, which share an HBM.
    [[nodiscard]] Result<CoreUse> used_by_logical_core(LogicalIndex index) {
        const auto own = self().memory(index);
        if (!own) return fail(own.error());
        const auto record = self().logical_core(index);
        if (!record) return fail(record.error());
        const auto hbm = used_on_hbm((*record)->default_core().device, own->hbm);
        if (!hbm) return fail(hbm.error());
        return CoreUse{.own = own->used, .hbm = own->hbm, .on_hbm = *hbm};
    }

    /// The table of all devices, cores and owners that a failed allocation prints, at any time.
    /// Empty once closed.
    [[nodiscard]] std::string memory_table() {
        if (!self().usable()) return {};
        const auto usage = self().usage();
        return usage_table(*self().geometry_, usage) + owner_list(usage);
    }

    /// Whether the ledger, the driver's list and its counters agree on a device. Call it while
    /// nothing allocates. Errors: as used_on_hbm().
    [[nodiscard]] Result<Audit> audit_memory(DeviceIndex device) {
        const auto host = host_of(device);
        if (!host) return fail(host.error());
        const auto usage = self().usage();
        return audit(self().driver(), usage, *host, *self().geometry_);
    }

protected:
    MemoryReports() = default;
    ~MemoryReports() = default;

private:
    [[nodiscard]] Result<HostDeviceId> host_of(DeviceIndex device) {
        if (!self().usable()) return fail(self().barred(Operation::Query));
        const auto* ledger = self().ledger(device);
        if (ledger != nullptr) return ledger->device();
        return fail({.status = Status::Invalid,
                     .operation = Operation::Query,
                     .detail = Detail::DeviceOutOfRange,
                     .value = device.value(),
                     .limit = self().tree().device_count()});
    }

    [[nodiscard]] R& self() noexcept { return static_cast<R&>(*this); }
};

} // namespace v0
} // namespace neuronbook
