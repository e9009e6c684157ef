// SPDX-License-Identifier: Apache-2.0
// What happens when allocator, handles and driver end in another order than the usual one.
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "neuronbook/dmem/allocator.hpp"
#include "support/catch.hpp"
#include "support/log_lines.hpp"
#include "support/one_core.hpp"

using namespace neuronbook;
using namespace neuronbook::literals;
using test::FakeAllocator;
using test::OneCore;

namespace {

/// Does something once, when a block is out of the books and not yet back at the driver.
struct BetweenBooksAndDriver {
    std::function<void()>* what;
    void allocated(const MemoryEvent&) const noexcept {}
    void freed(const MemoryEvent&) const noexcept {
        if (const auto once = std::exchange(*what, nullptr)) once();
    }
    void refused(const Error&) const noexcept {}
};

template <AllocTag Tag>
std::unique_ptr<FakeAllocator<Tag>> another(OneCore& memory) {
    return std::make_unique<FakeAllocator<Tag>>(memory.driver, HostDeviceId{3}, memory.core,
                                                memory.geometry, memory.shared);
}

} // namespace

TEST_CASE("E4: an allocator that ends frees what still has a handle, and names it",
          "[dmem][lifetime]") {
    OneCore memory;
    test::LogLines log;
    auto ending = another<ModelTag>(memory);
    const auto kept = *ending->allocate({.size = 5000_B, .usage = Usage::Weight, .hint = "w0"});
    const auto copy = kept;
    const auto other = *ending->allocate({.size = 1_B, .usage = Usage::InstrPe});
    const auto global = *memory.global.allocate({.size = 1_B, .usage = Usage::Tensor});
    ending.reset();

    CHECK(memory.driver.outstanding() == 1);
    CHECK(memory.ledger.used_by_core(CoreIndex{5}, Usage::Weight) == 0_B);
    CHECK(memory.ledger.used_by_core(CoreIndex{5}) == 4096_B);
    CHECK(global);
    REQUIRE(log.lines.size() == 2);
    for (const auto& [level, line] : log.lines) CHECK(level == LogLevel::Warn);
    for (const char* part : {"MODEL", "device 3", "core 5", "8192", "weights", "w0"})
        CHECK(log.lines[0].second.find(part) != std::string::npos);
    CHECK(log.lines[1].second.find("tensor_instructions") != std::string::npos);

    for (const auto* block : {&kept, &copy, &other}) {
        CHECK_FALSE(*block);
        CHECK(block->requested() == 0_B);
        CHECK(block->address() == DeviceAddress{0});
        const auto chunk = block->chunk();
        REQUIRE_FALSE(chunk);
        CHECK(chunk.error().status == Status::Closed);
        CHECK(chunk.error().detail == Detail::Closed);
    }
}

TEST_CASE("a block has left list and ledger, and every lock is free, when the driver frees it",
          "[dmem][lifetime]") {
    OneCore memory;
    test::LogLines log(LogLevel::Quiet);
    struct Seen {
        OneCore* memory;
        FakeAllocator<ModelTag>* allocator;
        int calls = 0;
    } seen{&memory, nullptr};
    auto ending = another<ModelTag>(memory);
    seen.allocator = ending.get();
    memory.driver.observer = &seen;
    memory.driver.before_free = [](void* observer) {
        auto& self = *static_cast<Seen*>(observer);
        ++self.calls;
        CHECK(self.allocator->outstanding().blocks == 0);
        CHECK(self.memory->ledger.used_by_core(CoreIndex{5}) == 0_B);
        CHECK(self.allocator->allocate({.usage = Usage::Weight}).error().detail ==
              Detail::ZeroSize);
    };
    REQUIRE(ending->free(*ending->allocate({.size = 1_B, .usage = Usage::Weight})));
    const auto left = *ending->allocate({.size = 1_B, .usage = Usage::Weight});
    ending.reset();
    CHECK_FALSE(left);
    CHECK(seen.calls == 2);
}

TEST_CASE("handles dropped after their allocator ended free nothing a second time",
          "[dmem][lifetime]") {
    OneCore memory;
    test::LogLines log(LogLevel::Quiet);
    std::vector<Block> handles;
    {
        auto ending = another<GlobalTag>(memory);
        for (int i = 0; i < 5; ++i) handles.push_back(*ending->allocate({.size = 1_B}));
        handles.push_back(handles.front());
    }
    const auto reused = *memory.global.allocate({.size = 1_B}); // takes a handle that was freed
    CHECK(memory.driver.frees == 5);
    CHECK_FALSE(memory.global.free(std::move(handles.back())));
    handles.clear();
    CHECK(memory.driver.frees == 5);
    CHECK(reused);
    CHECK(memory.balanced());
}

TEST_CASE("an allocator without survivors ends without a word", "[dmem][lifetime]") {
    OneCore memory;
    test::LogLines log(LogLevel::Trace);
    auto ending = another<GlobalTag>(memory);
    REQUIRE(ending->free(*ending->allocate({.size = 1_B})));
    ending.reset();
    CHECK(log.lines.empty());
}

TEST_CASE("D04: with a driver that may not be spoken to, nothing is called and nothing freed",
          "[dmem][lifetime]") {
    OneCore memory;
    test::LogLines log(LogLevel::Trace);
    auto ending = another<GlobalTag>(memory);
    auto first = *ending->allocate({.size = 1_B});
    auto second = *ending->allocate({.size = 1_B});
    auto third = *ending->allocate({.size = 1_B});
    const auto calls = memory.driver.calls;
    memory.driver.up = false;

    SECTION("by a handle's destructor") { first = Block{}; }
    SECTION("by a free") {
        const auto said = ending->free(std::move(first));
        REQUIRE_FALSE(said);
        CHECK(said.error().status == Status::Uninitialized);
    }
    SECTION("by the allocator's destructor") {
        ending.reset();
        CHECK_FALSE(second);
        third = Block{};
    }
    SECTION("by handles that go after the allocator and the driver's return") {
        ending.reset();
        memory.driver.up = true;
        first = second = third = Block{};
    }
    CHECK(memory.driver.calls == calls);
    CHECK(memory.ledger.used_by_core(CoreIndex{5}) == Bytes{3 * 4096});
    CHECK(log.lines.empty());
}

TEST_CASE("A22: eight threads allocate and free: no unknown handle, no duplicate, no rest",
          "[dmem][lifetime]") {
    OneCore memory;
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (unsigned seed = 0; seed < 8; ++seed)
        threads.emplace_back([&, seed] {
            std::mt19937 random(seed);
            std::vector<Block> held;
            for (int step = 0; step < 500; ++step) {
                if (held.size() < 8 && random() % 2) {
                    auto block = memory.global.allocate({.size = Bytes{1 + random() % 9000}});
                    if (block)
                        held.push_back(*std::move(block));
                    else
                        ++wrong;
                } else if (!held.empty()) {
                    if (!memory.global.free(std::move(held.back()))) ++wrong;
                    held.pop_back();
                }
            }
        });
    for (auto& thread : threads) thread.join();
    CHECK(wrong == 0);
    CHECK(memory.driver.misuses == 0);
    CHECK(memory.empty());
    CHECK(memory.ledger.used_on_channel(2) == 0_B);
}

TEST_CASE("A22: a block made while another is on its way to the driver is not taken for that one",
          "[dmem][lifetime][A22]") {
    using Watched = BasicLedger<BetweenBooksAndDriver>;
    OneCore memory;
    std::function<void()> between;
    const auto ledger = std::make_shared<Watched>(HostDeviceId{3}, MemoryOptions{}, 2,
                                                  BetweenBooksAndDriver{&between});
    Allocator<GlobalTag, test::FakeDriver, Watched> allocator(memory.driver, HostDeviceId{3},
                                                              memory.core, memory.geometry, ledger);
    auto old = *allocator.allocate({.size = 1_B, .hint = "old"});
    Block young;
    between = [&] {
        for (int i = 0; i < 40; ++i) // more than there are spare records
            young = *allocator.allocate({.size = 5000_B, .hint = "young"});
    };
    REQUIRE(allocator.free(std::move(old)));
    CHECK(memory.driver.misuses == 0);
    CHECK(allocator.lost().blocks == 0);
    CHECK(young.hint() == "young");
    CHECK(allocator.outstanding().charged == 8192_B);
    CHECK(ledger->used_on_channel(2) == 8192_B);
    CHECK(memory.driver.outstanding_bytes() == 8192_B);
    CHECK(allocator.free(std::move(young)));
    CHECK(memory.driver.outstanding() == 0);
    CHECK(memory.driver.misuses == 0);
}

TEST_CASE("handles dropped by other threads while the allocator ends are freed once",
          "[dmem][lifetime]") {
    test::LogLines log(LogLevel::Quiet);
    for (int round = 0; round < 50; ++round) {
        OneCore memory;
        auto ending = another<ModelTag>(memory);
        std::vector<std::vector<Block>> parts(3);
        for (int i = 0; i < 60; ++i)
            parts[static_cast<std::size_t>(i) % 3].push_back(*ending->allocate({.size = 1_B}));
        std::atomic<int> ready{0};
        std::vector<std::thread> threads;
        for (auto& part : parts)
            threads.emplace_back([&] {
                ++ready;
                while (ready < 4) {}
                part.clear();
            });
        ++ready;
        while (ready < 4) {}
        ending.reset();
        // Whoever freed what: once the allocator is gone no call is under way any more.
        const auto frees = memory.driver.frees;
        for (auto& thread : threads) thread.join();
        CHECK(frees == 60);
        CHECK(memory.driver.frees == 60);
        CHECK(memory.empty());
    }
}
