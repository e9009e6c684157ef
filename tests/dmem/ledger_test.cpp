// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <random>
#include <type_traits>

#include "neuronbook/dmem/ledger.hpp"
#include "support/catch.hpp"
#include "support/log_lines.hpp"

using namespace neuronbook;

namespace {

static_assert(!std::is_copy_constructible_v<Ledger> && !std::is_move_constructible_v<Ledger>);
static_assert(sizeof(Ledger) <= 4096,
              "the original's has 1600 bytes; each HBM's has lines of its own");

Charge device(Usage usage, std::uint32_t hbm, std::uint32_t core, std::uint64_t bytes) {
    return {usage, MemoryLocation::Device, hbm, CoreIndex{core}, 0, Bytes{bytes}};
}
Charge host(std::uint32_t category, std::uint64_t bytes) {
    return {Usage::Generic, MemoryLocation::Host, 0, CoreIndex{0}, category, Bytes{bytes}};
}

} // namespace

TEST_CASE("device memory moves its channel, its usage and its core's total", "[dmem][ledger]") {
    Ledger ledger(HostDeviceId{3});
    REQUIRE(ledger.add(device(Usage::Tensor, 1, 5, 8192)));
    REQUIRE(ledger.add(device(Usage::Weight, 2, 5, 4096)));
    CHECK(ledger.used_on_channel(1) == Bytes{8192});
    CHECK(ledger.used_on_channel(2) == Bytes{4096});
    CHECK(ledger.used_on_channel(0) == Bytes{0});
    CHECK(ledger.used_by_core(CoreIndex{5}, Usage::Tensor) == Bytes{8192});
    CHECK(ledger.used_by_core(CoreIndex{5}) == Bytes{12288});
    CHECK(ledger.used_by_core(CoreIndex{4}) == Bytes{0});
    CHECK(ledger.snapshot().by_core[5][22] == 12288);
    REQUIRE(ledger.remove(device(Usage::Tensor, 1, 5, 8192)));
    CHECK(ledger.used_by_core(CoreIndex{5}) == Bytes{4096});
    CHECK(ledger.used_on_channel(1) == Bytes{0});
}

TEST_CASE("host memory has counters of its own, by the driver's category", "[dmem][ledger]") {
    Ledger ledger;
    constexpr std::array<std::uint32_t, 8> categories{0, 1, 2, 3, 4, 5, 6, 17};
    for (std::uint32_t i = 0; i < 8; ++i) REQUIRE(ledger.add(host(categories[i], 4096 << i)));
    const auto now = ledger.snapshot();
    for (std::uint32_t i = 0; i < 8; ++i) CHECK(now.on_host[i] == std::uint64_t{4096} << i);
    CHECK(now.host() == Bytes{4096 * 255});
    CHECK(now.total(CoreIndex{0}) == Bytes{0});
    CHECK(now.on_channel[0] == 0);
    CHECK_FALSE(ledger.add(host(7, 1)));
    CHECK_FALSE(ledger.add(host(20, 1)));
}

TEST_CASE("peaks stay when the bytes go", "[dmem][ledger]") {
    Ledger ledger;
    REQUIRE(ledger.add(device(Usage::Tensor, 0, 0, 100)));
    REQUIRE(ledger.add(device(Usage::Tensor, 0, 1, 50)));
    REQUIRE(ledger.remove(device(Usage::Tensor, 0, 0, 100)));
    REQUIRE(ledger.add(device(Usage::Tensor, 0, 1, 20)));
    const auto now = ledger.snapshot();
    CHECK(now.channel_peak[0] == 150);
    CHECK(now.core_peak[0] == 100);
    CHECK(now.core_peak[1] == 70);
}

TEST_CASE("A19: no counter passes below zero", "[dmem][ledger][A19]") {
    Ledger ledger(HostDeviceId{7});
    REQUIRE(ledger.add(device(Usage::Tensor, 0, 0, 4096)));
    const auto before = ledger.snapshot();
    test::LogLines log(LogLevel::Warn);
    SECTION("more bytes than were booked") {
        const auto said = ledger.remove(device(Usage::Tensor, 0, 0, 8192));
        REQUIRE_FALSE(said);
        CHECK(said.error().status == Status::InvalidHandle);
        CHECK(said.error().detail == Detail::Unmatched);
        CHECK(said.error().device == 7);
        CHECK(said.error().value == 4096);
        CHECK(said.error().asked == 8192);
        CHECK(log.lines.size() == 1);
        CHECK_FALSE(ledger.remove(device(Usage::Tensor, 0, 0, 8192)));
        CHECK(log.lines.size() == 1); // told once
    }
    SECTION("another usage, core or channel, or the host") {
        CHECK_FALSE(ledger.remove(device(Usage::Weight, 0, 0, 4096)));
        CHECK_FALSE(ledger.remove(device(Usage::Tensor, 0, 1, 4096)));
        CHECK_FALSE(ledger.remove(device(Usage::Tensor, 1, 0, 4096)));
        CHECK_FALSE(ledger.remove(host(4, 4096)));
    }
    const auto after = ledger.snapshot();
    CHECK(after.by_core == before.by_core);
    CHECK(after.on_channel == before.on_channel);
    CHECK(after.on_host == before.on_host);
}

TEST_CASE("a counter that would wrap refuses, and none moves", "[dmem][ledger]") {
    Ledger ledger;
    REQUIRE(ledger.add(device(Usage::Tensor, 0, 0, 0xFFFF'FFFF'FFFF'F000u)));
    const auto said = ledger.add(device(Usage::Weight, 0, 0, 4096));
    REQUIRE_FALSE(said);
    CHECK(said.error().detail == Detail::CounterOverflow);
    CHECK(said.error().status == Status::Resource);
    CHECK(ledger.used_by_core(CoreIndex{0}, Usage::Weight) == Bytes{0});
    REQUIRE(ledger.add(device(Usage::Weight, 0, 0, 4095)));
}

TEST_CASE("what has no counter is refused", "[dmem][ledger]") {
    Ledger ledger;
    CHECK(ledger.add(device(Usage::Max, 0, 0, 1)).error().detail == Detail::UsageInvalid);
    CHECK(ledger.add(device(Usage::Tensor, 4, 0, 1)).error().detail == Detail::HbmOutOfRange);
    CHECK(ledger.add(device(Usage::Tensor, 0, 8, 1)).error().detail == Detail::CoreOutOfRange);
    CHECK(ledger.remove(device(Usage::Tensor, 0, 8, 1)).error().detail == Detail::CoreOutOfRange);
    CHECK(ledger.used_on_channel(4) == Bytes{0});
    CHECK(ledger.used_by_core(CoreIndex{8}) == Bytes{0});
    CHECK(ledger.used_by_core(CoreIndex{0}, static_cast<Usage>(23)) == Bytes{0});
}

TEST_CASE("lost bytes are counted apart, by channel and for the host", "[dmem][ledger]") {
    Ledger ledger;
    ledger.lose(device(Usage::Tensor, 2, 0, 4096));
    ledger.lose(device(Usage::Weight, 2, 1, 4096));
    ledger.lose(host(4, 8192));
    auto now = ledger.snapshot();
    CHECK(now.lost_on_channel[2] == 8192);
    CHECK(now.lost_on_channel[0] == 0);
    CHECK(now.lost_on_host == 8192);
    ledger.lose(host(4, ~std::uint64_t{0}));
    CHECK(ledger.snapshot().lost_on_host == ~std::uint64_t{0});
}

TEST_CASE("the report's columns hold every byte of a core once", "[dmem][ledger]") {
    Ledger ledger;
    for (std::uint32_t u = 0; u < 22; ++u)
        REQUIRE(ledger.add(device(static_cast<Usage>(u), 0, 3, std::uint64_t{1} << u)));
    constexpr std::uint64_t expected[12] = {
        1u << 1 | 1u << 2 | 1u << 4 | 1u << 9 | 1u << 10 | 1u << 13, // model code
        1u << 6,
        1u << 12,
        1u << 11,
        1u << 16,
        1u << 0 | 1u << 3 | 1u << 5 | 1u << 8 | 1u << 14 | 1u << 17, // runtime
        1u << 20,
        1u << 19,
        1u << 21,
        1u << 18,
        1u << 15,
        1u << 7,
    };
    const auto row = ledger.snapshot().aggregates(CoreIndex{3});
    for (std::size_t i = 0; i < 12; ++i) CHECK(row[i] == Bytes{expected[i]});
    CHECK(ledger.used_by_core(CoreIndex{3}) == Bytes{(1u << 22) - 1});
}

TEST_CASE("totals are the sums of their parts after random bookings", "[dmem][ledger]") {
    std::mt19937 random(7);
    Ledger ledger;
    for (int step = 0; step < 5000; ++step) {
        const auto charge = device(static_cast<Usage>(random() % 22), random() % 4, random() % 8,
                                   random() % 100 * 4096);
        if (random() % 2 == 0)
            REQUIRE(ledger.add(charge));
        else
            (void)ledger.remove(charge);
        const auto now = ledger.snapshot();
        std::uint64_t cores = 0, channels = 0;
        for (const auto& row : now.by_core) {
            std::uint64_t sum = 0;
            for (std::size_t u = 0; u < 22; ++u) sum += row[u];
            REQUIRE(sum == row[22]);
            cores += sum;
        }
        for (std::size_t c = 0; c < 4; ++c) {
            channels += now.on_channel[c];
            REQUIRE(now.channel_peak[c] >= now.on_channel[c]);
        }
        REQUIRE(cores == channels);
    }
}
