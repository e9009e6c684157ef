// SPDX-License-Identifier: Apache-2.0
//
// Geometry of each NeuronCore generation: the only place where these numbers stand.
// Owns: the architecture table. Does not own: how many devices an instance has (instance.hpp).
// Layer: base.   libnrt: al_hal_tpb_arch_type_t. Source: tables.md 3, driver-abi.md 1 and 4.1
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {

/// NeuronCore generation; the number is also the driver's.
/// libnrt: al_hal_tpb_arch_type_t
enum class Architecture : std::uint32_t {
    Invalid = 0,
    Sunda = 2,   ///< NeuronCore-v2: Trn1, Inf2
    Cayman = 3,  ///< NeuronCore-v3: Trn2
    Mariana = 4, ///< NeuronCore-v4: Trn3
};

/// Most HBMs any device has.
inline constexpr std::uint32_t kMaxHbm = 4;
/// Most NeuronCores any device has; also the bound of the driver's core checks.
inline constexpr std::uint32_t kMaxCoresPerDevice = 8;
/// The start of every HBM, which the driver keeps for itself; the same on all generations.
inline constexpr Bytes kCarveOut{16u << 20};
/// Numbers a device node may carry, /dev/neuron0 to /dev/neuron63.
inline constexpr std::uint32_t kMaxHostDevices = 64;

/// What one generation looks like. Sizes in bytes; addresses are device-local.
struct Geometry {
    Architecture architecture;
    std::string_view name;
    std::uint32_t cores; ///< NeuronCores a device
    std::uint32_t cores_per_hbm;
    std::uint32_t hbms;
    Bytes hbm_size;
    std::array<DeviceAddress, kMaxHbm> hbm_base;
    Bytes sbuf_size; ///< aperture of one core's state buffer
    std::uint32_t dma_engines_per_core;
    std::uint32_t queues_per_engine;
    std::uint32_t top_sps;
    std::uint32_t default_lnc_size; ///< physical cores of a logical core unless configured
    std::uint32_t max_lnc_size;
    std::uint32_t runtime_version;  ///< our number against the driver's compatible range
    DeviceAddress host_memory_base; ///< bit that marks host memory in a device's address space

    /// The HBM next to a core.
    [[nodiscard]] constexpr std::uint32_t default_hbm(CoreIndex core) const noexcept {
        return core.value() / cores_per_hbm;
    }
};

namespace detail {

inline constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
inline constexpr DeviceAddress kDieBases[2] = {DeviceAddress{0}, DeviceAddress{1ull << 47}};
/// V3 and V4 place two HBMs 2^38 apart on each of two dies 2^47 apart.
inline constexpr std::array<DeviceAddress, kMaxHbm> kTwoDieBases{
    kDieBases[0], DeviceAddress{kDieBases[0].value() + (1ull << 38)}, kDieBases[1],
    DeviceAddress{kDieBases[1].value() + (1ull << 38)}};

} // namespace detail

inline constexpr std::array kGeometries{
    Geometry{Architecture::Sunda,
             "SUNDA",
             2,
             1,
             2,
             Bytes{16 * detail::kGiB},
             {DeviceAddress{0}, DeviceAddress{1ull << 36}},
             Bytes{32u << 20},
             16,
             16,
             6,
             1,
             1,
             7,
             DeviceAddress{1ull << 44}},
    Geometry{Architecture::Cayman, "CAYMAN", 8, 2, 4, Bytes{24 * detail::kGiB},
             detail::kTwoDieBases, Bytes{32u << 20}, 16, 16, 16, 2, 2, 11,
             DeviceAddress{1ull << 46}},
    Geometry{Architecture::Mariana, "MARIANA", 8, 2, 4, Bytes{36 * detail::kGiB},
             detail::kTwoDieBases, Bytes{32u << 20}, 16, 16, 16, 2, 2, 11,
             DeviceAddress{1ull << 46}},
};

/// The table's row, or null for a number no supported generation has (1 is Inf1, unsupported).
[[nodiscard]] constexpr const Geometry* geometry_of(Architecture architecture) noexcept {
    for (const auto& row : kGeometries)
        if (row.architecture == architecture) return &row;
    return nullptr;
}

} // namespace v0
} // namespace neuronbook
