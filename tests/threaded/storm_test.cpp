// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include <array>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "neuronbook/neuronbook.hpp"
#include "support/book.hpp"
#include "threaded/together.hpp"

using namespace neuronbook;
using test::Book;
using test::kThreads;
using test::Overlaps;
using test::SimMachine;
using test::together;
using test::up;

TEST_CASE("A22, G04: eight threads that allocate and free lose no handle and share none",
          "[threaded][A22][G04]") {
    SimMachine machine("trn2.3xlarge", "2.24.7");
    auto book = up(machine);
    std::mutex mutex;
    std::set<std::uint64_t> live; // addresses held by anybody, per HBM of one device
    std::atomic<int> failures{0};
    std::atomic<int> duplicates{0};
    Overlaps overlaps;
    together(kThreads, [&](int thread) {
        const PhysicalCore core{DeviceIndex{0}, CoreIndex{static_cast<std::uint32_t>(thread % 3)}};
        auto& allocator = **book->allocator(core);
        for (int round = 0; round < 300; ++round) {
            std::array<Block, 8> blocks;
            for (std::size_t i = 0; i < blocks.size(); ++i) {
                const Overlaps::Inside inside(overlaps);
                auto block = allocator.allocate(
                    {.size = Bytes{4096u * (1 + i * 37 % 300)}, .usage = Usage::Tensor});
                if (!block) {
                    failures.fetch_add(1);
                    continue;
                }
                blocks[i] = *std::move(block);
                const std::lock_guard lock(mutex);
                if (!live.insert(blocks[i].address().value()).second) duplicates.fetch_add(1);
            }
            for (auto& block : blocks) {
                {
                    const std::lock_guard lock(mutex);
                    live.erase(block.address().value());
                }
                const Overlaps::Inside inside(overlaps);
                if (!allocator.free(std::move(block))) failures.fetch_add(1);
            }
        }
    });
    CHECK(failures == 0);
    CHECK(duplicates == 0);
    std::printf("allocate and free storm: %d of %d operations overlapped\n", overlaps.seen(),
                kThreads * 300 * 16);
    for (std::uint32_t c = 0; c < 3; ++c)
        CHECK(book->memory({DeviceIndex{0}, CoreIndex{c}})->used == Bytes{0});
    CHECK(machine.kernel->census().user_memory() == Holdings{});
}

TEST_CASE("resolving goes on while others allocate", "[threaded]") {
    SimMachine machine("trn2.48xlarge", "2.26.5");
    auto book = up(machine);
    const auto& tree = book->tree();
    std::atomic<int> wrong{0};
    together(4, [&](int thread) {
        for (std::uint32_t i = 0; i < 2000; ++i) {
            const PhysicalCore core{DeviceIndex{i % 16}, CoreIndex{(i / 16) % 8}};
            const auto found = tree.resolve(core);
            if (!found || found->core->id() != core) wrong.fetch_add(1);
            if (thread == 0 && !(*book->allocator(core))->allocate({.size = Bytes{4096}}))
                wrong.fetch_add(1);
        }
    });
    CHECK(wrong == 0);
}

TEST_CASE("one block's handles are copied and dropped by many threads", "[threaded]") {
    SimMachine machine;
    auto book = up(machine);
    auto& allocator = **book->allocator({DeviceIndex{0}, CoreIndex{0}});
    auto block = allocator.allocate({.size = Bytes{1u << 20}, .usage = Usage::Scratchpad});
    REQUIRE(block);
    together(kThreads, [&](int) {
        for (int i = 0; i < 5000; ++i) {
            const Block copy = *block;
            if (copy.requested().count() != 1u << 20) std::abort();
        }
    });
    CHECK(block->handles() == 1);
    block->reset();
    CHECK(allocator.outstanding().blocks == 0);
}

TEST_CASE("runtimes of one process come and go in parallel and leave the kernel as it was",
          "[threaded]") {
    SimMachine machine("trn1.32xlarge", "2.26.5");
    std::atomic<int> failures{0};
    together(kThreads, [&](int thread) {
        for (int i = 0; i < 20; ++i) {
            RuntimeOptions options{.log_level = LogLevel::Quiet};
            options.visible =
                VisibleCores::of(LogicalCore{static_cast<std::uint32_t>(thread % 4) * 2}, 4);
            auto book = Book::open(options, test::SimDriver(machine.port()));
            if (!book) {
                failures.fetch_add(1);
                continue;
            }
            const auto core = (*book)->tree().core_at(0)->id();
            if (!(*(*book)->allocator(core))->allocate({.size = Bytes{4096}}))
                failures.fetch_add(1);
        }
    });
    CHECK(failures == 0);
    CHECK(machine.kernel->census() == machine.baseline);
}

TEST_CASE(
    "runtimes that claim a number of cores at once never get the same ones, of one process or "
    "of several",
    "[threaded]") {
    SimMachine machine("trn1.32xlarge", "2.26.5");
    std::array<std::atomic<int>, 32> owners{};
    std::atomic<int> doubles{0};
    std::atomic<int> failures{0};
    together(kThreads, [&](int thread) {
        for (int i = 0; i < 40; ++i) {
            // Eight pairs fit wherever the others are.
            auto book = Book::open(test::quiet_count(1 + static_cast<std::uint32_t>(i % 2)),
                                   test::SimDriver(machine.port(100 + thread / 2)));
            if (!book) {
                failures.fetch_add(1);
                continue;
            }
            for (const auto& core : (*book)->logical_cores().owned())
                if (owners[core.id.value()].fetch_add(1) != 0) doubles.fetch_add(1);
            for (const auto& core : (*book)->logical_cores().owned())
                owners[core.id.value()].fetch_sub(1);
        }
    });
    CHECK(doubles == 0);
    CHECK(failures == 0);
    CHECK(machine.kernel->census() == machine.baseline);
}

TEST_CASE("log lines of many threads are whole", "[threaded]") {
    std::atomic<int> broken{0};
    std::atomic<int> lines{0};
    struct Context {
        std::atomic<int>& broken;
        std::atomic<int>& lines;
    } context{broken, lines};
    Log::set_level(LogLevel::Info);
    Log::set_sink(
        [](void* self, LogLevel, std::string_view line) {
            auto& c = *static_cast<Context*>(self);
            c.lines.fetch_add(1);
            if (line != "one line of text 12345") c.broken.fetch_add(1);
        },
        &context);
    together(kThreads, [&](int) {
        for (int i = 0; i < 500; ++i)
            Log::write(LogLevel::Info, "one line of %s %d", "text", 12345);
    });
    Log::set_sink(nullptr);
    Log::set_level(LogLevel::Error);
    CHECK(lines == kThreads * 500);
    CHECK(broken == 0);
}
