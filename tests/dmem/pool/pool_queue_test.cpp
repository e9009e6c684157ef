// SPDX-License-Identifier: Apache-2.0
//
// Blocks that are freed behind a queue's fence.
#include <cstdint>
#include <optional>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "neuronbook/dmem/pool.hpp"
#include "neuronbook/dmem/weak_list.hpp"
#include "support/catch.hpp"
#include "support/log_lines.hpp"
#include "support/one_pool.hpp"

using namespace neuronbook;
using namespace neuronbook::literals;
using test::OnePool;

TEST_CASE("a queue's points only rise, and its end is the end of its work", "[dmem][pool]") {
    OnePool memory;
    auto block = memory.make(512);
    {
        WorkQueue queue;
        CHECK(queue.reached() == 0);
        queue.reach(5);
        queue.reach(3);
        CHECK(queue.reached() == 5);
        REQUIRE(memory.pool.free_after(std::move(block), queue, 6));
        memory.pool.collect();
        CHECK(memory.pool.statistics(2).waiting == 512_B);
    }
    memory.pool.collect();
    CHECK(memory.pool.statistics(2).waiting == 0_B);
    CHECK(memory.pool.statistics(2).free == 256_KiB);
    CHECK(memory.balanced());
}

TEST_CASE("waiting bytes are neither used nor free, and nobody gets them", "[dmem][pool]") {
    OnePool memory({.maximum = 256_KiB});
    WorkQueue queue;
    auto block = memory.make(200 * 1024);
    const auto at = block.address();
    WeakList list;
    REQUIRE(list.append(block));
    REQUIRE(memory.pool.free_after(std::move(block), queue, 1));
    CHECK_FALSE(block);
    CHECK(list.count().blocks == 0);
    CHECK_FALSE(memory.pool.find(at));
    const auto now = memory.pool.statistics(2);
    CHECK(now.used == 0_B);
    CHECK(now.requested == 0_B);
    CHECK(now.waiting == 200_KiB);
    CHECK(now.waiting_blocks == 1);
    CHECK(now.free == 56_KiB);
    CHECK(memory.pool.outstanding().blocks == 0);
    CHECK_FALSE(memory.pool.allocate({.size = 57_KiB}));
    CHECK(memory.pool.trim() == 0_B);
    CHECK(memory.balanced());
    queue.reach(1);
    CHECK(memory.pool.trim() == 256_KiB);
    CHECK(memory.pool.statistics(2).waiting_blocks == 0);
}

TEST_CASE("a slow queue does not hold up another's blocks", "[dmem][pool]") {
    OnePool memory;
    WorkQueue slow, fast;
    auto a = memory.make(4096), b = memory.make(4096), c = memory.make(4096);
    REQUIRE(memory.pool.free_after(std::move(a), slow, 1)); // first in, and never done
    REQUIRE(memory.pool.free_after(std::move(b), fast, 1));
    REQUIRE(memory.pool.free_after(std::move(c), fast, 2));
    fast.reach(1);
    memory.pool.collect();
    CHECK(memory.pool.statistics(2).waiting == 8192_B);
    fast.reach(2);
    memory.pool.collect();
    CHECK(memory.pool.statistics(2).waiting == 4096_B);
    CHECK(memory.pool.statistics(2).waiting_blocks == 1);
}

TEST_CASE("points may come in any order, and one that is reached frees at once", "[dmem][pool]") {
    OnePool memory;
    WorkQueue queue;
    auto a = memory.make(512), b = memory.make(1024), c = memory.make(2048), d = memory.make(4096);
    REQUIRE(memory.pool.free_after(std::move(a), queue, 9));
    REQUIRE(memory.pool.free_after(std::move(b), queue, 3));
    REQUIRE(memory.pool.free_after(std::move(c), queue, 6));
    queue.reach(4);
    memory.pool.collect();
    CHECK(memory.pool.statistics(2).waiting == 2560_B);
    REQUIRE(memory.pool.free_after(std::move(d), queue, 4));
    CHECK(memory.pool.statistics(2).waiting == 2560_B);
    CHECK(memory.pool.statistics(2).used == 0_B);
    queue.reach(9);
    memory.pool.collect();
    CHECK(memory.pool.statistics(2).waiting == 0_B);
    CHECK(memory.pool.statistics(2).free_blocks == 1);
}

TEST_CASE("a block with a second handle is not freed behind a fence", "[dmem][pool]") {
    OnePool memory;
    WorkQueue queue;
    auto block = memory.make(512);
    auto other = std::optional(block);
    const auto refused = memory.pool.free_after(std::move(block), queue, 1);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().detail == Detail::StillShared);
    CHECK(refused.error().value == 2);
    CHECK(block);
    other.reset();
    CHECK(memory.pool.free_after(std::move(block), queue, 1));
    CHECK(memory.pool.free_after(std::move(block), queue, 1).error().detail ==
          Detail::UnknownHandle);
}

TEST_CASE("a pool that ends does not wait for queues, and says so", "[dmem][pool]") {
    test::LogLines log;
    WorkQueue queue;
    OnePool memory;
    auto block = memory.make(3000);
    REQUIRE(memory.pool.free_after(std::move(block), queue, 1));
    memory.pool.close();
    CHECK(memory.driver.outstanding() == 0);
    REQUIRE(log.lines.size() == 1);
    CHECK(log.lines[0].second == "a pool ends while 3072 bytes wait for a queue");
    queue.reach(1);
}

TEST_CASE("in a child of fork() a pool's blocks are refused, whoever held its lock",
          "[dmem][pool]") {
    OnePool memory;
    auto kept = memory.make(512), freed = memory.make(512), later = memory.make(512);
    WorkQueue queue;
    WeakList index;
    const pid_t child = ::fork();
    if (child == 0) {
        int wrong = 0;
        wrong += index.append(kept) ? 1 : 0;
        wrong += kept.reset().has_value();
        const auto said = memory.pool.free(std::move(freed));
        wrong += said || said.error().status != Status::Uninitialized;
        const auto after = memory.pool.free_after(std::move(later), queue, 5);
        wrong += after || after.error().status != Status::Uninitialized;
        ::_exit(wrong);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(memory.pool.outstanding().blocks == 3);
    CHECK(memory.balanced());
}
