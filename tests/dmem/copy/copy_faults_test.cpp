// SPDX-License-Identifier: Apache-2.0
//
// Each driver call of a copy fails once: nothing may stay in flight, what arrived is told, and the
// next copy works.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dmem/copy/patterns.hpp"
#include "neuronbook/dmem/copy/copy_across.hpp"
#include "support/catch.hpp"
#include "support/fake_driver.hpp"

using namespace neuronbook;
using namespace neuronbook::literals;
using test::FakeDriver;

namespace {

constexpr HostDeviceId kDevice{0};
constexpr CoreIndex kCore{0};
const Error kHung{.status = Status::Timeout, .detail = Detail::TimedOut, .os_error = 110};

/// Runs `copy(engine)` once to count its calls, then once per call that fails. `clear()` comes
/// before each run, `seen(error)` looks at what a failure left. Returns the calls.
template <class Plan, class Clear, class Copy, class Seen>
std::uint64_t sweep(FakeDriver& driver, Clear clear, Copy copy, Seen seen) {
    const auto live = driver.outstanding();
    const auto run = [&](std::uint64_t failing) {
        clear();
        const auto before = driver.calls;
        {
            CopyEngine<FakeDriver, Plan> engine(driver, kDevice, kCore);
            if (failing != 0) driver.fail_nth(failing, kHung);
            const auto said = copy(engine);
            const auto made = driver.calls - before;
            CHECK(said.has_value() == (failing == 0));
            CHECK(driver.in_flight == 0);
            driver.fail_nth(0, {});
            if (!said) {
                CHECK(said.error().status == Status::Timeout);
                seen(said.error());
                REQUIRE(copy(engine)); // the buffer is still good
            }
            engine.close();
            CHECK(driver.outstanding() == live);
            CHECK(driver.mapped() == 0);
            CHECK(driver.misuses == 0);
            return made;
        }
    };
    const auto calls = run(0);
    const std::uint64_t step = calls > 40 ? 7 : 1; // of many alike, some
    for (std::uint64_t nth = 1; nth <= calls; nth += step) {
        INFO("call " << nth << " of " << calls);
        run(nth);
    }
    return calls;
}

constexpr std::uint64_t kSize = (20u << 20) + 7; // two turns, 21 chunks

template <class Plan>
std::uint64_t sweep_write(FakeDriver& driver) {
    const auto chunk = test::chunk_of(driver, kSize);
    const auto sent = test::pattern(kSize);
    const std::vector<std::byte> clear(chunk.size.count());
    const auto calls = sweep<Plan>(
        driver, [&] { REQUIRE(driver.write(kDevice, chunk, 0_B, clear)); },
        [&](auto& engine) { return engine.write(chunk, 0_B, sent); },
        [&](const Error& error) {
            CHECK(error.asked == kSize);
            CHECK(error.operation == Operation::Copy);
            const auto there = test::contents(driver, chunk);
            CHECK(test::equal_from_start(there, sent) >= bytes_arrived(error).count());
        });
    REQUIRE(driver.free(kDevice, chunk));
    return calls;
}

template <class Plan>
std::uint64_t sweep_read(FakeDriver& driver) {
    const auto chunk = test::chunk_of(driver, kSize);
    const auto held = test::pattern(kSize);
    REQUIRE(driver.write(kDevice, chunk, 0_B, held));
    std::vector<std::byte> back(kSize);
    std::uint64_t most = 0;
    const auto calls = sweep<Plan>(
        driver, [&] { std::fill(back.begin(), back.end(), std::byte{0}); },
        [&](auto& engine) { return engine.read(chunk, 0_B, back); },
        [&](const Error& error) {
            const auto arrived = bytes_arrived(error).count();
            most = std::max(most, arrived);
            CHECK(test::equal_from_start(back, held) >= arrived);
            // nothing is delivered that was not told
            CHECK(std::all_of(back.begin() + static_cast<std::ptrdiff_t>(arrived), back.end(),
                              [](std::byte b) { return b == std::byte{0}; }));
        });
    CHECK(most >= 16u << 20);
    REQUIRE(driver.free(kDevice, chunk));
    return calls;
}

} // namespace

TEST_CASE("whichever call of a copy-in fails, what arrived is told", "[dmem][copy_faults]") {
    FakeDriver driver;
    driver.aside = true;
    // allocate, map; 16 starts and a wait; 5 starts and a wait
    CHECK(sweep_write<StagedPlan>(driver) == 2 + 17 + 6);
    CHECK(sweep_write<OneBufferPlan>(driver) == 2 + 64 + 17);
    CHECK(sweep_write<SynchronousPlan>(driver) == 2);
}

TEST_CASE("whichever call of a copy-out fails, what was staged is delivered",
          "[dmem][copy_faults]") {
    FakeDriver driver;
    driver.aside = true;
    CHECK(sweep_read<StagedPlan>(driver) == 2 + 17 + 6);
    CHECK(sweep_read<OneBufferPlan>(driver) == 2 + 64 + 17);
}

TEST_CASE("a copy-out that fails midway delivers the chunk before", "[dmem][copy_faults]") {
    FakeDriver driver;
    driver.aside = true;
    const auto chunk = test::chunk_of(driver, 4 << 20);
    const auto held = test::pattern(4 << 20);
    REQUIRE(driver.write(kDevice, chunk, 0_B, held));
    CopyEngine engine(driver, kDevice, kCore);
    std::vector<std::byte> back(4 << 20);
    REQUIRE(engine.read(chunk, 0_B, {back.data(), 5}));
    std::fill(back.begin(), back.end(), std::byte{0});
    driver.fail_nth(5, kHung); // the wait for the last of four
    const auto said = engine.read(chunk, 0_B, back);
    REQUIRE_FALSE(said);
    CHECK(bytes_arrived(said.error()) == 3_MiB);
    CHECK(said.error().text.view() == "3145728 of 4194304 bytes arrived");
    CHECK(test::equal_from_start(back, held) >= 3u << 20);
}

TEST_CASE("whichever call of a copy inside a device fails, what arrived is told",
          "[dmem][copy_faults]") {
    FakeDriver driver;
    const auto from = test::chunk_of(driver, kSize);
    const auto near = test::chunk_of(driver, kSize);
    const auto far = test::chunk_of(driver, kSize, 1);
    const auto held = test::pattern(kSize);
    REQUIRE(driver.write(kDevice, from, 0_B, held));
    const auto swept = [&](const Chunk& to) {
        return sweep<PlanByDriver>(
            driver, [&] { REQUIRE(driver.fill(kDevice, to, 0_B, to.size, std::byte{0})); },
            [&](auto& engine) { return engine.copy(from, 0_B, to, 0_B, Bytes{kSize}); },
            [&](const Error& error) {
                CHECK(error.asked == kSize);
                CHECK(test::equal_from_start(test::contents(driver, to), held) >=
                      bytes_arrived(error).count());
            });
    };
    CHECK(swept(near) == 2);
    CHECK(swept(far) == 2 + 2 * (8 + 3)); // allocate, map; in and out for each 2 MiB
    const auto fills = sweep<PlanByDriver>(
        driver, [] {},
        [&](auto& engine) { return engine.fill(near, 0_B, Bytes{kSize}, std::byte{3}); },
        [](const Error& error) { CHECK(bytes_arrived(error) == 0_B); });
    CHECK(fills == 1);
}
