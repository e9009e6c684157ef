// SPDX-License-Identifier: Apache-2.0
//
// The part of a runtime that keeps device memory: ledgers, allocators, what is held and how much.
// Owns: a ledger for each device, the register of model allocators. Does not own: the driver, the
// tree. Layer: runtime.   libnrt: nrt_vnc_memory_stats, dmem_logger. Source: tables.md 18, 22
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/architecture.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/allocator.hpp"
#include "neuronbook/dmem/allocator_register.hpp"
#include "neuronbook/dmem/core_copies.hpp"
#include "neuronbook/dmem/device_usage.hpp"
#include "neuronbook/dmem/ledger.hpp"
#include "neuronbook/dmem/memory_options.hpp"
#include "neuronbook/dmem/survivor.hpp"
#include "neuronbook/topology/context_tree.hpp"
#include "neuronbook/topology/lnc_size.hpp"
#include "neuronbook/topology/logical_cores.hpp"

namespace neuronbook {
inline namespace v0 {

namespace detail {

template <class Shape>
using ObserverOf = typename Shape::Observer;
template <class Shape>
using LedgerOf = BasicLedger<ObserverOf<Shape>>;

} // namespace detail

/// What hangs in a core of a runtime's tree. libnrt: tpb_t
template <class D, class L = Ledger>
struct CoreContext {
    /// The core's way to move bytes, shared by its allocators. libnrt: cpy_buf
    std::shared_ptr<CoreCopies<D, L>> copies;
    /// Core-scoped device memory. libnrt: tpb_allocator
    std::optional<Allocator<GlobalTag, D, L>> global;
    LogicalIndex logical{}; ///< the logical core it is part of
};

namespace detail {

template <class D, class Shape>
using TreeOf = ContextTree<Shape::kNumMla, Shape::kNumTpb, CoreContext<D, LedgerOf<Shape>>, Shape>;
template <class Shape>
using CoresOf = LogicalCores<Shape::kNumMla * Shape::kNumTpb, Shape::kMaxLncSize>;

} // namespace detail

/// Device memory of a physical core, or of a logical one. Cores that share an HBM report the same
/// limit. libnrt: nrt_vnc_memory_stats
struct CoreMemory {
    Bytes used;        ///< charged to this core, or to all its physical cores; all usages
    Bytes limit;       ///< size of the core's HBM
    Bytes allocatable; ///< the limit less what the driver keeps for itself
    std::uint32_t hbm = 0;
};

/// Base of a runtime `R`. Thread safety: any number of threads, while the runtime is open.
template <class R, class D, class Shape>
class MemoryAccess {
    using L = detail::LedgerOf<Shape>;

public:
    using GlobalAllocator = Allocator<GlobalTag, D, L>;
    using ModelAllocator = typename AllocatorRegister<Allocator<ModelTag, D, L>>::Registered;

    /// The core-scoped allocator of a core. Errors: as the tree's resolve(); UNINITIALIZED in a
    /// forked child.
    [[nodiscard]] Result<GlobalAllocator*> allocator(PhysicalCore core) {
        if (!self().usable()) return fail(self().barred(Operation::Allocate));
        auto found = self().tree_.resolve(core);
        if (!found) return fail(found.error());
        return &*found->core->payload.global;
    }

    /// A fresh allocator for one model on a core; its end is the end of the model's memory there.
    /// `options`: the model's number and name for reports, and most it may hold.
    [[nodiscard]] Result<std::unique_ptr<ModelAllocator>>
    model_allocator(PhysicalCore core, const AllocatorOptions& options = {}) {
        if (!self().usable()) return fail(self().barred(Operation::Allocate));
        auto found = self().tree_.resolve(core);
        if (!found) return fail(found.error());
        return models_.make(self().driver(), found->device->host(), core, *geometry_,
                            ledgers_[core.device.value()], options, found->core->payload.copies);
    }

    /// Used and limit of a logical core: its physical cores together, on the HBM they share.
    /// Errors: as LogicalAccess::logical_core(). libnrt: nrt_get_vnc_memory_stats
    [[nodiscard]] Result<CoreMemory> memory(LogicalIndex index) const {
        const auto record = self().logical_core(index);
        if (!record) return fail(record.error());
        auto sum = memory((*record)->default_core());
        for (const PhysicalCore core : (*record)->all().subspan(1)) {
            const auto part = memory(core);
            if (!sum || !part) return sum ? part : sum;
            sum->used = Bytes{sum->used.count() + part->used.count()};
        }
        return sum;
    }

    /// Used and limit of a physical core.
    [[nodiscard]] Result<CoreMemory> memory(PhysicalCore core) const {
        if (!self().usable()) return fail(self().barred(Operation::Query));
        auto found = self().tree().resolve(core);
        if (!found) return fail(found.error());
        const Geometry& geometry = found->device->geometry();
        const L& ledger = *ledgers_[core.device.value()];
        return CoreMemory{.used = ledger.used_by_core(core.core),
                          .limit = geometry.hbm_size,
                          .allocatable = Bytes{geometry.hbm_size.count() - kCarveOut.count()},
                          .hbm = geometry.default_hbm(core.core)};
    }

    /// The ledger of a device, or null for a slot without one. libnrt: dmem_logger
    [[nodiscard]] const L* ledger(DeviceIndex device) const noexcept {
        return device.value() < ledgers_.size() ? ledgers_[device.value()].get() : nullptr;
    }
    [[nodiscard]] L* ledger(DeviceIndex device) noexcept {
        return device.value() < ledgers_.size() ? ledgers_[device.value()].get() : nullptr;
    }

    /// What every device's ledger says, each at one instant. Empty once closed.
    [[nodiscard]] std::vector<DeviceUsage> usage() const {
        std::vector<DeviceUsage> all;
        if (self().usable())
            for (const auto& ledger : ledgers_)
                if (ledger) all.push_back(ledger->usage());
        return all;
    }

    /// Every block there is, core by core: what a leak report at this instant would list. Empty
    /// once closed.
    [[nodiscard]] std::vector<Survivor> survivors() {
        std::vector<Survivor> all;
        if (!self().usable()) return all;
        const auto add = [&](const auto& allocator) {
            const auto rows = allocator.survivors();
            all.insert(all.end(), rows.begin(), rows.end());
        };
        self().tree_.for_each_core([&](auto& core) { add(*core.payload.global); });
        models_.for_each(add);
        return all;
    }

protected:
    MemoryAccess() = default;
    ~MemoryAccess() = default;

    void start_memory(const Geometry& geometry, const MemoryOptions& options, LncSize lnc,
                      const detail::ObserverOf<Shape>& observer) {
        geometry_ = &geometry;
        options_ = options;
        options_.lnc_size = lnc.count();
        observer_.emplace(observer);
    }
    void start_device(DeviceIndex slot, HostDeviceId host) {
        ledgers_[slot.value()] =
            std::make_shared<L>(host, options_, geometry_->cores_per_hbm, *observer_);
    }
    void start_core(CoreContext<D, L>& payload, D& driver, HostDeviceId host, PhysicalCore core) {
        const auto& ledger = ledgers_[core.device.value()];
        payload.copies = std::make_shared<CoreCopies<D, L>>(
            driver, host, core.core, LedgerBounce<D, L>(driver, ledger, host, core.core));
        payload.global.emplace(driver, host, core, *geometry_, ledger, AllocatorOptions{},
                               payload.copies);
    }
    void end_models() noexcept { models_.end(self().usable()); }
    static void end_core(CoreContext<D, L>& payload) noexcept {
        payload.global.reset();
        if (payload.copies) payload.copies->close();
    }
    void drop_ledgers() noexcept {
        for (auto& ledger : ledgers_) ledger.reset();
    }

private:
    [[nodiscard]] R& self() noexcept { return static_cast<R&>(*this); }
    [[nodiscard]] const R& self() const noexcept { return static_cast<const R&>(*this); }

    const Geometry* geometry_ = nullptr;
    MemoryOptions options_;
    std::optional<detail::ObserverOf<Shape>> observer_;
    std::array<std::shared_ptr<L>, Shape::kNumMla> ledgers_;
    AllocatorRegister<Allocator<ModelTag, D, L>> models_;
};

} // namespace v0
} // namespace neuronbook
