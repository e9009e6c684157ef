// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "neuronbook/dmem/allocator.hpp"
#include "neuronbook/dmem/weak_list.hpp"
#include "support/catch.hpp"
#include "support/log_lines.hpp"
#include "support/one_core.hpp"

using namespace neuronbook;
using namespace neuronbook::literals;
using test::FakeAllocator;
using test::OneCore;

TEST_CASE("a weak list takes no reference, and a freed block leaves it", "[dmem][weak]") {
    OneCore memory;
    WeakList list;
    auto first = *memory.model.allocate({.size = 5000_B, .usage = Usage::Weight});
    auto second = *memory.global.allocate({.size = 1_B, .usage = Usage::Tensor});
    REQUIRE(list.append(first));
    REQUIRE(list.append(second));
    CHECK(first.handles() == 1);
    CHECK(list.count().blocks == 2);
    CHECK(list.count().requested == 5001_B);
    CHECK(list.count().charged == 12288_B);
    std::vector<Usage> seen;
    list.for_each([&](const Chunk&, Usage usage, Bytes) { seen.push_back(usage); });
    CHECK(seen == std::vector<Usage>{Usage::Weight, Usage::Tensor});
    first.reset();
    CHECK(list.count().blocks == 1);
    CHECK(memory.driver.outstanding() == 1);
    second.reset();
    CHECK(list.count().blocks == 0);
    CHECK(memory.empty());
}

TEST_CASE("clearing or ending a list frees nothing, and a block may be in many", "[dmem][weak]") {
    OneCore memory;
    auto block = *memory.model.allocate({.size = 1_B, .usage = Usage::Weight});
    std::optional<WeakList> one(std::in_place);
    WeakList two;
    REQUIRE(one->append(block));
    REQUIRE(two.append(block));
    REQUIRE(two.append(block));
    CHECK(two.count().blocks == 2);
    one.reset();
    CHECK(memory.driver.outstanding() == 1);
    WeakList moved = std::move(two);
    CHECK(moved.count().blocks == 2);
    CHECK(two.count().blocks == 0); // NOLINT: a moved-from list is empty
    moved.clear();
    CHECK(memory.driver.outstanding() == 1);
    for (int i = 0; i < 100; ++i) { // lines that are cleared do not pile up
        REQUIRE(moved.append(block));
        moved.clear();
    }
    REQUIRE(moved.append(block));
    CHECK(moved.count().blocks == 1);
    block.reset();
    CHECK(moved.count().blocks == 0);
    CHECK(memory.empty());
}

TEST_CASE("what is no block, or not any more, is not entered", "[dmem][weak]") {
    OneCore memory;
    test::LogLines log(LogLevel::Quiet);
    WeakList list;
    CHECK(list.append(Block{}).error().detail == Detail::UnknownHandle);
    Block left;
    {
        FakeAllocator<ModelTag> ending(memory.driver, HostDeviceId{3}, memory.core, memory.geometry,
                                       memory.shared);
        left = *ending.allocate({.size = 1_B, .usage = Usage::Weight});
        REQUIRE(list.append(left));
    }
    CHECK(list.count().blocks == 0);
    CHECK(list.append(left).error().status == Status::Closed);
}

TEST_CASE("lists are read and cleared while their blocks are freed on other threads",
          "[dmem][weak]") {
    OneCore memory;
    WeakList list;
    std::atomic<int> going{3};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 300; ++i) {
                auto block = *memory.global.allocate({.size = 1_B});
                (void)list.append(block);
                if (t == 0 && i % 50 == 0) list.clear();
            }
            --going;
        });
    while (going != 0)
        list.for_each([](const Chunk& chunk, Usage, Bytes requested) {
            if (chunk.size != 4096_B || requested != 1_B) FAIL("a line of a freed block");
        });
    for (auto& thread : threads) thread.join();
    CHECK(list.count().blocks == 0);
    CHECK(memory.empty());
}
