// SPDX-License-Identifier: Apache-2.0
//
// How the cells of usage_table.hpp are written.
// Owns: widths and the header. Does not own: what is in a row.
// Layer: dmem.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "neuronbook/base/architecture.hpp"
#include "neuronbook/base/describe.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/device_usage.hpp"
#include "neuronbook/dmem/usage.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

inline constexpr std::size_t kLabelWidth = 18;
inline constexpr std::size_t kCellWidth = 12; ///< "1023.999MB" and two spaces
inline constexpr std::size_t kTableWidth = kLabelWidth + kCellWidth * (kAggregates + 1) + 1;

/// The two lines of the header, column by column.
inline constexpr std::array<std::array<std::string_view, 2>, kAggregates + 1> kHeads{{
    {"", "TOTAL"},
    {"Model", "Code"},
    {"Model", "Constants"},
    {"", "Tensors"},
    {"Shared", "Scratchpad"},
    {"", "Scratchpad"},
    {"", "Runtime"},
    {"DMA Rings", "IO"},
    {"DMA Rings", "Spill"},
    {"DMA Rings", "Collectives"},
    {"DMA Rings", "Runtime"},
    {"", "Collectives"},
    {"Profiler", "Buffers"},
}};

inline void append_cell(std::string& out, std::string_view text) {
    if (text.size() < kCellWidth) out.append(kCellWidth - text.size(), ' ');
    out.append(text);
}

inline void append_size(std::string& out, std::uint64_t bytes) {
    if (bytes == 0)
        append_cell(out, "0.000B"); // most of them
    else
        append_cell(out, SizeText(Bytes{bytes}).view());
}

inline void append_header(std::string& out) {
    for (std::size_t line = 0; line < 2; ++line) {
        out.append(kLabelWidth, ' ');
        for (const auto& head : kHeads) append_cell(out, head[line]);
        out += '\n';
    }
}

/// Rows of cores and what lies on an HBM differ where a core has memory on another HBM.
inline void append_strays(std::string& out, const Geometry& geometry, const DeviceUsage& usage) {
    for (std::uint32_t hbm = 0; hbm < geometry.hbms; ++hbm) {
        std::uint64_t cores = 0;
        for (std::uint32_t k = 0; k < geometry.cores_per_hbm; ++k)
            cores += usage.counters.by_core[hbm * geometry.cores_per_hbm + k][kUsages];
        const std::uint64_t there = usage.counters.on_channel[hbm];
        if (cores == there) continue;
        out.append("ND ").append(std::to_string(usage.device.value()));
        out.append(": on HBM ").append(std::to_string(hbm)).append(" itself lie ");
        out.append(human(Bytes{there})).append(", since cores hold memory on other HBMs\n");
    }
}

} // namespace detail
} // namespace v0
} // namespace neuronbook
