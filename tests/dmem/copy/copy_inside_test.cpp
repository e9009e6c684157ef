// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "dmem/copy/patterns.hpp"
#include "neuronbook/base/describe.hpp"
#include "neuronbook/dmem/copy/copy_across.hpp"
#include "support/catch.hpp"
#include "support/fake_driver.hpp"
#include "support/sim_machine.hpp"

using namespace neuronbook;
using namespace neuronbook::literals;
using test::FakeDriver;

namespace {

constexpr HostDeviceId kDevice{0};
constexpr CoreIndex kCore{0};
constexpr std::uint64_t kSize = (2u << 20) + 1;
constexpr std::uint64_t kAt = 4097;

/// Copies kSize bytes from an odd offset to another one; what lies around must stay.
template <class D, class Copy>
void moves(D& driver, const Chunk& from, const Chunk& to, std::uint32_t to_device, Copy copy) {
    const auto held = test::pattern(from.size.count(), 1);
    auto expected = test::pattern(to.size.count(), 2);
    REQUIRE(driver.write(kDevice, from, 0_B, held));
    REQUIRE(driver.write(HostDeviceId{to_device}, to, 0_B, expected));
    REQUIRE(copy(from, Bytes{kAt}, to, 3_B, Bytes{kSize}));
    std::copy_n(held.begin() + kAt, kSize, expected.begin() + 3);
    CHECK(test::contents(driver, to, to_device) == expected);
    CHECK(test::contents(driver, from) == held);
}

} // namespace

TEST_CASE("F06: blocks of one device are copied on an HBM by one call, across HBMs by the host",
          "[dmem][copy_inside][F06]") {
    FakeDriver driver;
    CopyEngine engine(driver, kDevice, kCore);
    const auto copy = [&](auto&&... all) { return engine.copy(all...); };
    const auto from = test::chunk_of(driver, kSize + 8192);
    moves(driver, from, test::chunk_of(driver, kSize + 8192), 0, copy);
    moves(driver, from, test::chunk_of(driver, kSize + 8192, 0, MemoryLocation::Host), 0, copy);
    CHECK(engine.bounce_size() == 0_B);
    moves(driver, from, test::chunk_of(driver, kSize + 8192, 1), 0, copy);
    CHECK(engine.bounce_size() == 2_MiB);
}

TEST_CASE("F06: blocks are copied on every simulated kernel, across HBMs and devices",
          "[dmem][copy_inside][sim][F06]") {
    const auto machine_name = GENERATE(as<const char*>{}, "trn1.32xlarge", "trn2.48xlarge");
    const auto version = GENERATE(as<const char*>{}, "2.24.7", "2.26.5", "2.30.2");
    test::SimMachine machine(machine_name, version);
    auto driver = test::open_driver(machine);
    REQUIRE(driver.open_device(HostDeviceId{1}));
    CopyEngine<test::SimDriver> engine(driver, kDevice, kCore);
    CopyEngine<test::SimDriver, StagedPlan> there(driver, HostDeviceId{1}, kCore);
    const auto copy = [&](auto&&... all) { return engine.copy(all...); };
    const auto from = test::chunk_of(driver, kSize + 8192);
    for (const std::uint32_t hbm : {0u, 1u})
        moves(driver, from, test::chunk_of(driver, kSize + 8192, hbm), 0, copy);
    const auto away = test::chunk_of(driver, kSize + 8192, 1, MemoryLocation::Device, 1);
    moves(driver, from, away, 1,
          [&](const Chunk& a, Bytes at, const Chunk& b, Bytes to, Bytes size) {
              return copy_across(engine, a, at, there, b, to, size);
          });
    REQUIRE(engine.fill(from, 5_B, Bytes{kSize}, std::byte{0xC3}));
    const auto filled = test::contents(driver, from);
    CHECK(filled[4] != std::byte{0xC3});
    CHECK(std::count(filled.begin() + 5, filled.begin() + 5 + kSize, std::byte{0xC3}) == kSize);
    CHECK(machine.kernel->would_have_crashed().empty());
}

TEST_CASE("F06: ranges that overlap are refused, and both are named", "[dmem][copy_inside][F06]") {
    FakeDriver driver;
    CopyEngine engine(driver, kDevice, kCore);
    const auto chunk = test::chunk_of(driver, 8192);
    const auto calls = driver.calls;
    for (const auto& [from, to] : {std::pair{100_B, 131_B}, {131_B, 100_B}, {100_B, 100_B}}) {
        const auto said = engine.copy(chunk, from, chunk, to, 32_B);
        REQUIRE_FALSE(said);
        CHECK(said.error().status == Status::Invalid);
        CHECK(said.error().detail == Detail::RangesOverlap);
        CHECK(said.error().value == from.count());
        CHECK(said.error().limit == to.count());
        CHECK(said.error().asked == 32);
        const auto text = describe(said.error());
        CHECK(text.find(std::to_string(from.count())) != std::string::npos);
        CHECK(text.find(std::to_string(to.count())) != std::string::npos);
    }
    CHECK(engine.copy(chunk, 5_B, chunk, 5_B, 0_B));
    CHECK(driver.calls == calls);
    CHECK(engine.copy(chunk, 100_B, chunk, 132_B, 32_B)); // side by side
    const auto past = engine.copy(chunk, 0_B, chunk, 8191_B, 2_B);
    CHECK(past.error().status == Status::Invalid);
    CHECK(past.error().text.view() == "destination");
}

TEST_CASE("a stop across devices tells the bytes of the whole copy", "[dmem][copy_inside]") {
    FakeDriver driver;
    CopyEngine here(driver, kDevice, kCore);
    CopyEngine there(driver, HostDeviceId{1}, kCore);
    const auto from = test::chunk_of(driver, 20 << 20);
    const auto to = test::chunk_of(driver, 20 << 20, 0, MemoryLocation::Device, 1);
    const auto stopped = copy_across(here, from, 0_B, there, to, 0_B, 20_MiB,
                                     [](Bytes, Bytes) { return AfterProgress::Stop; });
    CHECK(bytes_arrived(stopped.error()) == 16_MiB);
    driver.fail_nth(6, {.status = Status::Timeout, .detail = Detail::TimedOut});
    const auto hung = copy_across(here, from, 0_B, there, to, 0_B, 20_MiB);
    REQUIRE_FALSE(hung);
    CHECK(bytes_arrived(hung.error()) == 2_MiB);
    CHECK(hung.error().asked == 20 << 20);
    CHECK(hung.error().text.view() == "2097152 of 20971520 bytes arrived");
}

TEST_CASE("a batch stops at its first failure and says which piece it was", "[dmem][copy_inside]") {
    FakeDriver driver;
    CopyEngine engine(driver, kDevice, kCore);
    const auto chunk = test::chunk_of(driver, 8192);
    const auto bytes = test::pattern(300);
    const WritePiece writes[] = {
        {chunk, 1_B, {bytes.data(), 100}}, {chunk, 5000_B, {}}, {chunk, 4000_B, bytes}};
    REQUIRE(engine.write_batch(writes));
    std::vector<std::byte> a(100), b(300);
    const ReadPiece reads[] = {{chunk, 1_B, a}, {chunk, 4000_B, b}};
    REQUIRE(engine.read_batch(reads));
    CHECK(std::equal(a.begin(), a.end(), bytes.begin()));
    CHECK(b == bytes);
    driver.fail_nth(2, {.status = Status::Timeout, .detail = Detail::TimedOut});
    const auto said = engine.write_batch(writes);
    REQUIRE_FALSE(said);
    CHECK(said.error().value == 2); // the second has no bytes
    CHECK(engine.read_batch({}));
}
