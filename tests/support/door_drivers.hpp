// SPDX-License-Identifier: Apache-2.0
//
// Drivers straight on a simulated kernel's port, so that drivers of one pid share a door.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "neuronbook/backend/ioctl_driver.hpp"
#include "neuronbook/backend/sim/kernel.hpp"
#include "neuronbook/backend/sim/port.hpp"
#include "support/catch.hpp"

namespace neuronbook::test::door {

using SimDriver = IoctlDriver<SimPort>;

inline std::unique_ptr<SimKernel> machine(const char* instance = "trn1.32xlarge") {
    auto kernel = SimKernel::make({.instance = instance, .poison = true});
    REQUIRE(kernel);
    return *std::move(kernel);
}

inline SimDriver connected(SimKernel& kernel, std::int32_t pid = 100) {
    SimDriver driver{SimPort(kernel, {.pid = pid})};
    REQUIRE(driver.connect());
    return driver;
}

} // namespace neuronbook::test::door
