// SPDX-License-Identifier: Apache-2.0
//
// Each call of a staged copy-out fails once, in five ways, on the simulated kernel.
#include <algorithm>
#include <cstddef>
#include <cstdint>
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
constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kSize = 3 * kMiB + 4097; // four pieces
constexpr std::byte kUntouched{0xA5};

} // namespace

TEST_CASE("E03: whichever call of a staged copy-out fails, all that the driver confirmed is there",
          "[dmem][copy_faults][sim][E03]") {
    test::LogLines log; // waits for what was never started
    for (const char* release : {"2.24.7", "2.26.5", "2.30.2"}) {
        test::SimMachine machine("trn1.2xlarge", release);
        auto driver = test::open_driver(machine);
        const auto chunk = test::chunk_of(driver, kSize);
        const auto held = test::pattern(kSize);
        REQUIRE(driver.write(kDevice, chunk, 0_B, held));
        CopyEngine<test::SimDriver, StagedPlan> engine(driver, kDevice, CoreIndex{0});
        std::byte one{};
        REQUIRE(engine.read(chunk, 0_B, {&one, 1})); // the bounce buffer is there
        machine.baseline = machine.kernel->census();
        for (const auto fault : test::kFaults)
            for (std::uint64_t nth = 1; nth <= 5; ++nth) { // four starts and a wait
                INFO(release << ": call " << nth << " answers " << fault);
                std::vector<std::byte> back(kSize, kUntouched);
                machine.plan.fail_nth(nth, fault);
                const auto read = engine.read(chunk, 0_B, back);
                REQUIRE(machine.plan.struck());
                machine.plan.clear();
                REQUIRE_FALSE(read);
                // A start that fails has those before it waited for; a wait that fails is repeated.
                const auto arrived = nth == 5 ? kSize : (nth - 1) * kMiB;
                CHECK(bytes_arrived(read.error()) == Bytes{arrived});
                CHECK(read.error().asked == kSize);
                const auto end = back.begin() + static_cast<std::ptrdiff_t>(arrived);
                CHECK(std::equal(back.begin(), end, held.begin()));
                CHECK(std::all_of(end, back.end(), [](std::byte b) { return b == kUntouched; }));
                REQUIRE(machine.kernel->census() == machine.baseline);
            }
        std::vector<std::byte> back(kSize);
        CHECK(engine.read(chunk, 0_B, back));
        CHECK(back == held);
    }
}
