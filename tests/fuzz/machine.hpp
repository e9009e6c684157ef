// SPDX-License-Identifier: Apache-2.0
// Which machine an input asks for.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "fuzz/input.hpp"
#include "neuronbook/backend/sim/kernel.hpp"

namespace fuzz {

/// From three bytes: the instance, the driver, and what is odd about the machine.
inline neuronbook::SimOptions machine(Input& input) {
    constexpr std::array kInstances{"trn1.2xlarge",  "trn2.3xlarge",  "trn3pd98.3xlarge",
                                    "trn1.32xlarge", "trn2.48xlarge", "trn3p.48xlarge",
                                    "inf2.24xlarge", "trn2u.48xlarge"};
    constexpr std::array kSwitched{"trn2es.48xlarge", "trn3e.24xlarge", "trn3.48xlarge",
                                   "trn2en.24xlarge"};
    constexpr std::array kDrivers{"2.24.7.0", "2.26.5.0", "2.30.2.0"};
    constexpr std::array<std::optional<std::uint32_t>, 4> kServers{0, 3, 31, std::nullopt};
    neuronbook::SimOptions options;
    const auto which = input.byte();
    options.instance =
        which < 0xE0 ? kInstances[which % kInstances.size()] : kSwitched[which % kSwitched.size()];
    options.driver_version = kDrivers[input.byte() % kDrivers.size()];
    const auto odd = input.byte();
    options.poison = (odd & 1) != 0;
    // sixteen devices take fifteen times as long to make as one, so few inputs have so many
    constexpr std::array kDevices{2u, 1u, 4u, 16u};
    options.devices =
        std::min(kDevices[odd >> 1 & 3], neuronbook::instance_named(options.instance)->devices);
    options.pod.links = static_cast<neuronbook::SimPod::Links>(odd >> 3 & 3);
    options.pod.server = kServers[odd >> 3 & 3];
    if ((odd & 0x20) != 0) options.pod.election = neuronbook::SimPod::Election::AtLoad;
    options.parameters.no_reset = odd >> 6 & 1;
    options.faults.never_ready = odd >= 0xF0;
    return options;
}

} // namespace fuzz
