// SPDX-License-Identifier: Apache-2.0
//
// Each kernel call of a pool's growth, of what its blocks do, and of its end fails once, in five
// ways: no chunk is lost, none is booked that is not there, and no block is half made.
#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "faults/sweep.hpp"
#include "neuronbook/dmem/pool.hpp"
#include "neuronbook/neuronbook.hpp"
#include "support/book.hpp"
#include "support/log_lines.hpp"

using namespace neuronbook;
using namespace neuronbook::literals;
using test::Book;
using test::SimMachine;

namespace {

using Memory = Pool<ModelTag, test::SimDriver, PoolTraits<Ledger, std::mutex, FixedGrowth>>;

/// What every step has to leave true: the sums agree, and the ledger has the pool's chunks.
bool sound(const Memory& pool, const Ledger& ledger) {
    const auto now = pool.statistics();
    std::uint64_t booked = ledger.snapshot().host().count();
    for (const auto bytes : ledger.snapshot().on_channel) booked += bytes;
    return now.used.count() + now.waiting.count() + now.free.count() == now.reserved.count() &&
           booked == now.reserved.count() && now.blocks == pool.outstanding().blocks;
}

/// Brings a runtime up and runs `body` on a pool on core 0. Whatever fails, the books are sound
/// while the pool lives, and empty when it is gone.
template <class F>
bool with_pool(SimMachine& machine, const PoolOptions& options, bool zero, F body) {
    auto book = Book::open(test::quiet_cores(0, 1), test::SimDriver(machine.port()));
    if (!book) return false;
    const auto core = (*(*book)->logical_core(LogicalIndex{0}))->default_core();
    // Of its own, so that no copy's bounce buffer is in it.
    const auto ledger = std::make_shared<Ledger>(
        HostDeviceId{0}, MemoryOptions{.events = 16, .zero = zero, .report_out_of_memory = false},
        1);
    bool done = false;
    std::uint64_t lost = 0;
    {
        const auto copies = std::make_shared<Memory::Copies>(
            (*book)->driver(), HostDeviceId{0}, core.core,
            LedgerBounce<test::SimDriver, Ledger>(
                (*book)->driver(), std::make_shared<Ledger>(HostDeviceId{0}, MemoryOptions{}, 1),
                HostDeviceId{0}, core.core));
        Memory pool((*book)->driver(), HostDeviceId{0}, core, *geometry_of(Architecture::Sunda),
                    ledger, options, copies, {64_KiB});
        done = body(pool);
        CHECK(sound(pool, *ledger));
        pool.trim();
        lost = pool.lost().charged.count();
        pool.close();
        copies->close();
    }
    const auto now = ledger->snapshot();
    for (const auto bytes : now.on_channel) CHECK(bytes == 0);
    CHECK(now.host() == 0_B);
    return done && lost == 0;
}

bool grows(Memory& pool) {
    std::vector<Block> blocks;
    for (const std::uint64_t size : {1000u, 60'000u, 5000u, 100'000u}) {
        auto block = pool.allocate({.size = Bytes{size}});
        if (!block) return false;
        blocks.push_back(*std::move(block));
    }
    const auto aligned = pool.allocate({.size = 1_B, .alignment = 1_MiB});
    const auto host = pool.allocate({.size = 1_B, .location = MemoryLocation::Host});
    return aligned && host && aligned->address().value() % (1 << 20) == 0;
}

/// Two chunks are cached when the maximum is met: they go back, and the large one comes.
bool flushes(Memory& pool) {
    auto a = pool.allocate({.size = 64_KiB}), b = pool.allocate({.size = 64_KiB});
    if (!a || !b) return false;
    (void)a->reset();
    (void)b->reset();
    return pool.allocate({.size = 128_KiB}).has_value();
}

bool uses(Memory& pool) {
    const auto a = pool.allocate({.size = 5000_B}), b = pool.allocate({.size = 5000_B});
    if (!a || !b) return false;
    const std::vector<std::byte> out(5000, std::byte{6});
    std::vector<std::byte> in(5000);
    if (!pool.write(*a, 0_B, out) || !pool.copy(*a, 0_B, *b, 0_B, 5000_B)) return false;
    if (!pool.read(*b, 0_B, in) || in != out) return false;
    const auto mapped = pool.map(*b);
    if (!mapped || (*mapped)[4999] != std::byte{6}) return false;
    auto shared = pool.share(*b, 0_B, 5000_B);
    return shared && shared->close();
}

bool moves(Memory& pool) {
    auto block = pool.allocate({.size = 5000_B});
    if (!block) return false;
    auto host = pool.relocate(*std::move(block), MemoryLocation::Host);
    return host && pool.relocate(*std::move(host), MemoryLocation::Device);
}

bool waits(Memory& pool) {
    WorkQueue queue;
    auto block = pool.allocate({.size = 64_KiB});
    if (!block || !pool.free_after(*std::move(block), queue, 1)) return false;
    const auto other = pool.allocate({.size = 64_KiB});
    queue.reach(1);
    return other && pool.allocate({.size = 64_KiB}) && pool.statistics().chunks == 2;
}

} // namespace

TEST_CASE("whichever kernel call of a pool fails, books and kernel come back", "[faults][dmem]") {
    test::LogLines log(LogLevel::Quiet);
    struct Row {
        const char* name;
        const char* release;
        bool (*body)(Memory&);
        PoolOptions options;
        bool zero;
        std::uint64_t calls, failures;
    };
    const Row rows[] = {
        {"growth", "2.24.7", grows, {}, false, 25, 107},
        {"growth, zeroed", "2.26.5", grows, {}, true, 35, 157},
        {"flush and grow", "2.26.5", flushes, {.maximum = 128_KiB}, false, 22, 95},
        {"copies, mapping and export", "2.26.5", uses, {}, false, 24, 94},
        {"move to the host and back", "2.26.5", moves, {}, false, 21, 88},
        {"blocks that wait", "2.26.5", waits, {}, false, 19, 80},
    };
    for (const Row& row : rows) {
        SimMachine machine("trn1.2xlarge", row.release);
        test::sweep(row.name, machine, row.calls, row.failures,
                    [&](SimMachine& m) { return with_pool(m, row.options, row.zero, row.body); });
    }
}
