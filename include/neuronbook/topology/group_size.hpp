// SPDX-License-Identifier: Apache-2.0
//
// Which numbers of cores may form a collective group.
// Owns: the rule of each instance family. Does not own: collectives.
// Layer: topology.   Source: field reports C08 (trn1: 1, 2, 8, 16 and multiples of 32; inf2: any)
#pragma once

#include <cstdint>

#include "neuronbook/base/instance.hpp"

namespace neuronbook {
inline namespace v0 {

/// Whether `cores` logical cores may form a collective group that has its home on this type of
/// instance. Memory functions do not care: they serve any number. Trn1 joins its 16 devices as a
/// torus and takes 1, 2, 8, 16 and the multiples of 32; those past the 32 cores of an instance are
/// several instances joined, which only the types of 16 devices can be, and how many is not bounded
/// here. The type of one device has two cores. Inf2 joins its devices as a ring and takes any
/// number it has. No rule is published for Trn2 and Trn3, whose torus is the same shape: there a
/// group must be a part of the machine that is whole in both directions, so the powers of two it
/// has are taken.
[[nodiscard]] constexpr bool is_group_size(const Instance& instance, std::uint32_t cores,
                                           std::uint32_t lnc_size = 1) noexcept {
    const auto* geometry = geometry_of(instance.architecture);
    if (geometry == nullptr || lnc_size == 0 || cores == 0) return false;
    const std::uint32_t all = instance.devices * geometry->cores / lnc_size;
    switch (instance.family) {
    case InstanceFamily::Inf2:
    case InstanceFamily::Inf2e: return cores <= all;
    case InstanceFamily::Trn1:
    case InstanceFamily::Trn1n:
        if (cores > all) return instance.devices == 16 && cores % 32 == 0;
        return cores == 1 || cores == 2 || cores == 8 || cores == 16 || cores % 32 == 0;
    default: return cores <= all && (cores & (cores - 1)) == 0;
    }
}

} // namespace v0
} // namespace neuronbook
