// SPDX-License-Identifier: Apache-2.0
//
// The tree of a process: its devices, their cores, and what hangs in a core.
// Owns: device and core records, the resolver, the registry of owned cores. Does not own: what a
// payload means, claims, logical cores. Layer: topology.
// libnrt: tdrv_ctx_t, tdrv_ctx, db_tdrv_ctx_init, db_tdrv_ctx_clear
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "neuronbook/base/architecture.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/topology/detail/tree_slots.hpp"
#include "neuronbook/topology/tree_records.hpp"

namespace neuronbook {
inline namespace v0 {

/// Bounds of a tree that are not its shape.
struct TreeTraits {
    /// Most physical cores that one logical core may have.
    static constexpr std::uint32_t kMaxLncSize = 2;
};

/// Owns `NumMla` device slots of `NumTpb` cores each, all inside the object: no heap, no pointer
/// chase. A slot is free until add_device(), a core is dead to resolve() until own_core().
///
/// Slots are dense at first and keep their number for the life of a device; a removed device leaves
/// a gap that the next one fills. The payload of a core is built with the tree and lives as long:
/// whoever put something into it takes it out before disown_core(), remove_device() or clear().
///
/// Thread safety: resolve() and the other const members may run in any number of threads, without a
/// lock. Members that change the tree are for bring-up and tear-down only: nothing else may run
/// beside them.
///
/// libnrt: tdrv_ctx_t.
/// Differs: one object per Runtime instead of one per process, and not published through a global
/// pointer; cores lie in one array of the tree, not inside their device.
template <std::uint32_t NumMla = 32, std::uint32_t NumTpb = kMaxCoresPerDevice,
          class CorePayload = NoPayload, class Traits = TreeTraits>
class ContextTree {
    static_assert(NumMla >= 1 && NumMla <= kMaxHostDevices,
                  "ContextTree: NumMla must be 1 to 64, the numbers a device node may carry");
    static_assert(NumTpb >= 1 && NumTpb <= kMaxCoresPerDevice,
                  "ContextTree: NumTpb must be 1 to 8, the cores a device may have");
    static_assert(std::is_default_constructible_v<CorePayload>,
                  "ContextTree: CorePayload must be default constructible, the tree builds one for "
                  "every core");
    static_assert(std::has_single_bit(Traits::kMaxLncSize) &&
                      Traits::kMaxLncSize <= kMaxCoresPerDevice,
                  "ContextTree: Traits::kMaxLncSize must be 1, 2, 4 or 8");

public:
    static constexpr std::uint32_t kNumMla = NumMla;
    static constexpr std::uint32_t kNumTpb = NumTpb;
    static constexpr std::uint32_t kMaxLncSize = Traits::kMaxLncSize;

    using Device = TreeDevice;
    using Core = TreeCore<CorePayload>;

    /// What resolve() finds. Both pointers are valid until the tree changes.
    template <class D, class C>
    struct Pair {
        D* device;
        C* core;
    };
    using Resolved = Pair<Device, Core>;
    using ConstResolved = Pair<const Device, const Core>;

    /// Owned cores next to the same HBM, in order of their number; the one asked for is among them.
    template <class C>
    struct Group {
        std::array<C*, kMaxCoresPerHbm> cores{};
        std::uint32_t count = 0;
    };

    constexpr ContextTree() noexcept = default;
    ContextTree(const ContextTree&) = delete;
    ContextTree& operator=(const ContextTree&) = delete;

    // --- resolving -------------------------------------------------------------------------------

    /// Effects: finds device and core by arithmetic and two checks; wait-free.
    /// Errors: INVALID with Detail::DeviceOutOfRange, CoreOutOfRange or CoreNotOwned (value and
    /// limit), or NotRegistered for a slot whose device was removed.
    /// libnrt: db_physical_core_get_mla_and_tpb, db_get_tpb_from_mla.
    /// Differs: a miss is an error, the original asserts.
    [[nodiscard]] constexpr Result<Resolved> resolve(PhysicalCore core) noexcept {
        return Slots::template resolve<Resolved>(slots_, core);
    }
    [[nodiscard]] constexpr Result<ConstResolved> resolve(PhysicalCore core) const noexcept {
        return Slots::template resolve<ConstResolved>(slots_, core);
    }

    // --- changing the tree -----------------------------------------------------------------------

    /// Effects: fills the lowest free slot; the device owns no core yet.
    /// Errors: RESOURCE with Detail::TooManyDevices (value: devices asked for, limit: NumMla);
    /// INVALID with Detail::Duplicate for a host number that is in the tree, and with
    /// Detail::ImpossibleGeometry for a geometry that does not fit (value and limit).
    [[nodiscard]] constexpr Result<Device*> add_device(const DeviceEntry& entry) {
        const auto* geometry = entry.geometry;
        // g++ 12 under UBSan has no constant for an address compared with null. Not const: the
        // initialiser of a constant would count as constant evaluation itself.
        bool missing = false;
        if (!std::is_constant_evaluated()) missing = geometry == nullptr;
        if (missing || geometry->cores > NumTpb || geometry->cores_per_hbm == 0 ||
            geometry->cores_per_hbm > kMaxCoresPerHbm)
            return fail(Slots::refusal(Status::Invalid, Detail::ImpossibleGeometry, entry.host,
                                       missing ? 0 : geometry->cores, NumTpb));
        if (find(entry.host))
            return fail(Slots::refusal(Status::Invalid, Detail::Duplicate, entry.host,
                                       entry.host.value(), 0, "device"));
        if (device_count() == NumMla)
            return fail(Slots::refusal(Status::Resource, Detail::TooManyDevices, entry.host,
                                       std::uint64_t{NumMla} + 1, NumMla));
        std::uint32_t slot = 0;
        while (slots_.devices[slot].in_use()) ++slot;
        slots_.devices[slot].entry_ = entry;
        slots_.devices[slot].index_ = DeviceIndex{slot};
        slots_.devices[slot].owned_ = 0;
        ++slots_.device_count;
        return &slots_.devices[slot];
    }

    /// Effects: resolve() finds the core from now on. It comes last in the registry, so whoever
    /// owns cores in the order of their user numbers finds them in that order.
    /// Errors: INVALID with DeviceOutOfRange, NotRegistered, CoreOutOfRange (the limit is the
    /// device's count of cores), or Detail::Duplicate for a core that is owned.
    [[nodiscard]] constexpr Result<Core*> own_core(PhysicalCore core, UserCore user) {
        const Device* known = find(core.device);
        if (!known || core.core.value() >= known->geometry().cores)
            return fail(Slots::error_of(slots_.why_not(core.device.value(), core.core.value()),
                                        Operation::BringUp));
        const auto flat = Slots::flat_of(core);
        if (slots_.owned[flat] == core.core.value())
            return fail(Slots::refusal(Status::Invalid, Detail::Duplicate, known->host(),
                                       core.core.value(), 0, "core"));
        slots_.owned[flat] = core.core.value();
        slots_.cores[flat].id_ = core;
        slots_.cores[flat].user_ = user;
        slots_.cores[flat].device_ = known;
        slots_.devices[core.device.value()].owned_ |= 1u << core.core.value();
        slots_.order[slots_.core_count++] = static_cast<std::uint16_t>(flat);
        return &slots_.cores[flat];
    }

    /// Effects: resolve() refuses the core from now on; the others keep their order.
    /// Errors: as resolve().
    constexpr Result<void> disown_core(PhysicalCore core) {
        if (auto found = resolve(core); !found) return fail(found.error());
        const auto flat = Slots::flat_of(core);
        slots_.owned[flat] = Slots::kNotOwned;
        slots_.devices[core.device.value()].owned_ &= ~(1u << core.core.value());
        std::uint32_t to = 0;
        for (std::uint32_t from = 0; from < slots_.core_count; ++from)
            if (slots_.order[from] != flat) slots_.order[to++] = slots_.order[from];
        slots_.core_count = to;
        return {};
    }

    /// Effects: disowns the device's cores and frees its slot.
    /// Errors: INVALID with DeviceOutOfRange or NotRegistered.
    constexpr Result<void> remove_device(DeviceIndex device) {
        if (!find(device))
            return fail(Slots::error_of(slots_.why_not(device.value(), 0), Operation::BringUp));
        for (std::uint32_t c = 0; c < NumTpb; ++c) {
            const PhysicalCore core{device, CoreIndex{c}};
            if (slots_.devices[device.value()].owns(core.core)) (void)disown_core(core);
        }
        slots_.devices[device.value()].index_ = Device::kFree;
        --slots_.device_count;
        return {};
    }

    /// Effects: removes every device and forgets the machine.
    constexpr void clear() noexcept {
        slots_.owned.fill(Slots::kNotOwned);
        for (auto& device : slots_.devices) device = Device{};
        slots_.device_count = slots_.core_count = 0;
        machine_ = {};
    }

    // --- looking things up -----------------------------------------------------------------------
    // A miss is a null pointer: the caller knows what it asked for.

    /// The device of a slot. A slot knows its own number, so a free one never passes for a device.
    /// libnrt: db_get_mla_from_device_id
    [[nodiscard]] constexpr Device* find(DeviceIndex device) noexcept {
        return Slots::find(slots_, device);
    }
    [[nodiscard]] constexpr const Device* find(DeviceIndex device) const noexcept {
        return Slots::find(slots_, device);
    }
    /// By host number, a scan of the slots.
    /// libnrt: db_get_mla_from_host_device_id.
    /// Differs: the original has no guard against a context that is not there (E5); here the tree
    /// is always an object, and a miss is null.
    [[nodiscard]] constexpr Device* find(HostDeviceId host) noexcept {
        return Slots::find_if(slots_, [=](const Device& device) { return device.host() == host; });
    }
    [[nodiscard]] constexpr const Device* find(HostDeviceId host) const noexcept {
        return Slots::find_if(slots_, [=](const Device& device) { return device.host() == host; });
    }
    /// By fabric address. libnrt: routing_id
    [[nodiscard]] constexpr Device* find(RoutingId routing) noexcept {
        return Slots::find_if(slots_,
                              [=](const Device& device) { return device.routing() == routing; });
    }
    [[nodiscard]] constexpr const Device* find(RoutingId routing) const noexcept {
        return Slots::find_if(slots_,
                              [=](const Device& device) { return device.routing() == routing; });
    }

    [[nodiscard]] constexpr std::uint32_t device_count() const noexcept {
        return slots_.device_count;
    }

    /// Owned cores, all devices together. libnrt: num_ptpb
    [[nodiscard]] constexpr std::uint32_t core_count() const noexcept { return slots_.core_count; }

    /// The owned core at `position` of the registry, in order of own_core(); null past the end.
    /// libnrt: ptpbs
    [[nodiscard]] constexpr Core* core_at(std::uint32_t position) noexcept {
        return position < slots_.core_count ? &slots_.cores[slots_.order[position]] : nullptr;
    }
    [[nodiscard]] constexpr const Core* core_at(std::uint32_t position) const noexcept {
        return position < slots_.core_count ? &slots_.cores[slots_.order[position]] : nullptr;
    }

    /// Effects: `visit(core)` for every owned core, in order of the registry. `visit` must not
    /// change the tree.
    template <class F>
    constexpr void for_each_core(F&& visit) {
        for (std::uint32_t i = 0; i < slots_.core_count; ++i) visit(slots_.cores[slots_.order[i]]);
    }
    template <class F>
    constexpr void for_each_core(F&& visit) const {
        for (std::uint32_t i = 0; i < slots_.core_count; ++i) visit(slots_.cores[slots_.order[i]]);
    }
    /// Effects: `visit(device)` for every device, in order of slots.
    template <class F>
    constexpr void for_each_device(F&& visit) const {
        for (const auto& device : slots_.devices)
            if (device.in_use()) visit(device);
    }

    /// Owned cores that share the HBM next to `core`, itself included. Errors: as resolve().
    [[nodiscard]] constexpr Result<Group<const Core>> cores_on_hbm_of(PhysicalCore core) const {
        const auto found = resolve(core);
        if (!found) return fail(found.error());
        const auto& geometry = found->device->geometry();
        const auto first = geometry.default_hbm(core.core) * geometry.cores_per_hbm;
        Group<const Core> group;
        for (auto c = first; c < first + geometry.cores_per_hbm; ++c)
            if (c < geometry.cores && found->device->owns(CoreIndex{c}))
                group.cores[group.count++] =
                    &slots_.cores[Slots::flat_of({core.device, CoreIndex{c}})];
        return group;
    }

    /// Number of the HBM next to a core. Errors: as resolve().
    [[nodiscard]] constexpr Result<std::uint32_t> default_hbm(PhysicalCore core) const {
        const auto found = resolve(core);
        if (!found) return fail(found.error());
        return found->device->geometry().default_hbm(core.core);
    }

    /// What holds for all devices alike.
    [[nodiscard]] constexpr const Machine& machine() const noexcept { return machine_; }
    constexpr void set_machine(const Machine& machine) noexcept { machine_ = machine; }

private:
    using Slots = detail::TreeSlots<NumMla, NumTpb, Core>;

    Slots slots_;
    Machine machine_;
};

static_assert(sizeof(ContextTree<>) <= 64 * 1024);

} // namespace v0
} // namespace neuronbook
