// SPDX-License-Identifier: Apache-2.0
//
// What must not happen while a pool's lock is held, and what its blocks may cost.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <random>
#include <utility>
#include <vector>

#include "neuronbook/dmem/pool.hpp"
#include "neuronbook/dmem/weak_list.hpp"
#include "support/catch.hpp"
#include "support/heap.hpp"

namespace {

thread_local int locks = 0;     ///< of a pool, held by this thread
std::atomic<int> under_lock{0}; ///< calls that must not be made there
void note() {
    if (locks != 0) ++under_lock;
}

const bool watched = (neuronbook::test::heap.watch = note, true);

using namespace neuronbook;
using namespace neuronbook::literals;

/// One under which another is taken is the turn to grow, which is there to be held over a driver's
/// call; the first thing done in that turn is to take the other.
class WatchedMutex {
public:
    void lock() {
        mutex_.lock();
        if (outer != nullptr && !std::exchange(outer->turn_, true)) --locks;
        before_ = std::exchange(outer, this);
        if (!turn_) ++locks;
    }
    void unlock() {
        outer = before_;
        if (!turn_) --locks;
        mutex_.unlock();
    }

private:
    static inline thread_local WatchedMutex* outer = nullptr;
    std::mutex mutex_;
    WatchedMutex* before_ = nullptr;
    bool turn_ = false;
};

/// Does nothing, and says so when it is called under a lock.
struct WatchedDriver {
    Result<Chunk> allocate(HostDeviceId, const ChunkRequest& ask) {
        note();
        next += 1u << 30;
        ++chunks;
        return Chunk{ChunkHandle{1}, DeviceAddress{next}, *whole_pages(ask.size), ask.location,
                     ask.hbm};
    }
    Result<void> free(HostDeviceId, const Chunk&) {
        note();
        --chunks;
        return {};
    }
    [[nodiscard]] bool usable() const noexcept { return true; }
    std::uint64_t next = 0, chunks = 0;
};

using Watched = Pool<GlobalTag, WatchedDriver, PoolTraits<Ledger, WatchedMutex>>;

} // namespace

TEST_CASE("a pool that has held as many blocks before takes no host memory",
          "[dmem][pool][front]") {
    WatchedDriver driver;
    const auto ledger = std::make_shared<Ledger>(HostDeviceId{0}, MemoryOptions{}, 2);
    Watched pool(driver, HostDeviceId{0}, PhysicalCore{}, *geometry_of(Architecture::Cayman),
                 ledger);
    WorkQueue queue;
    std::mt19937 random(3);
    std::vector<Block> blocks(600);
    std::uint64_t point = 0;
    const auto churn = [&](int rounds) {
        for (int i = 0; i < rounds; ++i) {
            Block& block = blocks[random() % blocks.size()];
            if (block && i % 4 == 0)
                (void)pool.free_after(std::move(block), queue, ++point);
            else
                (void)block.reset();
            queue.reach(point);
            if (i % 8 == 0) pool.collect();
            auto made = pool.allocate({.size = Bytes{1 + random() % 20'000},
                                       .alignment = Bytes{random() % 8 == 0 ? 4096u : 0u}});
            if (!made) std::abort();
            block = *std::move(made);
            (void)pool.find(block.address());
        }
    };
    churn(20'000);
    const auto before = test::heap.allocations.load();
    churn(20'000);
    CHECK(test::heap.allocations - before <= 8); // a new most of fragments, now and then
    CHECK(driver.next <= std::uint64_t{3} << 30);
    blocks.clear();
}

TEST_CASE("no host memory, and no driver call but to grow, under a pool's lock",
          "[dmem][pool][front]") {
    under_lock = 0;
    {
        WatchedDriver driver;
        const auto ledger = std::make_shared<Ledger>(HostDeviceId{0}, MemoryOptions{}, 2);
        Watched pool(driver, HostDeviceId{0}, PhysicalCore{}, *geometry_of(Architecture::Cayman),
                     ledger);
        WeakList list;
        auto queue = std::make_unique<WorkQueue>();
        std::vector<Block> blocks;
        for (int i = 0; i < 500; ++i) {
            blocks.push_back(*pool.allocate({.size = Bytes{5000u + 512u * (i % 7)}}));
            REQUIRE(list.append(blocks.back()));
        }
        for (int i = 0; i < 400; i += 2)
            REQUIRE(pool.free_after(std::move(blocks[static_cast<std::size_t>(i)]), *queue, 1));
        queue.reset(); // its line goes with the next look
        pool.collect();
        CHECK(pool.survivors().size() == 300);
        blocks.clear();
        pool.trim();
        blocks.push_back(*pool.allocate({.size = 1_B}));
    }
    CHECK(under_lock == 0);
}

TEST_CASE("wherever host memory runs out, no chunk and no block is lost", "[dmem][pool][front]") {
    int met = 0;
    for (std::uint64_t nth = 1; nth <= 40; ++nth) {
        WatchedDriver driver;
        const auto ledger = std::make_shared<Ledger>(HostDeviceId{0}, MemoryOptions{}, 2);
        const WorkQueue queue;
        Watched pool(driver, HostDeviceId{0}, PhysicalCore{}, *geometry_of(Architecture::Cayman),
                     ledger);
        std::vector<Block> blocks;
        blocks.reserve(200);
        test::heap.fail_nth(nth);
        std::uint64_t made = 0, waiting = 0;
        try {
            for (int i = 0; i < 100; ++i) {
                blocks.push_back(*pool.allocate({.size = 1_B}));
                ++made;
            }
            if (pool.free_after(std::move(blocks.back()), queue, 1)) ++waiting;
        } catch (const std::bad_alloc&) {
            ++met;
        }
        test::heap.fail_nth(0);
        const auto now = pool.statistics();
        CHECK(now.blocks == made - waiting);
        CHECK(now.waiting_blocks == waiting);
        CHECK(now.chunks == driver.chunks);
        CHECK(now.chunks <= 1);
        CHECK(pool.allocate({.size = 1_B})); // as if nothing had happened
    }
    CHECK(met >= 15);
    CHECK(met < 40);
}
