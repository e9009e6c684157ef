// SPDX-License-Identifier: Apache-2.0
#include "neuronbook/dmem/pool.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "neuronbook/dmem/allocator_register.hpp"
#include "neuronbook/dmem/weak_list.hpp"
#include "support/archetypes.hpp"
#include "support/catch.hpp"
#include "support/log_lines.hpp"
#include "support/one_core.hpp"
#include "support/one_pool.hpp"

using namespace neuronbook;
using namespace neuronbook::literals;
using test::OnePool;

namespace {

struct GrowthArchetype {
    explicit GrowthArchetype(int) {}
    [[nodiscard]] Bytes next(Bytes needed, Bytes, MemoryLocation) const noexcept { return needed; }
};
struct NoNext {};
struct MutexArchetype {
    MutexArchetype() {}
    MutexArchetype(const MutexArchetype&) = delete;
    void lock() {}
    void unlock() {}
};
struct NoUnlock {
    void lock() {}
};

} // namespace

static_assert(PoolGrowth<GrowthArchetype> && !PoolGrowth<NoNext>);
static_assert(PoolMutex<MutexArchetype> && !PoolMutex<NoUnlock>);

// A concept does not stop a body from using more than it lists: this does.
template class neuronbook::Pool<GlobalTag, test::MemoryArchetype,
                                PoolTraits<test::LedgerArchetype, MutexArchetype, GrowthArchetype>>;
template class neuronbook::Pool<ModelTag, test::CopyArchetype, PoolTraits<NullLedger, NoLock>>;

static_assert(!std::is_copy_constructible_v<Pool<GlobalTag>>);
static_assert(!std::is_move_constructible_v<Pool<GlobalTag>>);

TEST_CASE("many blocks take one call of the driver, and one entry of the ledger", "[dmem][pool]") {
    OnePool memory;
    std::vector<Block> blocks;
    for (int i = 0; i < 100; ++i) blocks.push_back(memory.make(1000));
    CHECK(memory.driver.requests.size() == 1);
    CHECK(memory.driver.requests[0].size == 256_KiB);
    CHECK(memory.driver.requests[0].hbm == 2);
    CHECK(memory.driver.requests[0].category == 9);
    CHECK(memory.ledger->used_by_core(CoreIndex{5}, Usage::Tensor) == 256_KiB);
    CHECK(memory.pool.outstanding().blocks == 100);
    CHECK(memory.pool.outstanding().requested == 100'000_B);
    CHECK(memory.pool.outstanding().charged == 102'400_B);
    const auto now = memory.pool.statistics(2);
    CHECK(now.reserved == 262'144_B);
    CHECK(now.used == 102'400_B);
    CHECK(now.free == 159'744_B);
    CHECK(now.waiting == 0_B);
    CHECK(now.chunks == 1);
    CHECK(memory.balanced());
    blocks.clear();
    CHECK(memory.pool.statistics(2).free == 262'144_B);
    CHECK(memory.pool.statistics(2).free_blocks == 1);
    CHECK(memory.pool.statistics(2).largest_free == 262'144_B);
    CHECK(memory.pool.statistics(2).peak_used == 102'400_B);
    CHECK(memory.driver.frees == 0);
    CHECK(memory.pool.trim() == 256_KiB);
    CHECK(memory.driver.outstanding() == 0);
    CHECK(memory.balanced());
}

TEST_CASE("a pool's block says what any block says", "[dmem][pool]") {
    OnePool memory;
    const auto first = memory.make(1);
    const auto block = *memory.pool.allocate({.size = 1000_B, .usage = Usage::Weight, .hint = "w"});
    CHECK(block.requested() == 1000_B);
    CHECK(block.charged() == 1024_B);
    CHECK(block.usage() == Usage::Weight);
    CHECK(block.hint() == "w");
    CHECK(block.hbm() == 2);
    CHECK(block.device() == HostDeviceId{3});
    CHECK(block.core() == memory.core);
    CHECK(block.handles() == 1);
    CHECK(block.location() == MemoryLocation::Device);
    const auto chunk = *block.chunk();
    CHECK(chunk.size == 256_KiB);
    CHECK(chunk.address == first.chunk()->address);
    CHECK(block.address().value() == chunk.address.value() + block.align_offset().count());
    CHECK(block.address() != first.address());
    CHECK(memory.pool.owns(block));
}

TEST_CASE("an address is a multiple of 512, or of the power of two that was asked for",
          "[dmem][pool]") {
    OnePool memory;
    std::vector<Block> blocks;
    for (const std::uint64_t alignment : {0u, 1u, 64u, 512u, 1024u, 4096u, 65536u, 1u << 20})
        for (int i = 0; i < 3; ++i) {
            auto block = memory.pool.allocate({.size = 700_B, .alignment = Bytes{alignment}});
            REQUIRE(block);
            CHECK(block->address().value() % (alignment < 512 ? 512 : alignment) == 0);
            blocks.push_back(*std::move(block));
        }
    CHECK(memory.pool.allocate({.size = 1_B, .alignment = 3_B}).error().detail ==
          Detail::BadAlignment);
    CHECK(memory.balanced());
}

TEST_CASE("bytes of neighbours do not touch each other", "[dmem][pool]") {
    OnePool memory;
    const auto a = memory.make(512), b = memory.make(512), c = memory.make(512);
    std::array<std::byte, 512> ones{}, in{};
    ones.fill(std::byte{1});
    REQUIRE(memory.pool.fill(a, 0_B, 512_B, std::byte{0xA}));
    REQUIRE(memory.pool.fill(c, 0_B, 512_B, std::byte{0xC}));
    REQUIRE(memory.pool.write(b, 0_B, ones));
    REQUIRE(memory.pool.read(a, 0_B, in));
    CHECK(in == [] {
        std::array<std::byte, 512> all{};
        all.fill(std::byte{0xA});
        return all;
    }());
    REQUIRE(memory.pool.read(c, 0_B, in));
    CHECK(in[0] == std::byte{0xC});
    CHECK(in[511] == std::byte{0xC});
    REQUIRE(memory.pool.copy(b, 0_B, c, 1_B, 511_B));
    REQUIRE(memory.pool.read(c, 0_B, in));
    CHECK(in[0] == std::byte{0xC});
    CHECK(in[511] == std::byte{1});
    CHECK(memory.pool.write(b, 1_B, ones).error().detail == Detail::OutOfBounds);
    CHECK(memory.pool.read(b, 512_B, std::span(in).first(1)).error().limit == 512);
}

TEST_CASE("a chunk is mapped once for all of its blocks, and unmapped before it goes",
          "[dmem][pool]") {
    OnePool memory;
    auto a = memory.make(512), b = memory.make(512);
    const auto at_a = *memory.pool.map(a), at_b = *memory.pool.map(b);
    CHECK(memory.driver.mapped() == 1);
    CHECK(at_a.size() == 512);
    CHECK(at_b.data() - at_a.data() == static_cast<std::ptrdiff_t>(b.address().value()) -
                                           static_cast<std::ptrdiff_t>(a.address().value()));
    at_b[5] = std::byte{9};
    std::array<std::byte, 1> in{};
    REQUIRE(memory.pool.read(b, 5_B, in));
    CHECK(in[0] == std::byte{9});
    CHECK(memory.pool.survivors().at(0).mapped);
    (void)a.reset();
    (void)b.reset();
    memory.pool.trim();
    CHECK(memory.driver.mapped() == 0);
    CHECK(memory.driver.misuses == 0);
}

TEST_CASE("each HBM and the host has chunks of its own", "[dmem][pool]") {
    OnePool memory;
    auto here = memory.make(512);
    auto there = *memory.pool.allocate({.size = 512_B, .hbm = 0});
    auto host = *memory.pool.allocate(
        {.size = 512_B, .usage = Usage::Notification, .location = MemoryLocation::Host});
    CHECK(memory.pool.statistics(2).used == 512_B);
    CHECK(memory.pool.statistics(0).used == 512_B);
    CHECK(memory.pool.statistics(1).reserved == 0_B);
    CHECK(memory.pool.host_statistics().used == 512_B);
    CHECK(memory.pool.statistics().chunks == 3);
    CHECK(memory.pool.statistics().used == 1536_B);
    CHECK(memory.balanced());
    auto moved = memory.pool.relocate(std::move(here), MemoryLocation::Host);
    REQUIRE(moved);
    CHECK_FALSE(here);
    CHECK(moved->location() == MemoryLocation::Host);
    CHECK(memory.pool.statistics(2).used == 0_B);
    CHECK(memory.pool.host_statistics().blocks == 2);
}

TEST_CASE("what a pool refuses itself it refuses as the allocator does", "[dmem][pool]") {
    OnePool memory;
    test::OneCore other;
    const auto same = [&](const AllocationRequest& request) {
        const auto a = memory.pool.allocate(request), b = other.global.allocate(request);
        REQUIRE_FALSE(a);
        REQUIRE_FALSE(b);
        CHECK(a.error().status == b.error().status);
        CHECK(a.error().detail == b.error().detail);
        CHECK(a.error().core == 5);
        CHECK(a.error().asked == request.size.count());
    };
    same({.size = 0_B});
    same({.size = 1_B, .alignment = 5_B});
    same({.size = 1_B, .hbm = 9});
    same({.size = 1_B, .usage = Usage::Max});
    same({.size = Bytes{0x6'0000'0001u}});
    CHECK(memory.driver.calls == 0);
    auto mine = memory.make(1);
    auto foreign = *other.global.allocate({.size = 1_B});
    CHECK(memory.pool.free(std::move(foreign)).error().detail == Detail::Unmatched);
    CHECK(other.global.free(std::move(mine)).error().detail == Detail::Unmatched);
    CHECK(memory.pool.free(Block{}).error().detail == Detail::UnknownHandle);
    CHECK(memory.pool.free(std::move(mine)));
}

TEST_CASE("what is left at the end is told, its handles are empty, and the chunks go back",
          "[dmem][pool]") {
    struct Told {
        std::vector<Survivor> rows;
    } told;
    MemoryOptions options;
    options.on_leak = OnLeak::Call;
    options.context = &told;
    options.leaked = [](void* to, const Survivor& row) {
        static_cast<Told*>(to)->rows.push_back(row);
    };
    OnePool memory({.name = {77, Hint("kv")}}, Bytes{1u << 30}, options);
    auto first = *memory.pool.allocate({.size = 1000_B, .usage = Usage::Weight, .hint = "left"});
    const auto second = first;
    auto other = *memory.pool.allocate({.size = 600_B, .hbm = 0});
    CHECK(memory.pool.survivors().size() == 2);
    CHECK(memory.pool.survivors()[0].hint.view() == "left");
    WeakList list;
    REQUIRE(list.append(first));
    memory.pool.close();
    REQUIRE(told.rows.size() == 2);
    const auto& row = told.rows[0].hint.view() == "left" ? told.rows[0] : told.rows[1];
    CHECK(row.requested == 1000_B);
    CHECK(row.charged == 1024_B);
    CHECK(row.usage == Usage::Weight);
    CHECK(row.owner == 77);
    CHECK(row.handles == 2);
    CHECK(row.tier == "GLOBAL");
    CHECK(list.count().blocks == 0);
    CHECK_FALSE(first);
    CHECK_FALSE(other);
    CHECK(first.chunk().error().status == Status::Closed);
    CHECK(memory.driver.outstanding() == 0);
    CHECK(memory.ledger->used_on_channel(2) == 0_B);
    CHECK(memory.pool.allocate({.size = 1_B}).error().status == Status::Closed);
    CHECK(memory.pool.reserve(1_B).error().status == Status::Closed);
    CHECK(first.reset()); // one of two
    memory.pool.close();
}

TEST_CASE("a register ends pools as it ends allocators", "[dmem][pool]") {
    test::OneCore core;
    using Registered = Pool<ModelTag, test::FakeDriver>;
    AllocatorRegister<Registered> pools;
    auto pool = pools.make(core.driver, HostDeviceId{3}, core.core, core.geometry, core.shared,
                           PoolOptions{}, nullptr, DoublingGrowth{.first = 64_KiB});
    auto block = *pool->allocate({.size = 1_B});
    test::LogLines log;
    pools.end(true);
    CHECK_FALSE(block);
    CHECK_FALSE(pool->is_open());
    CHECK(core.driver.outstanding() == 0);
    REQUIRE(log.lines.size() == 1);
    CHECK(log.lines[0].second.find("MODEL allocator") != std::string::npos);
}

TEST_CASE("new memory is filled with zeros where that is asked for", "[dmem][pool]") {
    OnePool memory({}, Bytes{1u << 30}, {.zero = true});
    std::array<std::byte, 700> bytes{};
    auto first = memory.make(700);
    REQUIRE(memory.pool.fill(first, 0_B, 700_B, std::byte{5}));
    const auto at = first.address();
    (void)first.reset();
    auto again = memory.make(700);
    REQUIRE(again.address() == at);
    REQUIRE(memory.pool.read(again, 0_B, bytes));
    CHECK(bytes == std::array<std::byte, 700>{});
    SECTION("and when that fails, the block is free again") {
        const auto before = memory.pool.statistics();
        memory.driver.fail_nth(1, {.status = Status::Failure, .os_error = 5});
        CHECK(memory.pool.allocate({.size = 100_B}).error().os_error == 5);
        CHECK(memory.pool.statistics().used == before.used);
        CHECK(memory.balanced());
    }
}

TEST_CASE("a driver that may not be spoken to refuses, and handles are dropped without it",
          "[dmem][pool]") {
    OnePool memory;
    auto block = memory.make(1);
    memory.driver.up = false;
    const auto calls = memory.driver.calls;
    CHECK(block.reset());
    CHECK(memory.driver.calls == calls);
    CHECK_FALSE(memory.pool.usable());
    CHECK(memory.pool.trim() == 0_B);
    memory.driver.up = true;
    CHECK(memory.pool.trim() == 256_KiB);
}

TEST_CASE("one thread's pool needs no lock, and counts the same", "[dmem][pool]") {
    OnePool<NoLock> memory;
    auto a = memory.make(512), b = memory.make(512);
    CHECK(memory.pool.statistics(2).used == 1024_B);
    (void)a.reset();
    CHECK(memory.pool.statistics(2).used == 512_B);
    CHECK(memory.balanced());
}
