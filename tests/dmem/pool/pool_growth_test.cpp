// SPDX-License-Identifier: Apache-2.0
//
// How a pool grows, what it gives back first, and what it says when it cannot grow.
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "neuronbook/base/describe.hpp"
#include "neuronbook/dmem/pool.hpp"
#include "support/catch.hpp"
#include "support/log_lines.hpp"
#include "support/one_pool.hpp"

using namespace neuronbook;
using namespace neuronbook::literals;
using test::OnePool;

namespace {

/// Chunks one after the other, without end and without memory.
struct EndlessDriver {
    Result<Chunk> allocate(HostDeviceId, const ChunkRequest& ask) {
        ++calls;
        if (slow) std::this_thread::sleep_for(std::chrono::milliseconds(50));
        const std::uint64_t at = next.fetch_add(ask.size.count());
        return Chunk{ChunkHandle{at + 1}, DeviceAddress{at}, ask.size, ask.location, ask.hbm};
    }
    Result<void> free(HostDeviceId, const Chunk&) { return {}; }
    [[nodiscard]] bool usable() const noexcept { return true; }

    std::atomic<std::uint64_t> next{4096};
    std::atomic<int> calls{0};
    bool slow = false;
};

struct EndlessPool {
    using Memory = Pool<GlobalTag, EndlessDriver, PoolTraits<Ledger, std::mutex, FixedGrowth>>;

    EndlessDriver driver;
    std::shared_ptr<Ledger> ledger = std::make_shared<Ledger>(
        HostDeviceId{3}, MemoryOptions{.events = 0, .report_out_of_memory = false}, 2);
    Memory pool{driver,
                HostDeviceId{3},
                PhysicalCore{DeviceIndex{0}, CoreIndex{5}},
                *geometry_of(Architecture::Cayman),
                ledger,
                {},
                nullptr,
                {Bytes{4096}}};
};

} // namespace

TEST_CASE("A23: a pool out of memory gives back what it caches of that HBM, and asks once more",
          "[dmem][pool][A23]") {
    OnePool memory({}, 1_MiB); // of room on each HBM
    std::optional<Block> blocks[4];
    for (auto& block : blocks) block = memory.make(256 * 1024);
    auto elsewhere = *memory.pool.allocate({.size = 1_B, .hbm = 0});
    (void)elsewhere.reset();
    REQUIRE(memory.driver.requests.size() == 5);
    SECTION("then it fits") {
        for (auto& block : blocks) block.reset();
        CHECK(memory.pool.statistics(2).free == 1_MiB);
        const auto block = memory.pool.allocate({.size = 1'000'000_B});
        REQUIRE(block);
        CHECK(memory.driver.requests.size() == 7); // refused, four given back, met
        CHECK(memory.driver.frees == 4);
        CHECK(memory.driver.requests[6].size == Bytes{1'003'520}); // whole pages of it
        CHECK(memory.pool.statistics(0).reserved == 256_KiB);
    }
    SECTION("or it is told, after exactly one more try") {
        blocks[1].reset();
        const auto refused = memory.pool.allocate({.size = 512_KiB});
        REQUIRE_FALSE(refused);
        CHECK(memory.driver.requests.size() == 7);
        CHECK(memory.driver.frees == 1);
        CHECK(refused.error().status == Status::Resource);
        CHECK(refused.error().detail == Detail::OutOfDeviceMemory);
        CHECK(refused.error().asked == 524288);
        CHECK(refused.error().hbm == 2);
    }
    SECTION("with nothing to give back the driver is not asked again for the same") {
        CHECK_FALSE(memory.pool.allocate({.size = 512_KiB}));
        CHECK(memory.driver.requests.size() == 6);
        CHECK(memory.driver.frees == 0);
    }
    SECTION("with nothing to give back it is asked for less than the policy wants") {
        blocks[3].reset();
        memory.pool.trim();
        auto narrow = *memory.pool.allocate({.size = 128_KiB, .hbm = 2}); // a chunk of 256 KiB
        memory.driver.fail_nth(
            1,
            {.status = Status::Resource, .detail = Detail::OutOfDeviceMemory, .os_error = ENOMEM});
        auto wide = memory.pool.allocate({.size = 200_KiB, .hbm = 1});
        REQUIRE(wide);
        CHECK(memory.driver.requests.back().size == 200_KiB);
    }
    CHECK(memory.balanced());
}

TEST_CASE("A23: what counts against a pool's limits is what the driver took, not what was asked",
          "[dmem][pool][A23]") {
    OnePool memory({.budget = 512_KiB});
    const auto block = memory.make(1);
    CHECK(memory.ledger->used_on_channel(2) == 256_KiB);
    auto cached = memory.make(256 * 1024);
    (void)cached.reset();
    const auto larger = memory.pool.allocate({.size = 100_KiB, .hbm = 1});
    REQUIRE(larger); // the cached chunk of another HBM made room in the budget
    CHECK(memory.pool.statistics(1).reserved == 100_KiB);
    CHECK(memory.pool.statistics(2).reserved == 256_KiB);
}

TEST_CASE("B01: an empty pool serves its maximum, whatever it had reserved before",
          "[dmem][pool][B01]") {
    OnePool memory({.maximum = 1_MiB});
    SECTION("with a quarter of it reserved first") {
        REQUIRE(memory.pool.reserve(256_KiB));
        CHECK(memory.pool.statistics(2).free == 256_KiB);
        const auto all = memory.pool.allocate({.size = 1_MiB});
        REQUIRE(all);
        CHECK(memory.pool.statistics(2).reserved == 1_MiB);
        CHECK(memory.pool.statistics(2).chunks == 1);
    }
    SECTION("with nothing reserved") {
        REQUIRE(memory.pool.allocate({.size = 1_MiB}));
        CHECK(memory.driver.requests.size() == 1);
    }
    SECTION("and with a block in the way it says what is there in one piece") {
        REQUIRE(memory.pool.reserve(256_KiB));
        const auto held = memory.make(56 * 1024);
        const auto refused = memory.pool.allocate({.size = 1_MiB});
        REQUIRE_FALSE(refused);
        CHECK(refused.error().detail == Detail::PoolFull);
        CHECK(refused.error().largest == 204800);
        CHECK(memory.pool.allocate({.size = Bytes{204800}}));
        CHECK(memory.pool.allocate({.size = 768_KiB}));
    }
    CHECK(memory.pool.allocate({.size = 1_MiB, .hbm = 0})); // the limit is each HBM's
    CHECK_FALSE(memory.pool.allocate({.size = Bytes{1048577}, .hbm = 0}));
    CHECK(memory.balanced());
}

TEST_CASE("B03: what two queues gave back is one range before memory counts as short",
          "[dmem][pool][B03]") {
    OnePool memory({.maximum = 256_KiB});
    WorkQueue first, second;
    std::vector<Block> blocks;
    for (int i = 0; i < 8; ++i) blocks.push_back(memory.make(32 * 1024));
    CHECK_FALSE(memory.pool.allocate({.size = 1_B}));
    for (int i = 0; i < 8; ++i)
        REQUIRE(memory.pool.free_after(std::move(blocks[static_cast<std::size_t>(i)]),
                                       i % 2 == 0 ? first : second, 1));
    CHECK(memory.pool.statistics(2).waiting == 256_KiB);
    CHECK(memory.pool.statistics(2).waiting_blocks == 8);
    first.reach(1);
    // Half of it is free, but no two neighbours.
    CHECK_FALSE(memory.pool.allocate({.size = 64_KiB}));
    CHECK(memory.pool.statistics(2).largest_free == 32_KiB);
    second.reach(1);
    const auto all = memory.pool.allocate({.size = 256_KiB});
    REQUIRE(all);
    CHECK(memory.driver.requests.size() == 1);
    CHECK(memory.balanced());
}

TEST_CASE("B04: a full pool tells its capacity, what it has reserved, and its largest free block",
          "[dmem][pool][B04]") {
    OnePool memory({.maximum = 512_KiB});
    WorkQueue queue;
    auto a = memory.make(100 * 1024), wall = memory.make(512), b = memory.make(60 * 1024);
    auto late = memory.make(256 * 1024);
    (void)a.reset();
    REQUIRE(memory.pool.free_after(std::move(late), queue, 9));
    const auto refused = memory.pool.allocate({.size = 150_KiB, .usage = Usage::Tensor});
    REQUIRE_FALSE(refused);
    const Error& error = refused.error();
    CHECK(error.status == Status::Resource);
    CHECK(error.detail == Detail::PoolFull);
    CHECK(error.asked == 153600);
    CHECK(error.value == 524288);
    CHECK(error.limit == 524288);
    CHECK(error.free == 262144 - 512 - 60 * 1024);
    CHECK(error.largest == 102400);
    CHECK(error.free_blocks == 2);
    CHECK(error.others == 262144);
    CHECK(error.cause == FailureCause::Fragmentation);
    CHECK(error.device == 3);
    CHECK(error.hbm == 2);
    const std::string text = describe(error);
    INFO(text);
    for (const char* part : {"150.000KB wanted", "reserved 512.000KB and may reserve 512.000KB",
                             "the largest block 100.000KB of 2", "256.000KB wait"})
        CHECK(text.find(part) != std::string::npos);
    queue.reach(9);
    CHECK(memory.pool.allocate({.size = 150_KiB}));
    CHECK(memory.balanced());
}

TEST_CASE("the driver's refusal is reported with what the pool has", "[dmem][pool]") {
    OnePool memory({}, 256_KiB, {});
    test::LogLines log(LogLevel::Error);
    const auto held = memory.make(100 * 1024);
    CHECK(memory.pool.allocate({.size = 1_MiB}).error().detail == Detail::OutOfDeviceMemory);
    REQUIRE_FALSE(log.lines.empty());
    const auto& last = log.lines.back().second;
    CHECK(last.find("262144 bytes reserved there: 102400 used, 0 waiting") != std::string::npos);
    CHECK(last.find("159744 free in 1 blocks, the largest of 159744") != std::string::npos);
}

TEST_CASE("the user's function may free blocks of the pool, and is asked once", "[dmem][pool]") {
    struct Cache {
        std::optional<Block> block;
        int asked = 0;
        Error seen;
    } cache;
    MemoryOptions options{.report_out_of_memory = false};
    options.context = &cache;
    options.on_out_of_memory = [](void* context, const Error& error) {
        auto& mine = *static_cast<Cache*>(context);
        mine.seen = error;
        mine.block.reset();
        return ++mine.asked == 1;
    };
    OnePool memory({.maximum = 256_KiB}, Bytes{1u << 30}, options);
    cache.block = memory.make(200 * 1024);
    const auto block = memory.pool.allocate({.size = 200_KiB});
    REQUIRE(block);
    CHECK(cache.asked == 1);
    CHECK(cache.seen.detail == Detail::PoolFull);
    CHECK(memory.driver.requests.size() == 1);
    CHECK_FALSE(memory.pool.allocate({.size = 200_KiB}));
    CHECK(cache.asked == 2);
}

TEST_CASE("policies: doubling up to a bound, a step, a chunk a request", "[dmem][pool]") {
    const DoublingGrowth doubling{.first = 4_MiB, .most = 64_MiB, .host = 1_MiB};
    const auto device = MemoryLocation::Device;
    CHECK(doubling.next(1_B, 0_B, device) == 4_MiB);
    CHECK(doubling.next(1_B, 4_MiB, device) == 4_MiB);
    CHECK(doubling.next(1_B, 8_MiB, device) == 8_MiB);
    CHECK(doubling.next(1_B, 1_GiB, device) == 64_MiB);
    CHECK(doubling.next(100_MiB, 1_GiB, device) == 100_MiB);
    CHECK(doubling.next(1_B, 8_MiB, MemoryLocation::Host) == 1_MiB);
    CHECK(FixedGrowth{}.next(5_B, 1_GiB, device) == 5_B);
    CHECK(FixedGrowth{1_MiB}.next(5_B, 1_GiB, device) == 1_MiB);
}

TEST_CASE("a chunk for a large alignment begins where the block does", "[dmem][pool]") {
    OnePool memory;
    const auto block = *memory.pool.allocate({.size = 300_KiB, .alignment = 1_MiB});
    CHECK(memory.driver.requests[0].size == 300_KiB);
    CHECK(memory.driver.requests[0].alignment == 1_MiB);
    CHECK(block.address().value() % 1048576 == 0);
    CHECK(block.align_offset() == 0_B);
}

TEST_CASE("trimming keeps what is asked, and what holds a block", "[dmem][pool]") {
    OnePool memory;
    for (int i = 0; i < 4; ++i) REQUIRE(memory.pool.reserve(256_KiB));
    const auto block = memory.make(1);
    CHECK(memory.pool.trim(768_KiB) == 256_KiB);
    CHECK(memory.pool.statistics(2).reserved == 768_KiB);
    CHECK(memory.pool.trim() == 512_KiB);
    CHECK(memory.pool.statistics(2).reserved == 256_KiB);
    CHECK(memory.pool.trim() == 0_B);
    CHECK(memory.pool.statistics(2).growths == 4);
    CHECK(memory.pool.statistics(2).peak_reserved == 1_MiB);
    CHECK(block);
    CHECK(memory.balanced());
}

TEST_CASE("a chunk that the driver refuses to take back is lost, and said so", "[dmem][pool]") {
    OnePool memory;
    test::LogLines log(LogLevel::Quiet);
    REQUIRE(memory.pool.reserve(256_KiB));
    memory.driver.fail_nth(1, {.status = Status::Failure, .os_error = EINVAL});
    CHECK(memory.pool.trim() == 256_KiB);
    CHECK(memory.pool.lost().blocks == 1);
    CHECK(memory.pool.lost().charged == 256_KiB);
    CHECK(memory.pool.statistics().reserved == 0_B);
}

TEST_CASE("no two chunks are taken for one another, and one too many is refused with the number",
          "[dmem][pool]") {
    EndlessPool memory;
    std::vector<Block> held(65536);
    for (auto& block : held) block = *memory.pool.allocate({.size = 4096_B});
    const auto refused = memory.pool.allocate({.size = 4096_B});
    REQUIRE_FALSE(refused);
    CHECK(static_cast<int>(refused.error().status) == 4);
    CHECK(refused.error().detail == Detail::TooManyChunks);
    CHECK(refused.error().limit == 65536);
    CHECK(describe(refused.error()).find("65536") != std::string::npos);
    CHECK(memory.driver.calls == 65536);
    held[7].reset(); // its chunk may go, so another may come
    CHECK(memory.pool.allocate({.size = 8192_B}));
    CHECK(memory.pool.statistics().chunks == 65536);
}

TEST_CASE("two threads that are short of memory at once share the chunk that one brings",
          "[dmem][pool]") {
    EndlessPool memory;
    memory.driver.slow = true;
    std::atomic<int> ready{0};
    std::array<Block, 2> got;
    const auto take = [&](std::size_t i) {
        ++ready;
        while (ready != 2) std::this_thread::yield();
        got[i] = *memory.pool.allocate({.size = 512_B});
    };
    std::thread other(take, 1);
    take(0);
    other.join();
    CHECK(memory.driver.calls == 1);
    CHECK(memory.pool.statistics().chunks == 1);
    CHECK(got[0].address() != got[1].address());
}
