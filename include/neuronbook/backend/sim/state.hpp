// SPDX-License-Identifier: Apache-2.0
//
// All that a simulated kernel knows.
// Owns: the state as a whole. Does not own: what any part of it means.
// Layer: backend (simulated kernel).   Source: driver-abi.md
#pragma once

#include <cstdint>
#include <vector>

#include "neuronbook/backend/sim/device/device.hpp"
#include "neuronbook/backend/sim/device/reset_thread.hpp"
#include "neuronbook/backend/sim/host/core_marks.hpp"
#include "neuronbook/backend/sim/host/files.hpp"
#include "neuronbook/backend/sim/host/mappings.hpp"
#include "neuronbook/backend/sim/host/pins.hpp"
#include "neuronbook/backend/sim/journal.hpp"
#include "neuronbook/backend/sim/machine/machine_spec.hpp"
#include "neuronbook/backend/sim/machine/pod_election.hpp"
#include "neuronbook/backend/sim/mover.hpp"
#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

struct State {
    explicit State(const MachineSpec& what)
        : machine(what), parameters(what.parameters()), pod(what) {
        devices.reserve(machine.devices());
        for (std::uint32_t i = 0; i < machine.devices(); ++i)
            load_device(devices.emplace_back(machine, i), machine);
    }

    MachineSpec machine;
    std::vector<Device> devices;
    CoreMarks marks;
    FileTable files;
    Mappings mappings;
    Pins pins;
    Journal journal;
    SimParameters parameters; ///< as their files show them now; most only matter at load
    PodElection pod;
    std::int32_t notify_delay = -1; ///< one switch for all devices
    Mover* mover = nullptr;         ///< moves asynchronous copies; null: they are moved at once
    Nanoseconds now{};              ///< when somebody last asked for something
};

/// Whether a buffer touches memory that its process mapped from the driver: such pages cannot be
/// pinned.
[[nodiscard]] inline bool is_driver_mapping(const State& state, std::int32_t pid, std::uint64_t va,
                                            std::uint64_t size) {
    return state.mappings.touches(pid, va, size);
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
