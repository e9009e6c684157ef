// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "neuronbook/neuronbook.hpp"
#include "support/book.hpp"
#include "support/log_lines.hpp"

using namespace neuronbook;
using namespace neuronbook::literals;
using test::Book;
using test::core;
using test::SimMachine;
using test::up;

namespace {

auto& allocator_of(Book& book) { return **book.allocator(core(0, 1)); }

std::vector<std::byte> bytes(std::size_t size, int seed) {
    std::vector<std::byte> all(size);
    for (std::size_t i = 0; i < size; ++i)
        all[i] = static_cast<std::byte>(static_cast<std::size_t>(seed) + i * 31 + i / 251);
    return all;
}

} // namespace

TEST_CASE("a block is mapped when somebody asks, once, and unmapped before it is freed",
          "[runtime][map]") {
    SimMachine machine("trn1.2xlarge", GENERATE("2.24.7", "2.26.5", "2.30.2"));
    auto book = up(machine);
    auto& allocator = allocator_of(*book);
    auto block = *allocator.allocate({.size = 70'000_B, .usage = Usage::Tensor});
    const auto mapped = allocator.map(block);
    REQUIRE(mapped);
    CHECK(mapped->size() == 70'000);
    CHECK(allocator.map(block)->data() == mapped->data());
    CHECK(allocator.survivors()[0].mapped);
    const auto pattern = bytes(70'000, 3);
    REQUIRE(allocator.write(block, 0_B, pattern));
    CHECK(std::memcmp(mapped->data(), pattern.data(), pattern.size()) == 0);
    (*mapped)[69'999] = std::byte{0x5A};
    std::byte last{};
    REQUIRE(allocator.read(block, 69'999_B, std::span(&last, 1)));
    CHECK(last == std::byte{0x5A});
    const auto unmapped = machine.counts.of(PortCall::Unmap);
    block.reset();
    CHECK(machine.counts.of(PortCall::Unmap) == unmapped + 1);
    CHECK(machine.kernel->would_have_crashed().empty());
}

TEST_CASE("copies between blocks: on one HBM, across HBMs, and to itself", "[runtime][copy][F06]") {
    SimMachine machine("trn2.3xlarge", GENERATE("2.24.7", "2.26.5", "2.30.2"));
    auto book = up(machine);
    auto& allocator = allocator_of(*book);
    const auto pattern = bytes(300'001, 7);
    auto from = *allocator.allocate({.size = 300'001_B, .usage = Usage::Tensor});
    REQUIRE(allocator.write(from, 0_B, pattern));
    for (std::uint32_t hbm = 0; hbm < 4; ++hbm) {
        auto to = *allocator.allocate({.size = 300'002_B, .usage = Usage::Tensor, .hbm = hbm});
        REQUIRE(allocator.copy(from, 0_B, to, 1_B, 300'001_B));
        std::vector<std::byte> back(300'001);
        REQUIRE(allocator.read(to, 1_B, back));
        CHECK(back == pattern);
        const auto past = allocator.copy(from, 1_B, to, 0_B, 300'001_B);
        REQUIRE_FALSE(past);
        CHECK(static_cast<int>(past.error().status) == 2);
        CHECK(past.error().detail == Detail::OutOfBounds);
    }
    const auto overlap = allocator.copy(from, 0_B, from, 10_B, 100_B);
    REQUIRE_FALSE(overlap);
    CHECK(overlap.error().detail == Detail::RangesOverlap);
    REQUIRE(allocator.fill(from, 1_B, 299'999_B, std::byte{9}));
    std::array<std::byte, 3> edge{};
    REQUIRE(allocator.read(from, 0_B, std::span(edge).first(2)));
    CHECK(edge[0] == pattern[0]);
    CHECK(edge[1] == std::byte{9});
}

TEST_CASE("F07: an offset near 2^64 is outside for every operation, and nothing is touched",
          "[runtime][copy][F07]") {
    SimMachine machine("trn1.2xlarge", "2.24.7");
    auto book = up(machine);
    auto& allocator = allocator_of(*book);
    const auto block = *allocator.allocate({.size = 64_B, .usage = Usage::Tensor});
    const auto other = *allocator.allocate({.size = 64_B, .usage = Usage::Tensor});
    std::array<std::byte, 32> buffer{};
    const Bytes far{~std::uint64_t{0} - 15};
    using Allocator = std::remove_reference_t<decltype(allocator)>;
    const std::array<Allocator::Write, 1> writes{{{block, far, buffer}}};
    const std::array<Allocator::Read, 1> reads{{{block, far, buffer}}};
    const auto calls = machine.counts.total();
    const std::array<Result<void>, 7> said{
        allocator.write(block, far, buffer),
        allocator.read(block, far, buffer),
        allocator.fill(block, far, 32_B, std::byte{1}),
        allocator.copy(block, far, other, 0_B, 32_B),
        allocator.copy(block, 0_B, other, far, 32_B),
        allocator.write_batch(writes),
        allocator.read_batch(reads),
    };
    for (const auto& one : said) {
        REQUIRE_FALSE(one);
        CHECK(static_cast<int>(one.error().status) == 2);
        CHECK(one.error().value == ~std::uint64_t{0} - 15);
    }
    CHECK_FALSE(allocator.share(block, far, 32_B));
    CHECK(machine.counts.total() == calls);
}

TEST_CASE("F01, F03, F04: an export keeps its block, tells the offset, and gives its descriptor "
          "back",
          "[runtime][share][F01][F03][F04]") {
    SimMachine machine("trn1.2xlarge", "2.26.5");
    auto book = up(machine);
    auto& allocator = allocator_of(*book);
    auto block = *allocator.allocate({.size = 50'000_B, .usage = Usage::Tensor});
    (void)allocator.map(block);
    const auto before = machine.kernel->census();
    for (int i = 0; i < 30; ++i) {
        auto shared = allocator.share(block, Bytes{5'000}, Bytes{100});
        REQUIRE(shared);
        CHECK(shared->offset() == 904_B); // 5000 is 904 into its page
        CHECK(shared->descriptor() >= 0);
        CHECK(allocator.survivors()[0].exported == 1);
        REQUIRE(shared->close());
        CHECK(shared->descriptor() == -1);
    }
    CHECK(machine.kernel->census() == before);
    auto kept = allocator.share(block, 0_B, 50'000_B);
    REQUIRE(kept);
    block.reset();
    CHECK(allocator.outstanding().blocks == 1); // freeing waits for the export
    REQUIRE(kept->close());
    CHECK(allocator.outstanding().blocks == 0);
    CHECK(allocator.share(Block{}, 0_B, 1_B).error().detail == Detail::UnknownHandle);
}

TEST_CASE("new memory is full of zeros where that was asked for, and of old bytes elsewhere",
          "[runtime][zero]") {
    SimMachine machine("trn1.2xlarge", GENERATE("2.24.7", "2.30.2"));
    auto options = test::kQuiet;
    options.memory.zero = GENERATE(true, false);
    auto book = up(machine, options);
    auto& allocator = allocator_of(*book);
    for (const auto location : {MemoryLocation::Device, MemoryLocation::Host}) {
        const auto block =
            *allocator.allocate({.size = 10'000_B, .usage = Usage::Tensor, .location = location});
        std::vector<std::byte> seen(10'000, std::byte{1});
        REQUIRE(allocator.read(block, 0_B, seen));
        const auto expected = options.memory.zero ? std::byte{0} : std::byte{0xA5}; // poison
        CHECK(seen.front() == expected);
        CHECK(seen.back() == expected);
    }
}
