// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "neuronbook/dmem/block.hpp"
#include "support/catch.hpp"
#include "support/log_lines.hpp"
#include "support/one_core.hpp"

using namespace neuronbook;
using namespace neuronbook::literals;
using test::OneCore;

static_assert(std::is_nothrow_move_constructible_v<Block> && std::is_copy_constructible_v<Block>);
static_assert(sizeof(Block) == sizeof(void*));
static_assert(!std::is_copy_constructible_v<detail::BlockRecord> &&
              !std::is_move_constructible_v<detail::BlockRecord>);
static_assert(alignof(detail::BlockRecord) == 64 && sizeof(detail::BlockRecord) <= 256);

TEST_CASE("a block says all that is known of it", "[dmem][block]") {
    OneCore memory;
    const auto block = memory.model.allocate(
        {.size = 5000_B, .usage = Usage::InstrDve, .hbm = 1, .hint = "vector code"});
    REQUIRE(block);
    CHECK(*block);
    CHECK(block->requested() == 5000_B);
    CHECK(block->charged() == 8192_B);
    CHECK(block->address() == DeviceAddress{16777216});
    CHECK(block->location() == MemoryLocation::Device);
    CHECK(block->hbm() == 1);
    CHECK(block->usage() == Usage::InstrDve);
    CHECK(block->device() == HostDeviceId{3});
    CHECK(block->core() == PhysicalCore{DeviceIndex{0}, CoreIndex{5}});
    CHECK(block->hint() == "vector code");
    const auto chunk = block->chunk();
    REQUIRE(chunk);
    CHECK(chunk->handle == ChunkHandle{1});
    CHECK(chunk->size == 8192_B);
}

TEST_CASE("an empty handle is all zero and refuses to name a chunk", "[dmem][block]") {
    const Block empty;
    CHECK_FALSE(empty);
    CHECK(empty.requested() == 0_B);
    CHECK(empty.charged() == 0_B);
    CHECK(empty.address() == DeviceAddress{0});
    CHECK(empty.hint().empty());
    CHECK(empty.handles() == 0);
    const auto chunk = empty.chunk();
    REQUIRE_FALSE(chunk);
    CHECK(chunk.error().status == Status::InvalidHandle);
    CHECK(chunk.error().detail == Detail::UnknownHandle);
}

TEST_CASE("the count of handles has a cache line of its own", "[dmem][block]") {
    OneCore memory;
    const auto block = *memory.global.allocate({.size = 1_B});
    const auto* record = detail::BlockAccess::record(block);
    const auto at =
        reinterpret_cast<const char*>(&record->count) - reinterpret_cast<const char*>(record);
    CHECK(at % 64 == 0);
    CHECK(sizeof *record - static_cast<std::size_t>(at) == 64);
}

TEST_CASE("copies share the block, and the last one frees it", "[dmem][block]") {
    OneCore memory;
    auto first = *memory.global.allocate({.size = 1_B});
    Block second = first;
    CHECK(first == second);
    CHECK(first.handles() == 2);
    CHECK(memory.driver.outstanding() == 1);
    first = Block{};
    CHECK(memory.driver.outstanding() == 1);
    CHECK(second.handles() == 1);
    second = Block{};
    CHECK(memory.empty());
    CHECK(memory.driver.frees == 1);
}

TEST_CASE("moving a handle takes nothing from the count", "[dmem][block]") {
    OneCore memory;
    auto first = *memory.global.allocate({.size = 1_B});
    Block second = std::move(first);
    CHECK_FALSE(first); // NOLINT: a moved-from handle is empty
    CHECK(second.handles() == 1);
    Block& same = second;
    second = std::move(same);
    CHECK(second.handles() == 1);
    second = same;
    CHECK(second.handles() == 1);
    std::vector<Block> many(10, second);
    CHECK(second.handles() == 11);
    many.clear();
    CHECK(memory.driver.frees == 0);
}

TEST_CASE("freeing by hand answers, and empties the handle", "[dmem][block]") {
    OneCore memory;
    auto block = *memory.global.allocate({.size = 1_B});
    SECTION("the only handle frees") {
        REQUIRE(memory.global.free(std::move(block)));
        CHECK(memory.empty());
    }
    SECTION("one of two only drops") {
        const Block other = block;
        REQUIRE(memory.global.free(std::move(block)));
        CHECK(memory.driver.outstanding() == 1);
        CHECK(other.handles() == 1);
    }
    SECTION("the driver's refusal is the answer, and the bytes are lost") {
        test::LogLines log;
        memory.driver.fail_nth(1, {.status = Status::Failure, .os_error = 5});
        const auto said = memory.global.free(std::move(block));
        REQUIRE_FALSE(said);
        CHECK(said.error().os_error == 5);
        CHECK(memory.global.outstanding().blocks == 0);
        CHECK(memory.global.lost().blocks == 1);
        CHECK(memory.global.lost().charged == 4096_B);
        CHECK(memory.ledger.used_by_core(CoreIndex{5}) == 0_B);
        CHECK(memory.ledger.snapshot().lost_on_channel[2] == 4096);
        REQUIRE(log.lines.size() == 1);
        CHECK(log.lines[0].first == LogLevel::Error);
    }
    CHECK_FALSE(block); // NOLINT: free() leaves it empty
}

TEST_CASE("A20: what another allocator made is refused, and nothing moves", "[dmem][block][A20]") {
    test::LogLines log;
    OneCore memory;
    auto theirs = *memory.model.allocate({.size = 1_B, .usage = Usage::Weight});
    const auto before = memory.ledger.snapshot();
    const auto said = memory.global.free(std::move(theirs));
    REQUIRE_FALSE(said);
    CHECK(said.error().status == Status::InvalidHandle);
    CHECK(said.error().detail == Detail::Unmatched);
    CHECK(theirs); // NOLINT: refused, so it is still there
    CHECK(memory.driver.frees == 0);
    CHECK(memory.ledger.snapshot().by_core == before.by_core);
    CHECK(memory.ledger.used_on_channel(2) == 4096_B);
    CHECK(memory.model.outstanding().charged == 4096_B);
    CHECK(memory.global.outstanding().charged == 0_B);
    CHECK(memory.balanced());
    CHECK_FALSE(memory.global.owns(theirs));
    CHECK(memory.model.owns(theirs));
    CHECK_FALSE(memory.global.free(std::move(theirs)));
    CHECK(log.lines.size() == 1); // logged once
    CHECK(memory.model.free(std::move(theirs)));
}

TEST_CASE("A19: an empty handle is not freed, so neither is one a second time",
          "[dmem][block][A19]") {
    OneCore memory;
    auto block = *memory.global.allocate({.size = 1_B});
    REQUIRE(memory.global.free(std::move(block)));
    const auto said = memory.global.free(std::move(block)); // NOLINT: on purpose
    REQUIRE_FALSE(said);
    CHECK(said.error().status == Status::InvalidHandle);
    CHECK(said.error().detail == Detail::UnknownHandle);
    CHECK(memory.driver.frees == 1);
    CHECK(memory.empty());
}

TEST_CASE("a hint longer than its room is cut, and does not dangle", "[dmem][block]") {
    OneCore memory;
    Block block;
    {
        const std::string hint(200, 'h');
        block = *memory.global.allocate({.size = 1_B, .hint = hint});
    }
    CHECK(block.hint() == std::string(44, 'h') + "...");
}
