// SPDX-License-Identifier: Apache-2.0
//
// Files of the module: its version and its parameters; and the machine's product name.
// Owns: their texts, what writing a parameter changes. Does not own: the parameters
// (parameters.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 5.11, 13 (measured on Trn1)
#pragma once

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>

#include "neuronbook/backend/sim/sysfs/file_row.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

[[nodiscard]] inline std::string read_version(State& state, const Place&) {
    return std::string{state.machine.version()} + "\n";
}

[[nodiscard]] inline std::string read_product_name(State& state, const Place&) {
    return std::string{state.machine.product_name()} + "\n";
}

[[nodiscard]] inline std::string read_parameter(State& state, const Place& place) {
    return line(state.parameters.*kParameters[place.item].value);
}

/// Most parameters only matter while the module loads. The limit of the small pool, no_reset and
/// dma_teardown_on_exit are looked at whenever they are needed.
inline std::int64_t write_parameter(State& state, const Place& place, std::string_view text) {
    const auto& row = kParameters[place.item];
    const auto value = parameter_value(text);
    if (!value) return -EINVAL;
    if (*value > row.most) return -ERANGE;
    state.parameters.*row.value = *value;
    if (row.value == &SimParameters::mempool_small_alloc_max)
        for (auto& device : state.devices) device.set_small_most(*value);
    return 0;
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
