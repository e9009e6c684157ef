// SPDX-License-Identifier: Apache-2.0
//
// Where a device is on the PCI bus.
// Owns: the plain data. Does not own: where it comes from (backend/) or hangs (topology/).
// Layer: base.   Source: tables.md 4, driver-abi.md 5.2
#pragma once

#include <cstdint>

namespace neuronbook {
inline namespace v0 {

/// Position of a device on the PCI bus. libnrt: bdf
struct BusAddress {
    std::uint32_t domain = 0;
    std::uint32_t bus = 0;
    std::uint32_t slot = 0;
    std::uint32_t function = 0;

    friend constexpr bool operator==(const BusAddress&, const BusAddress&) = default;
};

} // namespace v0
} // namespace neuronbook
