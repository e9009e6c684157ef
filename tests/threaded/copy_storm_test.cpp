// SPDX-License-Identifier: Apache-2.0
//
// Staged copies of several threads beside an engine that has a thread of its own.
#include "support/catch.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "dmem/copy/patterns.hpp"
#include "neuronbook/backend/ioctl_driver.hpp"
#include "neuronbook/backend/sim/kernel.hpp"
#include "neuronbook/backend/sim/port.hpp"
#include "neuronbook/dmem/copy/copy_engine.hpp"

using namespace neuronbook;
using namespace neuronbook::literals;

namespace {

constexpr HostDeviceId kDevice{0};
using Driver = IoctlDriver<SimPort>;
using Engine = CopyEngine<Driver, StagedPlan>;

/// Copies there, on, and back again and again; how often that went wrong. Makes no assertion of
/// Catch's, which knows one thread.
unsigned wrong_copies(Driver& driver, Engine& engine, std::size_t size, std::size_t seed) {
    const auto made = [&] {
        return driver.allocate(kDevice,
                               {.size = Bytes{size}, .core = engine.core(), .category = 12});
    };
    const auto chunk = made(), other = made();
    if (!chunk || !other) return 1;
    unsigned wrong = 0;
    std::vector<std::byte> back(size);
    for (std::size_t round = 0; round < 4; ++round) {
        const auto sent = test::pattern(size, seed * 100 + round);
        const bool good = engine.write(*chunk, 0_B, sent) &&
                          engine.copy(*chunk, 0_B, *other, 0_B, Bytes{size}) &&
                          engine.read(*other, 0_B, back) && back == sent;
        if (!good) ++wrong;
    }
    if (!driver.free(kDevice, *chunk) || !driver.free(kDevice, *other)) ++wrong;
    return wrong;
}

unsigned storm(const std::vector<std::pair<Driver*, Engine*>>& ways) {
    std::atomic<unsigned> wrong{0};
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < 6; ++i)
        threads.emplace_back([&, i] {
            constexpr std::size_t kSizes[] = {1000, 0x5001, (1u << 20) + 5};
            const auto& [driver, engine] = ways[i % ways.size()];
            wrong += wrong_copies(*driver, *engine, kSizes[i / 2], i);
        });
    for (auto& thread : threads) thread.join();
    return wrong;
}

std::unique_ptr<Driver> up(SimKernel& kernel) {
    auto driver = std::make_unique<Driver>(SimPort(kernel));
    REQUIRE(driver->connect());
    REQUIRE(driver->open_device(kDevice));
    return driver;
}

} // namespace

TEST_CASE("threads that copy on one ring, on a pair of cores and by two drivers keep their bytes",
          "[threaded][copy]") {
    for (const char* instance : {"trn1.2xlarge", "trn2.3xlarge"}) { // an engine a core; a pair
        INFO(instance);
        auto made =
            SimKernel::make({.instance = instance, .driver_version = "2.26.5", .dma_thread = true});
        REQUIRE(made);
        const auto kernel = *std::move(made);
        const auto before = kernel->census();
        {
            const auto first = up(*kernel), second = up(*kernel);
            Engine zero(*first, kDevice, CoreIndex{0}), one(*first, kDevice, CoreIndex{1});
            Engine again(*first, kDevice, CoreIndex{0}), others(*second, kDevice, CoreIndex{0});
            CHECK(storm({{first.get(), &zero}}) == 0);
            CHECK(storm({{first.get(), &zero}, {first.get(), &one}}) == 0);
            // other bounce buffers, the same ring
            CHECK(storm({{first.get(), &zero}, {first.get(), &again}, {second.get(), &others}}) ==
                  0);
        }
        CHECK(kernel->census() == before);
        CHECK(kernel->would_have_crashed().empty());
    }
}
