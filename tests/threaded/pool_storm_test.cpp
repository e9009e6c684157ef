// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <random>
#include <utility>
#include <vector>

#include "neuronbook/dmem/pool.hpp"
#include "neuronbook/dmem/weak_list.hpp"
#include "neuronbook/neuronbook.hpp"
#include "support/book.hpp"
#include "support/log_lines.hpp"
#include "threaded/together.hpp"

using namespace neuronbook;
using namespace neuronbook::literals;
using test::kThreads;
using test::Overlaps;
using test::together;

namespace {

using Memory = Pool<GlobalTag, test::SimDriver>;

/// Blocks that any thread may drop.
class Exchange {
public:
    Block swap(Block block, std::size_t at) {
        const std::lock_guard lock(mutex_);
        std::swap(held_[at % held_.size()], block);
        return block;
    }

private:
    std::mutex mutex_;
    std::array<Block, 64> held_;
};

/// A pool beside the allocators of a runtime.
struct Rig {
    test::SimMachine machine{"trn2.3xlarge", "2.26.5"};
    std::unique_ptr<test::Book> book = test::up(machine, test::with_lnc(1));
    std::shared_ptr<Ledger> ledger = std::make_shared<Ledger>(
        HostDeviceId{0}, MemoryOptions{.events = 64, .report_out_of_memory = false}, 2);
    Memory pool{book->driver(),   HostDeviceId{0},
                test::core(0, 0), *geometry_of(Architecture::Cayman),
                ledger,           {.maximum = 4_MiB},
                nullptr,          DoublingGrowth{.first = 256_KiB, .most = 1_MiB}};
};

} // namespace

TEST_CASE("eight threads align, grow, trim, wait for queues and look up in one pool",
          "[threaded][dmem]") {
    Rig rig;
    Memory& pool = rig.pool;
    Exchange exchange;
    WeakList index;
    Overlaps overlaps;
    std::array<WorkQueue, 3> queues; // the last one never gets anywhere
    std::atomic<std::uint64_t> points{1};
    std::atomic<int> wrong{0}, refused{0}, found{0};
    constexpr int kRounds = 3000;
    together(kThreads, [&](int thread) {
        std::mt19937 random(static_cast<unsigned>(thread));
        std::array<std::byte, 64> out{}, in{};
        out.fill(static_cast<std::byte>(thread + 1));
        for (int round = 0; round < kRounds; ++round) {
            const Overlaps::Inside inside(overlaps);
            const std::uint64_t size = 64 + random() % (1u << random() % 17);
            const std::uint64_t alignment = random() % 4 == 0 ? 512u << random() % 8 : 0;
            auto block = pool.allocate({.size = Bytes{size},
                                        .hbm = random() % 4,
                                        .alignment = Bytes{alignment},
                                        .hint = "storm"});
            if (!block) {
                ++refused;
                if (block.error().status != Status::Resource) ++wrong;
                continue;
            }
            if (alignment != 0 && block->address().value() % alignment != 0) ++wrong;
            // Nobody else has these bytes while the handle is there.
            if (!pool.write(*block, 0_B, out) || !pool.read(*block, 0_B, in) || in != out) ++wrong;
            if (round % 8 == 0) {
                if (!index.append(*block)) ++wrong;
                if (auto there = pool.find(DeviceAddress{block->address().value() + size - 1})) {
                    if (!(there->block == *block)) ++wrong;
                } else {
                    ++wrong;
                }
            }
            // A block that may be going at this moment.
            const std::uint64_t near = block->address().value() + 4096 * (random() % 8);
            if (auto other = pool.find(DeviceAddress{near})) {
                ++found;
                if (near - other->block.address().value() != other->offset.count()) ++wrong;
            }
            if (round % 16 == 0) {
                const auto now = pool.statistics(0);
                if (now.used.count() + now.waiting.count() + now.free.count() !=
                    now.reserved.count())
                    ++wrong;
                if (now.reserved > 4_MiB) ++wrong; // its maximum
                for (const auto& row : pool.survivors())
                    if (row.hint.view() != "storm") ++wrong;
            }
            if (round % 64 == 0) pool.trim(512_KiB);
            if (random() % 4 == 0) {
                const auto queue = random() % 64 == 0 ? 2 : random() % 2;
                const auto point = points.fetch_add(1);
                if (!pool.free_after(*std::move(block), queues[queue], point)) {
                    if (!*block) ++wrong; // looked up at that moment, so it has two handles
                }
                queues[random() % 2].reach(point);
                continue;
            }
            exchange.swap(*std::move(block), random());
        }
    });
    CHECK(wrong == 0);
    CHECK(found > 100);
    CHECK(overlaps.seen() >= 1'000);
    for (int i = 0; i < 64; ++i) exchange.swap({}, static_cast<std::size_t>(i));
    for (auto& queue : queues) queue.reach(~std::uint64_t{0});
    pool.collect();
    CHECK(index.count().blocks == 0);
    const auto left = pool.statistics();
    CHECK(left.used == 0_B);
    CHECK(left.waiting == 0_B);
    CHECK(left.free_blocks == left.chunks); // each chunk is one range again
    pool.trim();
    for (std::uint32_t hbm = 0; hbm < 4; ++hbm) {
        CHECK(rig.ledger->used_on_channel(hbm) == 0_B);
        CHECK(rig.book->driver().chunks(HostDeviceId{0}, hbm)->size() == 1); // the carve-out
    }
    pool.close();
    rig.book->close();
    CHECK(rig.machine.kernel->census() == rig.machine.baseline);
    std::printf("pool storm: %d of %d rounds overlapped, %d refused, %d found\n", overlaps.seen(),
                kThreads * kRounds, refused.load(), found.load());
}

TEST_CASE("handles may be dropped while their pool ends", "[threaded][dmem]") {
    Rig rig;
    test::LogLines log(LogLevel::Quiet);
    for (int round = 0; round < 30; ++round) {
        auto pool = std::make_unique<Memory>(rig.book->driver(), HostDeviceId{0}, test::core(0, 0),
                                             *geometry_of(Architecture::Cayman), rig.ledger);
        std::array<std::vector<Block>, 3> blocks;
        for (auto& some : blocks)
            for (int i = 0; i < 40; ++i) some.push_back(*pool->allocate({.size = 600_B}));
        together(4, [&](int thread) {
            if (thread == 3)
                pool.reset();
            else
                blocks[static_cast<std::size_t>(thread)].clear();
        });
        CHECK(rig.ledger->used_on_channel(0) == 0_B);
    }
}
