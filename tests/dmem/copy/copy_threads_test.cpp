// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "dmem/copy/patterns.hpp"
#include "neuronbook/dmem/copy/copy_engine.hpp"
#include "support/catch.hpp"
#include "support/fake_driver.hpp"

using namespace neuronbook;
using namespace neuronbook::literals;
using test::FakeDriver;

namespace {

constexpr HostDeviceId kDevice{0};
constexpr CoreIndex kCore{0};
using Engine = CopyEngine<FakeDriver, StagedPlan>;

/// Writes and reads a chunk of its own again and again; the number of copies that went wrong.
unsigned wrong_copies(FakeDriver& driver, Engine& engine, std::size_t size, std::size_t seed) {
    const auto chunk = driver.allocate(kDevice, {.size = Bytes{size}, .category = 12});
    if (!chunk) return 1;
    unsigned wrong = 0;
    std::vector<std::byte> back(size);
    for (std::size_t round = 0; round < 8; ++round) {
        const auto sent = test::pattern(size, seed * 100 + round);
        if (!engine.write(*chunk, 0_B, sent) || !engine.read(*chunk, 0_B, back) || back != sent)
            ++wrong;
    }
    return driver.free(kDevice, *chunk) ? wrong : wrong + 1;
}

unsigned storm(FakeDriver& driver, std::vector<Engine*> engines) {
    std::atomic<unsigned> wrong{0};
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < 6; ++i)
        threads.emplace_back([&, i] {
            const std::size_t sizes[] = {1000, 0x5001, (1u << 20) + 5};
            wrong += wrong_copies(driver, *engines[i % engines.size()], sizes[i % 3], i);
        });
    for (auto& thread : threads) thread.join();
    return wrong;
}

} // namespace

TEST_CASE("threads on one core, and on two that share a queue, do not mix their bytes",
          "[dmem][copy_threads]") {
    FakeDriver driver;
    driver.aside = true;
    {
        Engine one(driver, kDevice, kCore);
        CHECK(storm(driver, {&one}) == 0);
        Engine two(driver, kDevice, kCore); // another buffer, the same queue of the driver
        CHECK(storm(driver, {&one, &two}) == 0);
    }
    CHECK(driver.in_flight == 0);
    CHECK(driver.most_in_flight == 2);
    CHECK(driver.outstanding() == 0);
    CHECK(driver.misuses == 0);
}

TEST_CASE("a short copy passes between two turns of a long one", "[dmem][copy_threads]") {
    FakeDriver driver;
    driver.aside = true;
    Engine engine(driver, kDevice, kCore);
    const auto large = test::chunk_of(driver, 48 << 20);
    const auto small = test::chunk_of(driver, 4096);
    const std::vector<std::byte> bytes(48 << 20, std::byte{1});
    std::atomic<bool> begun{false}, passed{false};
    std::thread other([&] {
        while (!begun) std::this_thread::yield();
        passed = engine.write(small, 0_B, {bytes.data(), 100}).has_value();
    });
    bool passed_before_the_end = false;
    REQUIRE(engine.write(large, 0_B, bytes, [&](Bytes done, Bytes total) {
        begun = true;
        while (done < total && !passed) std::this_thread::yield(); // nothing is held here
        if (done < total) passed_before_the_end = passed;
        return AfterProgress::GoOn;
    }));
    other.join();
    CHECK(passed_before_the_end);
}

TEST_CASE("turns go round in the order in which they were asked for", "[dmem][copy_threads]") {
    detail::TurnLock lock;
    lock.lock();
    std::atomic<unsigned> others{0};
    std::thread waiting([&] {
        for (int i = 0; i < 100; ++i) {
            lock.lock();
            ++others;
            lock.unlock();
        }
    });
    // whoever takes it again at once lines up behind the one who waits
    for (int i = 0; i < 1000; ++i) {
        lock.unlock();
        lock.lock();
    }
    lock.unlock();
    waiting.join();
    CHECK(others == 100);
}
