// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "neuronbook/base/describe.hpp"
#include "neuronbook/neuronbook.hpp"
#include "support/book.hpp"
#include "support/log_lines.hpp"
#include "threaded/together.hpp"

using namespace neuronbook;
using namespace neuronbook::literals;
using test::Book;
using test::core;
using test::SimMachine;
using test::up;

namespace {

/// All lines of a log, one text.
std::string joined(const test::LogLines& log) {
    std::string text;
    for (const auto& [level, line] : log.lines) text += line + "\n";
    return text;
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

Result<Block> take(Book& book, PhysicalCore where, std::uint64_t bytes, Usage usage) {
    return (**book.allocator(where)).allocate({.size = Bytes{bytes}, .usage = usage});
}

/// Takes so many bytes, in about so many pieces.
void take_all(Book& book, PhysicalCore where, std::uint64_t bytes, std::uint64_t pieces,
              Usage usage, std::vector<Block>& held) {
    const std::uint64_t most = (bytes / pieces + 4095) / 4096 * 4096;
    for (std::uint64_t rest = bytes; rest != 0; rest -= std::min(rest, most)) {
        auto block = take(book, where, std::min(rest, most), usage);
        REQUIRE(block);
        held.push_back(*std::move(block));
    }
}

/// Fills an HBM but for holes of `hole` bytes between neighbours of `hole` bytes.
std::vector<Block> comb(Book& book, PhysicalCore where, std::uint64_t hole) {
    std::vector<Block> teeth;
    for (;;) {
        auto block = take(book, where, hole, Usage::Tensor);
        if (!block) break;
        teeth.push_back(*std::move(block));
    }
    for (std::size_t i = 1; i < teeth.size(); i += 2) teeth[i].reset();
    return teeth;
}

/// Keeps lines in the order they come; where a report starts, it lets other threads go first.
struct SlowSink {
    SlowSink() {
        Log::set_level(LogLevel::Error);
        Log::set_sink(
            [](void* self, LogLevel, std::string_view line) {
                auto& sink = *static_cast<SlowSink*>(self);
                {
                    const std::lock_guard lock(sink.mutex);
                    sink.lines.emplace_back(line);
                }
                if (starts(line)) std::this_thread::sleep_for(std::chrono::microseconds(200));
            },
            this);
    }
    SlowSink(const SlowSink&) = delete;
    SlowSink& operator=(const SlowSink&) = delete;
    ~SlowSink() {
        Log::set_sink(nullptr);
        Log::set_level(LogLevel::Error);
    }
    static bool starts(std::string_view line) { return line.starts_with("Failed to"); }

    std::mutex mutex; ///< its own: the log's is what is tested
    std::vector<std::string> lines;
};

} // namespace

TEST_CASE("A01: a full core's failed DMA ring is told with size, usage and what the core holds",
          "[runtime][A01]") {
    SimMachine machine("trn1.2xlarge", "2.26.5");
    auto book = up(machine);
    const auto at = core(0, 1);
    // 8.216 GB, 6.518 GB, 518.002 MB and 512 MB, and runtime memory for the rest.
    std::vector<Block> held;
    const auto hold = [&](std::uint64_t bytes, std::uint64_t pieces, Usage usage) {
        take_all(*book, at, bytes, pieces, usage, held);
    };
    hold(536870912, 1, Usage::Scratchpad);
    hold(543164465, 1, Usage::Cc);
    hold(8821862825, 64, Usage::Tensor);
    hold(6998649209, 256, Usage::DmaRing); // some of them lie in the small pool
    for (std::uint64_t size = 4u << 20; size >= 4096;) {
        auto filler = take(*book, at, size, Usage::Generic);
        if (filler)
            held.push_back(*std::move(filler));
        else
            size /= 2;
        if (size < 4u << 20) break; // what is left is below the ring's size
    }
    const auto before = book->ledger(DeviceIndex{0})->snapshot();
    test::LogLines log(LogLevel::Error);
    const auto refused = take(*book, at, 13743184, Usage::DmaRing);
    REQUIRE_FALSE(refused);
    CHECK(static_cast<int>(refused.error().status) == 4);
    CHECK(has(describe(refused.error()), "13.107MB"));
    CHECK(has(describe(refused.error()), "dma_rings_runtime"));
    const std::string text = joined(log);
    INFO(text);
    CHECK(has(text, "Failed to allocate 13.107MB (alignment: none, usage: dma_rings_runtime) on "
                    "ND 0:NC 1"));
    const auto list = text.substr(text.find("NC 1 holds"));
    std::size_t last = 0;
    for (const char* name : {"total: ", "tensors: 8.216GB", "shared scratchpad: 512.000MB",
                             "runtime: ", "dma rings runtime: 6.518GB", "collectives: 518.00"}) {
        INFO(name);
        const auto found = list.find(name, last);
        REQUIRE(found != std::string::npos);
        last = found;
    }
    const auto after = book->ledger(DeviceIndex{0})->snapshot();
    CHECK(after.by_core == before.by_core);
    CHECK(after.on_channel == before.on_channel);
    CHECK(after.on_host == before.on_host);
    CHECK(after.core_peak == before.core_peak);
    CHECK(after.channel_peak == before.channel_peak);
    CHECK(after.lost_on_channel == before.lost_on_channel);
}

TEST_CASE("A02: two devices that fail at once give two whole reports, line by line",
          "[runtime][A02]") {
    SimMachine machine("inf2.24xlarge", "2.26.5");
    auto book = up(machine);
    // Weights of 13.170 GB and rings: 15.972 GB on each of the two cores.
    std::vector<Block> held;
    for (const std::uint32_t device : {0u, 3u}) {
        take_all(*book, core(device, 0), 14141181952, 64, Usage::Weight, held);
        take_all(*book, core(device, 0), 3008622592, 256, Usage::DmaRing, held);
    }
    SlowSink log;
    std::atomic<int> wrong{0};
    test::together(2, [&](int thread) {
        for (int i = 0; i < 10; ++i) {
            const auto refused =
                take(*book, core(thread == 0 ? 0 : 3, 0), 45429555, Usage::DmaRing);
            if (refused || refused.error().status != Status::Resource) ++wrong;
        }
    });
    CHECK(wrong == 0);
    const auto& lines = log.lines;
    REQUIRE(std::count_if(lines.begin(), lines.end(), SlowSink::starts) == 20);
    REQUIRE(SlowSink::starts(lines.front()));
    REQUIRE(lines.size() % 20 == 0);
    const std::size_t length = lines.size() / 20;
    for (std::size_t first = 0; first < lines.size(); first += length) {
        const bool zero = has(lines[first], "ND 0");
        const std::string own = zero ? "ND 0" : "ND 3";
        std::string report;
        for (std::size_t i = first; i < first + length; ++i) report += lines[i] + "\n";
        INFO(report);
        CHECK(has(lines[first], "Failed to allocate 43.325MB (alignment: none, usage: "
                                "dma_rings_runtime) on " +
                                    own + ":NC 0"));
        for (const char* part : {"NC 0 holds", "total: 15.972GB", "model constants: 13.170GB",
                                 "dma rings runtime: 2.802GB", "Cause: size"})
            CHECK(has(report, part));
        CHECK(has(report, own + " HBM 0"));
        CHECK_FALSE(has(report, zero ? "ND 3" : "ND 0"));
        CHECK(has(lines[first + length - 1], "Smallest change that would have fitted"));
    }
}

TEST_CASE("A04, A26: an HBM with enough free bytes in small pieces says fragmentation, as data and "
          "in the text",
          "[runtime][A04][A26]") {
    SimMachine machine("trn1.2xlarge", "2.26.5");
    auto options = test::kQuiet;
    auto book = up(machine, options);
    const auto at = core(0, 0);
    const auto teeth = comb(*book, at, 256u << 20);
    test::LogLines log(LogLevel::Error);
    const auto refused = take(*book, at, 512u << 20, Usage::Tensor);
    REQUIRE_FALSE(refused);
    const Error& error = refused.error();
    CHECK(error.cause == FailureCause::Fragmentation);
    CHECK(error.asked == 536870912);
    CHECK(error.core == 0);
    CHECK(error.hbm == 0);
    CHECK(error.limit == 17179869184);
    CHECK(error.largest >= 268435456);
    CHECK(error.largest < 536870912);
    CHECK(error.free >= 536870912);
    CHECK(error.free_blocks > 20);
    CHECK(error.value + error.free + (16u << 20) == 17179869184); // the carve-out is nobody's
    CHECK(error.others == 0);
    CHECK(error.change == 536870912 - error.largest);
    const std::string text = joined(log);
    INFO(text);
    for (const char* part :
         {"requested 512.000MB", "limit 16.000GB", "used here", "used by others 0.000B", "free ",
          "largest free block", "number of free blocks", "Cause: fragmentation"})
        CHECK(has(text, part));
    CHECK(has(describe(error), "fragmentation"));
}

TEST_CASE("A13: what another process holds on the HBM is told apart from our own",
          "[runtime][A13]") {
    SimMachine machine("trn2.3xlarge", "2.26.5");
    auto first = up(machine, test::quiet_cores(0, 1), 100);
    auto second = up(machine, test::quiet_cores(1, 1), 200);
    const auto where = second->logical_core(LogicalIndex{0});
    REQUIRE(where);
    const auto theirs = take(*second, (*where)->default_core(), 1u << 30, Usage::Tensor);
    REQUIRE(theirs);
    // Ours goes to their HBM, which the driver allows.
    const auto mine = first->logical_core(LogicalIndex{0});
    REQUIRE(mine);
    auto& own = **first->allocator((*mine)->default_core());
    const auto refused =
        own.allocate({.size = 23_GiB, .usage = Usage::Tensor, .hbm = theirs->hbm()});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().others >= 1073741824);
    CHECK(refused.error().value == 0);
    CHECK(refused.error().free + refused.error().others + (16u << 20) == 25769803776);
}

TEST_CASE("a silenced report still answers with all the numbers", "[runtime]") {
    SimMachine machine("trn1.2xlarge", "2.26.5");
    auto options = test::kQuiet;
    options.memory.report_out_of_memory = false;
    auto book = up(machine, options);
    test::LogLines log(LogLevel::Error);
    const auto refused = take(*book, core(0, 0), 16ull << 30, Usage::Tensor);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().cause == FailureCause::Size);
    CHECK(refused.error().largest != 0);
    CHECK(log.lines.empty());
}
