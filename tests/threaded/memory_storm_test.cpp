// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "neuronbook/dmem/report/usage_table.hpp"
#include "neuronbook/dmem/weak_list.hpp"
#include "neuronbook/neuronbook.hpp"
#include "support/book.hpp"
#include "support/fake_driver.hpp"
#include "support/log_lines.hpp"
#include "threaded/together.hpp"

using namespace neuronbook;
using test::core;
using test::kThreads;
using test::Overlaps;
using test::SimMachine;
using test::together;
using test::up;

namespace {

/// Blocks that any thread may drop.
class Exchange {
public:
    /// Effects: gives one, takes another one out.
    Block swap(Block block, std::size_t at) {
        const std::lock_guard lock(mutex_);
        std::swap(held_[at % held_.size()], block);
        return block;
    }
    void clear() { held_ = {}; }

private:
    std::mutex mutex_;
    std::array<Block, 32> held_;
};

} // namespace

TEST_CASE("eight threads allocate, copy, report and free, models come and go: the books balance",
          "[threaded][G04]") {
    SimMachine machine("trn2.3xlarge", "2.26.5");
    auto options = test::with_lnc(1);
    options.memory.core_budget = Bytes{1u << 20};
    options.memory.events = 512;
    std::atomic<int> asked{0};
    options.memory.context = &asked;
    options.memory.on_out_of_memory = [](void* context, const Error&) {
        return static_cast<std::atomic<int>*>(context)->fetch_add(1) % 2 == 0;
    };
    auto book = up(machine, options);
    Exchange exchange;
    WeakList index;
    Overlaps overlaps;
    std::atomic<int> wrong{0};
    constexpr int kRounds = 4000;
    together(kThreads, [&](int thread) {
        std::mt19937 random(static_cast<unsigned>(thread));
        // Two cores share each HBM; three of the eight threads share a core with another one.
        auto& allocator = **book->allocator(core(0, static_cast<std::uint32_t>(thread) % 5));
        std::vector<std::byte> out(10'000, static_cast<std::byte>(thread)), in(10'000);
        for (int round = 0; round < kRounds; ++round) {
            const Overlaps::Inside inside(overlaps);
            const auto size = Bytes{1 + random() % 400'000};
            auto block = allocator.allocate({.size = size,
                                             .usage = static_cast<Usage>(random() % 22),
                                             .hbm = random() % 8 == 0
                                                        ? std::optional<std::uint32_t>(random() % 4)
                                                        : std::nullopt,
                                             .hint = "storm"});
            if (!block) {
                if (block.error().status != Status::Resource) ++wrong;
                continue;
            }
            const auto part = std::min<std::size_t>(out.size(), size.count());
            {
                const Overlaps::Inside copying(overlaps);
                if (!allocator.write(*block, Bytes{0}, std::span(out).first(part)) ||
                    !allocator.read(*block, Bytes{0}, std::span(in).first(part)) ||
                    in[0] != out[0] || in[part - 1] != out[part - 1])
                    ++wrong;
            }
            if (round % 4 == 0 && !index.append(*block)) ++wrong;
            if (round % 16 == 0) {
                const auto usage = book->usage();
                if (usage_table(*geometry_of(Architecture::Cayman), usage).empty()) ++wrong;
                for (const auto& row : book->survivors())
                    if (row.hint.view() != "storm") ++wrong;
                const auto counted = index.count(); // one look: others append and free
                if (counted.charged < counted.requested) ++wrong;
            }
            if (round % 32 == 0) {
                const Overlaps::Inside ending(overlaps);
                auto model = book->model_allocator(allocator.core(), {.name = {1001, "m"}});
                if (!model) ++wrong;
                auto weights =
                    (**model).allocate({.size = Bytes{1}, .usage = Usage::Weight, .hint = "storm"});
                model->reset(); // frees what the handle still names
                if (weights && *weights) ++wrong;
            }
            const Overlaps::Inside dropping(overlaps);
            exchange.swap(*std::move(block), random());
        }
    });
    CHECK(wrong == 0);
    CHECK(asked > 0); // the budget was met
    CHECK(overlaps.seen() >= 10'000);
    exchange.clear();
    CHECK(index.count().blocks == 0);
    for (const auto& device : book->usage()) {
        for (const auto bytes : device.counters.on_channel) CHECK(bytes == 0);
        for (const auto& owner : device.owners) CHECK(owner.blocks == 0);
    }
    for (std::uint32_t hbm = 0; hbm < 4; ++hbm)
        CHECK(book->driver().chunks(HostDeviceId{0}, hbm)->size() == 1); // the carve-out
    book->close();
    CHECK(machine.kernel->census() == machine.baseline);
    CHECK(machine.kernel->would_have_crashed().empty());
    std::printf("allocate, copy, report and free storm: %d of %d rounds overlapped\n",
                overlaps.seen(), kThreads * kRounds);
}

TEST_CASE("the last handles of two HBMs go at once, and with them the ledger", "[threaded][dmem]") {
    test::LogLines log(LogLevel::Quiet);
    for (int round = 0; round < 300; ++round) {
        test::FakeDriver driver;
        std::optional<Allocator<ModelTag, test::FakeDriver>> allocator(
            std::in_place, driver, HostDeviceId{3}, PhysicalCore{DeviceIndex{0}, CoreIndex{5}},
            *geometry_of(Architecture::Cayman),
            std::make_shared<Ledger>(HostDeviceId{3}, MemoryOptions{.events = 0}, 2));
        std::array<Block, 2> last{*allocator->allocate({.size = Bytes{1}, .hbm = 0u}),
                                  *allocator->allocate({.size = Bytes{1}})};
        allocator.reset(); // frees both; the handles are left
        together(2, [&](int thread) { (void)last[static_cast<std::size_t>(thread)].reset(); });
        CHECK(driver.outstanding() == 0);
    }
}
