// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "neuronbook/dmem/allocator.hpp"
#include "neuronbook/dmem/event_ring.hpp"
#include "support/catch.hpp"
#include "threaded/together.hpp"

using namespace neuronbook;

namespace {

Booking booking(std::uint64_t bytes, std::string_view hint = {}) {
    return {.charge = {.usage = Usage::Weight,
                       .hbm = 3,
                       .core = CoreIndex{7},
                       .bytes = Bytes{(bytes + 4095) / 4096 * 4096}},
            .requested = Bytes{bytes},
            .address = DeviceAddress{0x4000000000},
            .align_offset = 512,
            .hint = hint};
}

std::vector<MemoryEvent> all(const EventRing& ring) {
    std::vector<MemoryEvent> events;
    events.reserve(ring.size());
    ring.copy_to(events);
    return events;
}

/// Gives out numbers and no memory, and has no lock: threads meet in the books, not here.
struct QuickDriver {
    Result<Chunk> allocate(HostDeviceId, const ChunkRequest& ask) {
        const std::uint64_t number = ++last;
        return Chunk{ChunkHandle{number}, DeviceAddress{number << 20}, *whole_pages(ask.size),
                     ask.location, ask.hbm};
    }
    Result<void> free(HostDeviceId, const Chunk&) {
        ++frees;
        return {};
    }
    [[nodiscard]] bool usable() const noexcept { return true; }

    std::atomic<std::uint64_t> last{0};
    std::atomic<std::uint64_t> frees{0};
};
using QuickAllocator = Allocator<GlobalTag, QuickDriver>;

} // namespace

TEST_CASE("an event comes out as it went in, with the start of its hint as text",
          "[dmem][events]") {
    EventRing ring(4);
    ring.prepare();
    {
        const std::string hint(40, 'h');
        CHECK(ring.add(MemoryAction::Allocate, booking(5000, hint), 77, 8192, 1001) == 1);
    }
    CHECK(ring.add(MemoryAction::Free, booking(5000, "short"), 78, 0, 1001) == 2);
    const auto events = all(ring);
    REQUIRE(events.size() == 2);
    const auto& event = events[0];
    CHECK(event.number == 1);
    CHECK(event.ticks == 77);
    CHECK(event.size == 8192);
    CHECK(event.requested == 5000);
    CHECK(event.address == 0x4000000000);
    CHECK(event.channel_total == 8192);
    CHECK(event.align_offset == 512);
    CHECK(static_cast<int>(event.action) == 1);
    CHECK(event.location == MemoryLocation::Device);
    CHECK(event.usage == Usage::Weight);
    CHECK(event.hbm == 3);
    CHECK(event.core == 7);
    CHECK(event.owner == 1001);
    CHECK(event.hint.view() == std::string(24, 'h'));
    CHECK(static_cast<int>(events[1].action) == 2);
    CHECK(events[1].hint.view() == "short");
}

TEST_CASE("a full ring overwrites the oldest, counts it, and goes on numbering", "[dmem][events]") {
    EventRing ring(3);
    ring.prepare();
    for (std::uint64_t i = 1; i <= 5; ++i)
        CHECK(ring.add(MemoryAction::Allocate, booking(i), 0, i, 1) == i);
    const auto events = all(ring);
    REQUIRE(events.size() == 3);
    for (std::uint64_t i = 0; i < 3; ++i) {
        CHECK(events[i].number == i + 3);
        CHECK(events[i].requested == i + 3);
    }
    CHECK(ring.dropped() == 2);
}

TEST_CASE("numbers survive the end of their counter", "[dmem][events]") {
    EventRing ring(3, ~std::uint64_t{0} - 1);
    ring.prepare();
    for (std::uint64_t i = 0; i < 4; ++i)
        (void)ring.add(MemoryAction::Allocate, booking(i + 1), 0, i, 1);
    const auto events = all(ring);
    REQUIRE(events.size() == 3);
    CHECK(events[0].number == ~std::uint64_t{0});
    CHECK(events[1].number == 0);
    CHECK(events[2].number == 1);
    CHECK(events[2].requested == 4);
}

TEST_CASE("without memory for events they are counted as gone", "[dmem][events]") {
    EventRing none(0);
    none.prepare();
    EventRing unprepared(8);
    for (auto* ring : {&none, &unprepared}) {
        CHECK(ring->add(MemoryAction::Allocate, booking(1), 0, 1, 1) == 1);
        CHECK(ring->dropped() == 1);
        CHECK(all(*ring).empty());
    }
}

TEST_CASE("E06: after a storm of sixteen threads no event is torn, and replaying them gives the "
          "ledger",
          "[dmem][events][E06]") {
    const std::size_t kept = GENERATE(std::size_t{1} << 16, std::size_t{1000});
    QuickDriver driver;
    const auto& geometry = *geometry_of(Architecture::Cayman);
    const auto ledger = std::make_shared<Ledger>(HostDeviceId{0}, MemoryOptions{.events = kept}, 2);
    std::vector<std::unique_ptr<QuickAllocator>> cores;
    for (std::uint32_t c = 0; c < 8; ++c)
        cores.push_back(std::make_unique<QuickAllocator>(
            driver, HostDeviceId{0}, PhysicalCore{DeviceIndex{0}, CoreIndex{c}}, geometry, ledger));
    std::vector<std::vector<Block>> held(16);
    test::together(16, [&](int thread) {
        const auto t = static_cast<std::uint32_t>(thread);
        for (std::uint64_t i = 0; i < 1500; ++i) {
            // Size, usage and hint of an event belong together: a torn one would show.
            const auto usage = static_cast<Usage>((t + i) % 22);
            const std::string hint = "u" + std::to_string((t + i) % 22);
            auto block = cores[t % 8]->allocate(
                {.size = Bytes{4096 * (1 + (t + i) % 22)}, .usage = usage, .hint = hint});
            if (block) held[t].push_back(*std::move(block));
            if (held[t].size() > 10) held[t].erase(held[t].begin());
        }
    });

    const auto now = ledger->snapshot();
    std::uint64_t seen = 0, dropped = 0;
    for (std::uint32_t hbm = 0; hbm < 4; ++hbm) {
        const auto events = ledger->events(hbm);
        dropped += ledger->dropped_events(hbm);
        seen += events.size();
        std::uint64_t total =
            events.empty() || events[0].number == 1 ? 0 : events[0].channel_total - events[0].size;
        std::array<std::array<std::uint64_t, 22>, 8> by_core{};
        for (std::size_t i = 0; i < events.size(); ++i) {
            const auto& event = events[i];
            const auto usage = static_cast<std::uint64_t>(event.usage);
            REQUIRE(event.number == events[0].number + i);
            REQUIRE(event.hint.view() == "u" + std::to_string(usage));
            REQUIRE(event.size == 4096 * (1 + usage));
            REQUIRE(event.hbm == hbm);
            auto& cell = by_core[event.core][usage];
            const bool taken = event.action == MemoryAction::Allocate;
            if (i != 0 || dropped == 0) {
                total = taken ? total + event.size : total - event.size;
                REQUIRE(event.channel_total == total);
            } else {
                total = event.channel_total;
            }
            cell += taken ? event.size : 0 - event.size;
        }
        CHECK(total == now.on_channel[hbm]);
        if (kept == 65536)
            for (std::uint32_t core = hbm * 2; core < hbm * 2 + 2; ++core)
                for (std::uint32_t u = 0; u < 22; ++u)
                    CHECK(by_core[core][u] == now.by_core[core][u]);
    }
    std::uint64_t blocks = 0;
    for (const auto& mine : held) blocks += mine.size();
    CHECK(seen + dropped == 16 * 1500 + (16 * 1500 - blocks));
    CHECK((dropped == 0) == (kept == 65536));
    CHECK(driver.frees == 16 * 1500 - blocks);
}
