// SPDX-License-Identifier: Apache-2.0
//
// What is under the driver: silicon or a stand-in, and what its firmware says of itself.
// Owns: the options. Does not own: what the driver makes of them.
// Layer: backend (simulated kernel).   Source: driver-abi.md 1, 11
#pragma once

#include <array>
#include <cstdint>

#include "neuronbook/base/architecture.hpp"
#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {

/// Hardware of every device. The defaults are those of the recorded machines.
struct SimHardware {
    /// The PCI revision byte. Two values are no silicon.
    static constexpr std::uint8_t kEmulation = 240;
    static constexpr std::uint8_t kQemu = 255;
    std::uint8_t revision = 0;
    /// Size of BAR4, looked at under qemu only, where a quarter of it is an HBM.
    Bytes bar4{std::uint64_t{64} << 30};

    std::uint32_t firmware_api = 3;
    std::uint32_t firmware_build = 0;
    bool hbm_7200 = false; ///< the firmware's answer, Trn2 of 2.30
    /// Serial number of device 0; the others count up.
    std::uint64_t serial = 0x0000fa4e005e0000;
    /// Error registers: uncorrected in the low half, corrected in the high half.
    std::uint32_t sram_errors = 0;
    std::array<std::uint32_t, kMaxHbm> hbm_errors{};
    std::uint32_t hbm_repair = 0; ///< state of repair, two bits
};

} // namespace v0
} // namespace neuronbook
