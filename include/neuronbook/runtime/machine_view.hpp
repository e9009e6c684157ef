// SPDX-License-Identifier: Apache-2.0
//
// The first steps of a bring-up, which counting cores needs too.
// Owns: connecting, the size of logical cores, which there are. Does not own: claims or devices.
// Layer: runtime.   Source: tables.md 19 and 22
#pragma once

#include <cstdint>
#include <span>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/architecture.hpp"
#include "neuronbook/base/instance.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/runtime_options.hpp"
#include "neuronbook/topology/lnc_choice.hpp"
#include "neuronbook/topology/present_cores.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// What is known before anything is claimed.
struct MachineView {
    DriverFacts facts{};
    const Geometry* geometry = nullptr;
    PresentCores cores{};
};

/// The table that a shape's runtime knows types of instances by.
template <class Shape>
constexpr std::span<const Instance> instances_of() noexcept {
    if constexpr (requires { Shape::kInstanceTable; })
        return Shape::kInstanceTable;
    else
        return kInstances;
}

/// Effects: connects the driver and looks at the machine. `most_lnc`: the largest logical core the
/// program was built for. Errors: the driver's; INVALID with UnknownArchitecture (value: its
/// number), and as choose_lnc_size(). The driver stays connected either way.
template <class D>
    requires Connectable<D> && TopologyOps<D>
Result<MachineView> view_machine(D& driver, const RuntimeOptions& options, std::uint32_t most_lnc,
                                 std::span<const Instance> table = kInstances) {
    const auto facts = driver.connect();
    if (!facts) return fail(facts.error());
    MachineView view{.facts = *facts, .geometry = geometry_of(facts->architecture)};
    if (!view.geometry)
        return fail({.status = Status::Invalid,
                     .operation = Operation::BringUp,
                     .detail = Detail::UnknownArchitecture,
                     .value = static_cast<std::uint64_t>(facts->architecture)});
    const auto lnc = choose_lnc_size(*view.geometry, most_lnc,
                                     takes_only_lnc2(facts->family, table), options.lnc_size);
    if (!lnc) return fail(lnc.error());
    const auto devices = driver.devices();
    if (!devices) return fail(devices.error());
    view.cores = PresentCores(*devices, *view.geometry, *lnc);
    return view;
}

} // namespace detail
} // namespace v0
} // namespace neuronbook
