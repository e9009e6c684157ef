// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "dmem/copy/patterns.hpp"
#include "neuronbook/dmem/copy/copy_engine.hpp"
#include "support/archetypes.hpp"
#include "support/catch.hpp"
#include "support/fake_driver.hpp"
#include "support/sim_machine.hpp"

using namespace neuronbook;
using namespace neuronbook::literals;
using test::FakeDriver;

template class neuronbook::CopyEngine<test::CopyArchetype>; // asks for nothing more

namespace {

constexpr HostDeviceId kDevice{0};
constexpr CoreIndex kCore{0};

constexpr std::uint64_t kSizes[] = {1,        0x3FFF,   0x4000,   0x4001,   0xFFFFF,
                                    0x100000, 0x100001, 0x1FFFFF, 0x200000, 0x200001};

/// Writes and reads at an odd offset; what lies around must stay.
template <class Plan, class D>
void round_trips(D& driver, std::span<const std::uint64_t> sizes) {
    CopyEngine<D, Plan> engine(driver, kDevice, kCore);
    for (const auto size : sizes) {
        INFO("size " << size);
        const auto chunk = test::chunk_of(driver, size + 8192);
        const auto around = test::pattern(chunk.size.count(), 1);
        REQUIRE(driver.write(kDevice, chunk, 0_B, around));
        constexpr std::uint64_t odd = 4099;
        const auto sent = test::pattern(size, size);
        REQUIRE(engine.write(chunk, Bytes{odd}, sent));
        auto expected = around;
        std::copy(sent.begin(), sent.end(), expected.begin() + odd);
        CHECK(test::contents(driver, chunk) == expected);
        std::vector<std::byte> back(size);
        REQUIRE(engine.read(chunk, Bytes{odd}, back));
        CHECK(back == sent);
        REQUIRE(driver.free(kDevice, chunk));
    }
}

} // namespace

TEST_CASE("bytes come back the same by every plan at every boundary", "[dmem][copy_engine]") {
    FakeDriver driver;
    driver.aside = GENERATE(false, true);
    round_trips<PlanByDriver>(driver, kSizes);
    round_trips<StagedPlan>(driver, kSizes);
    round_trips<OneBufferPlan>(driver, kSizes);
    round_trips<PipelinedPlan>(driver, kSizes);
    round_trips<SynchronousPlan>(driver, kSizes);
    constexpr std::uint64_t large[] = {(64u << 20) + 3};
    round_trips<StagedPlan>(driver, large);
    CHECK(driver.outstanding() == 0);
    CHECK(driver.mapped() == 0);
    CHECK(driver.misuses == 0);
    CHECK(driver.in_flight == 0);
    CHECK(driver.most_in_flight == 2);
}

TEST_CASE("bytes come back the same from every simulated kernel", "[dmem][copy_engine][sim]") {
    const auto machine_name = GENERATE(as<const char*>{}, "trn1.2xlarge", "trn2.48xlarge");
    const auto version = GENERATE(as<const char*>{}, "2.24.7", "2.26.5", "2.30.2");
    INFO(machine_name << " " << version);
    test::SimMachine machine(machine_name, version);
    {
        auto driver = test::open_driver(machine);
        round_trips<PlanByDriver>(driver, kSizes);
        round_trips<StagedPlan>(driver, kSizes);
        round_trips<OneBufferPlan>(driver, kSizes);
        constexpr std::uint64_t large[] = {(64u << 20) + 3};
        round_trips<StagedPlan>(driver, large);
    }
    CHECK(machine.kernel->census() == machine.baseline);
    CHECK(machine.kernel->would_have_crashed().empty());
}

TEST_CASE("the bounce buffer comes with the first staged copy", "[dmem][copy_engine]") {
    FakeDriver driver;
    driver.aside = true;
    const auto device = test::chunk_of(driver, 1 << 20);
    const auto host = test::chunk_of(driver, 1 << 20, 0, MemoryLocation::Host);
    CopyEngine engine(driver, kDevice, kCore);
    REQUIRE(engine.write(host, 0_B, test::pattern(1 << 20)));
    REQUIRE(engine.write(device, 0_B, {}));
    CHECK(engine.bounce_size() == 0_B);
    CHECK(engine.schedule(64_MiB).mode == CopyMode::DoubleBuffered);
    REQUIRE(engine.write(device, 0_B, test::pattern(1 << 20)));
    CHECK(engine.bounce_size() == 2_MiB);
    engine.close();
    CHECK(driver.outstanding() == 2);
    CHECK(engine.write(device, 0_B, test::pattern(5)).error().status == Status::Closed);
    CHECK(driver.misuses == 0);
}

TEST_CASE("F07: a copy's offset close to 2^64 is out of bounds before any call", "[dmem][F07]") {
    FakeDriver driver;
    driver.aside = GENERATE(false, true);
    const auto chunk = test::chunk_of(driver, 4096);
    const auto other = test::chunk_of(driver, 4096);
    CopyEngine engine(driver, kDevice, kCore);
    std::array<std::byte, 32> some{};
    const auto calls = driver.calls;
    const Bytes far{0xFFFF'FFFF'FFFF'FFF0};
    const WritePiece writes[] = {{other, 0_B, some}, {chunk, far, some}};
    const ReadPiece reads[] = {{chunk, far, some}};
    const auto check = [&](const Result<void>& said) {
        REQUIRE_FALSE(said);
        CHECK(said.error().status == Status::Invalid);
        CHECK(said.error().detail == Detail::OutOfBounds);
        CHECK(said.error().value == 0xFFFF'FFFF'FFFF'FFF0);
        CHECK(said.error().asked == 32);
        CHECK(said.error().limit == 4096);
    };
    check(engine.read(chunk, far, some));
    check(engine.write(chunk, far, some));
    check(engine.fill(chunk, far, 32_B, std::byte{1}));
    check(engine.copy(chunk, far, other, 0_B, 32_B));
    check(engine.copy(other, 0_B, chunk, far, 32_B));
    check(engine.write_batch(writes));
    CHECK(engine.write_batch(writes).error().text.view() == "piece 1 of 2");
    check(engine.read_batch(reads));
    const std::span<const std::byte> null{static_cast<const std::byte*>(nullptr), 5};
    CHECK(engine.write(chunk, 0_B, null).error().detail == Detail::NullPointer);
    CHECK(driver.calls == calls);
}

TEST_CASE("a long copy tells how far it is and may be stopped", "[dmem][copy_engine]") {
    FakeDriver driver;
    driver.aside = GENERATE(false, true);
    constexpr std::uint64_t size = (40u << 20) + 5;
    const auto chunk = test::chunk_of(driver, size);
    CopyEngine engine(driver, kDevice, kCore);
    const auto sent = test::pattern(size);
    std::vector<std::uint64_t> told;
    REQUIRE(engine.write(chunk, 0_B, sent, [&](Bytes done, Bytes total) {
        CHECK(total.count() == size);
        CHECK(driver.in_flight == 0);
        // nothing is held: the same thread may copy
        std::byte one{};
        CHECK(engine.read(chunk, 0_B, {&one, 1}));
        CHECK(one == sent[0]);
        told.push_back(done.count());
        return done == total ? AfterProgress::Stop : AfterProgress::GoOn;
    }));
    CHECK(told == std::vector<std::uint64_t>{16u << 20, 32u << 20, size});

    std::vector<std::byte> back(size);
    const auto stopped =
        engine.read(chunk, 0_B, back, [](Bytes, Bytes) { return AfterProgress::Stop; });
    REQUIRE_FALSE(stopped);
    CHECK(stopped.error().status == Status::Failure);
    CHECK(stopped.error().detail == Detail::Stopped);
    CHECK(bytes_arrived(stopped.error()) == 16_MiB);
    CHECK(stopped.error().asked == size);
    CHECK(std::equal(back.begin(), back.begin() + (16 << 20), sent.begin()));
    CHECK(driver.in_flight == 0);
}

TEST_CASE("a driver that may not be spoken to refuses, and nobody waits", "[dmem][copy_engine]") {
    test::SimMachine machine;
    auto driver = test::open_driver(machine);
    const auto chunk = test::chunk_of(driver, 1 << 20);
    CopyEngine<test::SimDriver, StagedPlan> engine(driver, kDevice, kCore);
    REQUIRE(engine.write(chunk, 0_B, test::pattern(1 << 20)));
    driver.disconnect();
    const auto calls = machine.counts.total();
    CHECK(engine.write(chunk, 0_B, test::pattern(1 << 20)).error().status == Status::Uninitialized);
    CHECK_FALSE(engine.copy(chunk, 0_B, chunk, 8_B, 8_B));
    engine.close();
    CHECK(machine.counts.total() == calls);
}
