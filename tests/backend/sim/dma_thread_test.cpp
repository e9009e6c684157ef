// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "neuronbook/backend/ioctl_driver.hpp"
#include "neuronbook/backend/posix_port.hpp"
#include "neuronbook/backend/sim/kernel.hpp"
#include "neuronbook/backend/sim/port.hpp"

using namespace neuronbook;

namespace {

constexpr HostDeviceId kDevice{0};

std::unique_ptr<SimKernel> machine(bool thread) {
    auto made = SimKernel::make({.instance = "trn2.3xlarge", .dma_thread = thread});
    REQUIRE(made);
    return *std::move(made);
}

Chunk chunk(IoctlDriver<SimPort>& driver, std::uint64_t size, std::uint32_t core) {
    auto made =
        driver.allocate(kDevice, {.size = Bytes{size}, .core = CoreIndex{core}, .category = 9});
    REQUIRE(made);
    return *made;
}

/// Bytes go through a row of places, each copy from where the one before it went.
bool pass_on(IoctlDriver<SimPort>& driver, const Chunk& from, const Chunk& to, std::uint32_t core) {
    constexpr std::size_t kSize = 1 << 20;
    std::vector<std::byte> bytes(kSize);
    for (std::size_t i = 0; i < kSize; ++i) bytes[i] = static_cast<std::byte>(i * 7 + core);
    bool good = true;
    for (int round = 0; round < 8 && good; ++round) {
        good = driver.write(kDevice, from, Bytes{0}, bytes).has_value();
        auto chain = driver.begin_copies(kDevice, CoreIndex{core});
        good = good && chain && chain->start(from, Bytes{0}, to, Bytes{0}, Bytes{kSize});
        for (std::uint64_t i = 1; i < 8; ++i)
            good = good &&
                   chain->start(to, Bytes{(i - 1) * kSize}, to, Bytes{i * kSize}, Bytes{kSize});
        std::vector<std::byte> back(kSize);
        // another request than a wait sees what was started
        if (round % 2 == 0) good = good && chain->finish();
        good = good && driver.read(kDevice, to, Bytes{7 * kSize}, back) && back == bytes;
        good = good && driver.fill(kDevice, to, Bytes{0}, Bytes{8 * kSize}, std::byte{0});
    }
    return good;
}

} // namespace

TEST_CASE("with a thread of their own copies run aside, and every request sees them done",
          "[sim][dma-thread]") {
    for (const bool thread : {false, true}) {
        const auto kernel = machine(thread);
        IoctlDriver<SimPort> driver{SimPort(*kernel)};
        REQUIRE(driver.connect());
        REQUIRE(driver.open_device(kDevice));
        CHECK(driver.copies_run_aside() == thread);
        const Chunk from[] = {chunk(driver, 1 << 20, 0), chunk(driver, 1 << 20, 1)};
        const Chunk to[] = {chunk(driver, 8 << 20, 0), chunk(driver, 8 << 20, 1)};
        bool good = false;
        std::thread other([&] { good = pass_on(driver, from[1], to[1], 1); });
        CHECK(pass_on(driver, from[0], to[0], 0));
        other.join();
        CHECK(good);
        CHECK(kernel->would_have_crashed().empty());
    }
}

TEST_CASE("a started copy leaves the caller free, and its wait leaves the kernel free",
          "[sim][dma-thread]") {
    const auto kernel = machine(true);
    IoctlDriver<SimPort> driver{SimPort(*kernel)};
    REQUIRE(driver.connect());
    REQUIRE(driver.open_device(kDevice));
    const auto from = chunk(driver, 127u << 20, 0);
    const auto to = chunk(driver, 127u << 20, 0);
    REQUIRE(driver.fill(kDevice, from, Bytes{0}, Bytes{127u << 20}, std::byte{0x42}));
    const auto now = [] { return PosixPort{}.now().count; };
    const auto begin = now();
    auto chain = driver.begin_copies(kDevice, CoreIndex{0});
    REQUIRE(chain->start(from, Bytes{0}, to, Bytes{0}, Bytes{127u << 20}));
    const auto started = now() - begin;
    REQUIRE(chain->finish());
    const auto finished = now() - begin;
    INFO(started << " ns to start, " << finished << " ns to finish");
    CHECK(started < finished / 2);
    std::byte last{};
    REQUIRE(driver.read(kDevice, to, Bytes{(127u << 20) - 1}, {&last, 1}));
    CHECK(last == std::byte{0x42});
}

TEST_CASE("a kernel ends with copies under way, and a process with its chunks",
          "[sim][dma-thread]") {
    const auto kernel = machine(true);
    const auto before = kernel->census();
    {
        IoctlDriver<SimPort> driver{SimPort(*kernel)};
        REQUIRE(driver.connect());
        REQUIRE(driver.open_device(kDevice));
        const auto from = chunk(driver, 64u << 20, 0);
        const auto to = chunk(driver, 64u << 20, 0);
        auto chain = driver.begin_copies(kDevice, CoreIndex{0});
        REQUIRE(chain->start(from, Bytes{0}, to, Bytes{0}, Bytes{64u << 20}));
        kernel->end_process(1);
        REQUIRE(driver.free(kDevice, from));
        REQUIRE(driver.free(kDevice, to));
        CHECK_FALSE(chain->finish()); // the chunks are gone, and the ring has its place back late
    }
    CHECK(kernel->census() == before);
}
