// SPDX-License-Identifier: Apache-2.0
//
// What kind of machine to simulate, as data.
// Owns: the options. Does not own: whether they make sense together (machine_spec.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 1, 2, 14
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "neuronbook/backend/sim/faults.hpp"
#include "neuronbook/backend/sim/machine/hardware.hpp"
#include "neuronbook/backend/sim/machine/parameters.hpp"
#include "neuronbook/backend/sim/machine/pod_options.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {

/// What a driver older than those the model knows is without.
struct SimWithout {
    /// Whole request words, or bare request numbers (below 256): answered as unknown ones.
    std::vector<std::uint32_t> requests{};
    std::uint64_t features = 0; ///< bits of the feature word that are not set
};

/// Options of a SimKernel. The defaults give one Trn1 device under a driver whose answers have been
/// compared with the real one's.
struct SimOptions {
    /// A name of base/instance.hpp.
    std::string instance = "trn1.2xlarge";
    /// A driver the model knows: 2.24.7.0, 2.26.5.0 or 2.30.2.0; the last number may be left out.
    std::string driver_version = "2.26.5.0";
    /// Fill the first and the last page of every new chunk with kPoison, so that a program which
    /// counts on zeros is caught. The driver itself zeroes nothing.
    bool poison = false;
    /// Host memory that one device's driver can hand out, at most 64 GiB.
    Bytes host_memory{std::uint64_t{1} << 30};
    /// The device nodes this machine shows, by host number: all when nothing is said, none for an
    /// empty list. As in a container, host numbers stay and the kernel still counts every device.
    std::optional<std::vector<HostDeviceId>> visible{};
    /// What is wrong with every device from the start; SimKernel::set_faults() changes it later.
    SimFaults faults{};
    /// Product name of the DMI table, from which the driver tells platforms apart; the instance's
    /// name when nothing is said.
    std::optional<std::string> product_name{};
    /// Devices that the host has, at most as many as the instance; all when nothing is said.
    std::optional<std::uint32_t> devices{};
    SimParameters parameters{};
    SimPod pod{};
    SimHardware hardware{};
    SimWithout without{};
    /// Asynchronous copies move their bytes on a thread of the kernel's own, beside the caller;
    /// what is answered stays the same. Otherwise they are done when they are started.
    bool dma_thread = false;
};

namespace sim {

/// Byte that poisoned pages are filled with.
inline constexpr unsigned char kPoison = 0xA5;

} // namespace sim
} // namespace v0
} // namespace neuronbook
