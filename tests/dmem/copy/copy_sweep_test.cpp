// SPDX-License-Identifier: Apache-2.0
//
// Each kernel call of a program that copies fails once, in five ways.
#include <cstddef>
#include <vector>

#include "dmem/copy/patterns.hpp"
#include "faults/sweep.hpp"
#include "neuronbook/dmem/copy/copy_engine.hpp"
#include "support/catch.hpp"
#include "support/log_lines.hpp"
#include "support/sim_machine.hpp"

using namespace neuronbook;
using namespace neuronbook::literals;

namespace {

constexpr HostDeviceId kDevice{0};

/// Up, a chunk, a staged copy there and back, across HBMs, and down.
bool copies(test::SimMachine& machine) {
    test::SimDriver driver(machine.port());
    if (!driver.connect() || !driver.open_device(kDevice)) return false;
    const auto chunk = driver.allocate(kDevice, {.size = 3_MiB, .category = 12});
    if (!chunk) return false;
    const auto far = driver.allocate(kDevice, {.size = 3_MiB, .hbm = 1, .category = 12});
    if (!far) return false;
    CopyEngine<test::SimDriver, StagedPlan> engine(driver, kDevice, CoreIndex{0});
    const auto sent = test::pattern(2'500'000);
    std::vector<std::byte> back(sent.size());
    if (!engine.write(*chunk, 3_B, sent)) return false;
    if (!engine.copy(*chunk, 3_B, *far, 5_B, Bytes{sent.size()})) return false;
    if (!engine.read(*far, 5_B, back)) return false;
    CHECK(back == sent);
    return true;
}

} // namespace

TEST_CASE("E03: whichever kernel call of a copy fails, the kernel is as it was",
          "[dmem][copy_faults][sim][E03]") {
    test::LogLines log; // what could not be given back is named
    test::SimMachine machine;
    test::sweep("staged copies", machine, 30, 129, copies);
}
