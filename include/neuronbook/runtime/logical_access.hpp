// SPDX-License-Identifier: Apache-2.0
//
// What a runtime answers about its logical cores.
// Owns: the questions. Does not own: the data, which the runtime has (logical_cores.hpp,
// context_tree.hpp). Layer: runtime.   Source: tables.md 12
#pragma once

#include <cstdint>
#include <string_view>

#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/topology/logical_cores.hpp"

namespace neuronbook {
inline namespace v0 {

/// Base of a runtime `R`. All answers are about cores that this process owns; pointers are valid
/// until the runtime is closed. Nothing here allocates, takes a lock or calls the driver, and any
/// number of threads may ask. Errors of all: CLOSED after close(), UNINITIALIZED in a forked child,
/// and INVALID for what is not owned: by index CoreOutOfRange (value, limit), by id or fabric
/// number NotRegistered (value), by physical core as ContextTree::resolve().
template <class R, class Tree, class Cores>
class LogicalAccess {
public:
    using LogicalRecord = typename Cores::Record;

    /// By the number that programs use, from 0.
    [[nodiscard]] Result<const LogicalRecord*> logical_core(LogicalIndex index) const {
        if (!self().usable()) return barred();
        return self().logical_cores().at(index);
    }
    /// By its number on the host.
    [[nodiscard]] Result<const LogicalRecord*> logical_core(LogicalCore id) const {
        return found(id, "logical core");
    }
    /// By its number on the fabric.
    [[nodiscard]] Result<const LogicalRecord*> logical_core(FabricCore fabric) const {
        return found(fabric, "fabric core");
    }
    /// The one that a physical core is part of.
    [[nodiscard]] Result<const LogicalRecord*> logical_core(PhysicalCore core) const {
        if (!self().usable()) return barred();
        const auto there = self().tree().resolve(core);
        if (!there) return fail(there.error());
        return self().logical_cores().at(there->core->payload.logical);
    }

    /// The physical core that stands for a logical one: its first.
    [[nodiscard]] Result<PhysicalCore> default_core(LogicalIndex index) const {
        const auto record = logical_core(index);
        if (!record) return fail(record.error());
        return (*record)->default_core();
    }
    /// The HBM next to its default core, where its memory is.
    [[nodiscard]] Result<std::uint32_t> default_hbm(LogicalIndex index) const {
        const auto core = default_core(index);
        if (!core) return fail(core.error());
        return self().tree().default_hbm(*core);
    }
    /// Owned physical cores next to the HBM of `core`, itself included; at most two.
    [[nodiscard]] Result<typename Tree::template Group<const typename Tree::Core>>
    cores_on_hbm_of(PhysicalCore core) const {
        if (!self().usable()) return barred();
        return self().tree().cores_on_hbm_of(core);
    }

    /// Place of a physical core in its logical core.
    [[nodiscard]] Result<std::uint32_t> place_of(PhysicalCore core) const {
        const auto record = logical_core(core);
        if (!record) return fail(record.error());
        return (*record)->place_of(core);
    }
    /// The core at `place` of the logical core that `core` is part of. Errors: SubgraphOutOfRange,
    /// too.
    [[nodiscard]] Result<PhysicalCore> peer(PhysicalCore core, std::uint32_t place) const {
        const auto record = logical_core(core);
        if (!record) return fail(record.error());
        return (*record)->peer(place);
    }
    /// Whether a physical core drives the collectives of its logical core.
    [[nodiscard]] Result<bool> drives_collectives(PhysicalCore core) const {
        const auto record = logical_core(core);
        if (!record) return fail(record.error());
        return (*record)->drives_collectives(core);
    }

private:
    friend R;
    LogicalAccess() = default;

    [[nodiscard]] const R& self() const noexcept { return static_cast<const R&>(*this); }
    [[nodiscard]] auto barred() const { return fail(self().barred(Operation::Resolve)); }

    template <class Id>
    [[nodiscard]] Result<const LogicalRecord*> found(Id id, std::string_view what) const {
        if (!self().usable()) return barred();
        if (const auto* record = self().logical_cores().find(id)) return record;
        return fail({.status = Status::Invalid,
                     .operation = Operation::Resolve,
                     .detail = Detail::NotRegistered,
                     .value = id.value(),
                     .text = what});
    }
};

} // namespace v0
} // namespace neuronbook
