// SPDX-License-Identifier: Apache-2.0
//
// The driver releases from which on something is there that no feature bit tells of.
// Owns: the numbers. Does not own: what is done about them.
// Layer: backend.   Source: ioctl-abi.json (histories), driver-abi.md 9 and 14
#pragma once

#include "neuronbook/backend/driver.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// The only major release there has been.
inline constexpr std::uint32_t kDriverMajor = 2;

inline constexpr DriverVersion kAlignedSince{2, 3, 3};
inline constexpr DriverVersion kFeatureWordSince{2, 12, 11};
inline constexpr DriverVersion kRoutingMapSince{2, 16, 7};
inline constexpr DriverVersion kCoreMapSince{2, 19, 64};
inline constexpr DriverVersion kPodStatusSince{2, 19, 64};
inline constexpr DriverVersion kPodModeSince{2, 23, 9};
/// With an argument of 48 bytes; what 2.24 tries out under the same number is another request.
inline constexpr DriverVersion kZeroCopySince{2, 25, 4};
/// The argument grew to 64 bytes.
inline constexpr DriverVersion kNumberedCopiesSince{2, 29, 0};
/// Before, a mapping that ends with its HBM shows other memory.
inline constexpr DriverVersion kHbmEndMappableSince{2, 29, 0};

} // namespace detail
} // namespace v0
} // namespace neuronbook
