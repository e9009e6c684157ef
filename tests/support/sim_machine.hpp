// SPDX-License-Identifier: Apache-2.0
//
// A simulated machine and what tests ask of it.
#pragma once

#include <memory>

#include "neuronbook/backend/any_port.hpp"
#include "neuronbook/backend/count_port.hpp"
#include "neuronbook/backend/fault_port.hpp"
#include "neuronbook/backend/ioctl_driver.hpp"
#include "neuronbook/backend/sim/kernel.hpp"
#include "neuronbook/backend/sim/port.hpp"
#include "support/catch.hpp"

namespace neuronbook::test {

/// A kernel with its poison on, and ports whose calls are counted and may be made to fail.
struct SimMachine {
    explicit SimMachine(const char* instance = "trn1.2xlarge", const char* driver = "2.24.7") {
        auto made =
            SimKernel::make({.instance = instance, .driver_version = driver, .poison = true});
        REQUIRE(made);
        kernel = *std::move(made);
        baseline = kernel->census();
    }

    /// A process's port: faults first, so that a failed call is counted too.
    AnyPort port(std::int32_t pid = 100) {
        return AnyPort(CountPort(FaultPort(SimPort(*kernel, {.pid = pid}), plan), counts));
    }

    std::unique_ptr<SimKernel> kernel;
    Census baseline;
    CallCounts counts;
    FaultPlan plan;
};

using SimDriver = IoctlDriver<AnyPort>;

/// A driver object that is connected, with device 0 open.
inline SimDriver open_driver(SimMachine& machine) {
    SimDriver driver(machine.port());
    REQUIRE(driver.connect());
    REQUIRE(driver.open_device(HostDeviceId{0}));
    return driver;
}

} // namespace neuronbook::test
