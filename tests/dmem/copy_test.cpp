// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "neuronbook/dmem/allocator.hpp"
#include "support/archetypes.hpp"
#include "support/catch.hpp"
#include "support/log_lines.hpp"
#include "support/one_core.hpp"

using namespace neuronbook;
using namespace neuronbook::literals;
using test::OneCore;

namespace {

template <class A>
concept Writes = requires(A allocator, const Block& block, std::span<const std::byte> from) {
    allocator.write(block, Bytes{0}, from);
};
static_assert(Writes<Allocator<GlobalTag, test::CopyArchetype>>);
static_assert(!Writes<Allocator<GlobalTag, test::MemoryArchetype>>, "asks for CopyOps");

std::vector<std::byte> bytes(std::size_t size, unsigned first = 1) {
    std::vector<std::byte> made(size);
    for (std::size_t i = 0; i < size; ++i) made[i] = static_cast<std::byte>(first + i);
    return made;
}

} // namespace

TEST_CASE("what is written is read back, at its offset", "[dmem][copy]") {
    OneCore memory;
    const auto block = *memory.global.allocate({.size = 100_B});
    REQUIRE(memory.global.write(block, 0_B, bytes(100)));
    REQUIRE(memory.global.write(block, 90_B, bytes(10, 200)));
    std::vector<std::byte> back(100);
    REQUIRE(memory.global.read(block, 0_B, back));
    CHECK(back[89] == std::byte{90});
    CHECK(back[90] == std::byte{200});
    CHECK(back[99] == std::byte{209});
    std::array<std::byte, 1> one{};
    REQUIRE(memory.global.read(block, 99_B, one));
    CHECK(one[0] == std::byte{209});
}

TEST_CASE("the requested size is the bound, not the charged one", "[dmem][copy]") {
    OneCore memory;
    const auto block = *memory.global.allocate({.size = 100_B});
    const auto calls = memory.driver.calls;
    std::vector<std::byte> back(101);
    const auto said = memory.global.read(block, 0_B, back);
    REQUIRE_FALSE(said);
    CHECK(said.error().status == Status::Invalid);
    CHECK(said.error().detail == Detail::OutOfBounds);
    CHECK(said.error().asked == 101);
    CHECK(said.error().limit == 100);
    CHECK_FALSE(memory.global.write(block, 100_B, bytes(1)));
    CHECK(memory.driver.calls == calls);
}

TEST_CASE("F07: an offset close to 2^64 is out of bounds", "[dmem][copy]") {
    OneCore memory;
    const auto block = *memory.global.allocate({.size = 100_B});
    const auto calls = memory.driver.calls;
    std::array<std::byte, 32> some{};
    for (const std::uint64_t offset : {0xFFFF'FFFF'FFFF'FFF0u, 0xFFFF'FFFF'FFFF'FFFFu}) {
        CHECK_FALSE(memory.global.read(block, Bytes{offset}, some));
        CHECK_FALSE(memory.global.write(block, Bytes{offset}, some));
    }
    CHECK(memory.driver.calls == calls);
}

TEST_CASE("nothing to copy makes no call, but is checked", "[dmem][copy]") {
    OneCore memory;
    const auto block = *memory.global.allocate({.size = 100_B});
    const auto calls = memory.driver.calls;
    CHECK(memory.global.write(block, 100_B, {}));
    CHECK(memory.global.read(block, 0_B, {}));
    CHECK_FALSE(memory.global.read(block, 101_B, {}));
    CHECK(memory.driver.calls == calls);
}

TEST_CASE("copies need a handle of this allocator", "[dmem][copy]") {
    OneCore memory;
    const auto theirs = *memory.model.allocate({.size = 100_B});
    const auto said = memory.global.write(theirs, 0_B, bytes(1));
    REQUIRE_FALSE(said);
    CHECK(said.error().status == Status::InvalidHandle);
    CHECK(said.error().operation == Operation::Copy);
    CHECK_FALSE(memory.global.write(Block{}, 0_B, bytes(1)));
}

TEST_CASE("the driver's refusal of a copy is passed on", "[dmem][copy]") {
    OneCore memory;
    const auto block = *memory.global.allocate({.size = 100_B});
    memory.driver.fail_nth(1, {.status = Status::Timeout, .detail = Detail::TimedOut});
    const auto said = memory.global.write(block, 0_B, bytes(1));
    REQUIRE_FALSE(said);
    CHECK(said.error().status == Status::Timeout);
}
