// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dmem/copy/patterns.hpp"
#include "neuronbook/backend/ioctl_driver.hpp"
#include "neuronbook/backend/sim/kernel.hpp"
#include "neuronbook/backend/sim/port.hpp"
#include "neuronbook/dmem/copy/copy_engine.hpp"
#include "support/catch.hpp"

using namespace neuronbook;
using namespace neuronbook::literals;

TEST_CASE("beside an engine with a thread of its own the documented plan is taken, and is right",
          "[dmem][copy_engine][sim]") {
    const auto kernel = SimKernel::make({.driver_version = "2.26.5", .dma_thread = true});
    REQUIRE(kernel);
    IoctlDriver<SimPort> driver{SimPort(**kernel)};
    REQUIRE(driver.connect());
    REQUIRE(driver.open_device(HostDeviceId{0}));
    constexpr std::uint64_t size = (18u << 20) + 3;
    const auto chunk = test::chunk_of(driver, size + 1);
    CopyEngine engine(driver, HostDeviceId{0}, CoreIndex{0});
    CHECK(engine.schedule(64_MiB).mode == CopyMode::DoubleBuffered);
    for (std::size_t seed = 0; seed < 4; ++seed) {
        const auto sent = test::pattern(size, seed);
        REQUIRE(engine.write(chunk, 1_B, sent));
        std::vector<std::byte> back(size);
        REQUIRE(engine.read(chunk, 1_B, back));
        CHECK(back == sent);
    }
}
