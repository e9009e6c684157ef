// SPDX-License-Identifier: Apache-2.0
//
// How many descriptors one block of a function needs.
// Owns: the 48 counters. Does not own: adding them up (descriptor_table.hpp).
// Layer: model.   libnrt: dbtc_desc_count_t. Source: tables.md 14
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace neuronbook {
inline namespace v0 {

/// Three counters for each of 16 rings. Aligned for 16-byte loads.
///
/// libnrt: dbtc_desc_count_t, m2s_inc, s2m_inc, num_packets.
/// Differs: without the node it carries there; 192 bytes are all.
struct alignas(16) DescriptorCounts {
    static constexpr std::size_t kRings = 16;

    std::array<std::uint32_t, kRings> m2s{};     ///< descriptors that read memory
    std::array<std::uint32_t, kRings> s2m{};     ///< descriptors that write memory
    std::array<std::uint32_t, kRings> packets{}; ///< packets they are grouped in

    friend bool operator==(const DescriptorCounts&, const DescriptorCounts&) noexcept = default;
};

static_assert(sizeof(DescriptorCounts) == 192 && std::is_trivially_copyable_v<DescriptorCounts> &&
              std::is_standard_layout_v<DescriptorCounts>);

} // namespace v0
} // namespace neuronbook
