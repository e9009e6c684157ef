// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include <cstdint>
#include <memory>
#include <vector>

#include "neuronbook/dmem/ledger.hpp"
#include "neuronbook/dmem/scratchpad_area.hpp"
#include "support/fake_driver.hpp"
#include "support/log_lines.hpp"
#include "support/sim_machine.hpp"

using namespace neuronbook;
using test::open_driver;
using test::SimDriver;
using test::SimMachine;

namespace {

constexpr HostDeviceId kDevice{0};
constexpr Bytes kPage64{64u << 20};
using Area = ScratchpadArea<SimDriver>;

} // namespace

TEST_CASE("A11: what needs exactly n pages gets n, and one byte more gets one more",
          "[dmem][scratchpad][A11]") {
    for (const std::uint64_t page : {std::uint64_t{512} << 20, std::uint64_t{64} << 20})
        for (std::uint64_t n = 1; n <= 7; ++n) {
            CHECK(pages_for(Bytes{n * page}, Bytes{page}) == n);
            CHECK(pages_for(Bytes{n * page + 1}, Bytes{page}) == n + 1);
            CHECK(pages_for(Bytes{n * page - 1}, Bytes{page}) == n);
        }
    const std::uint64_t top = ~std::uint64_t{0};
    CHECK(pages_for(Bytes{0}, Bytes{4096}) == 0);
    CHECK(pages_for(Bytes{top}, Bytes{top}) == 1);
    CHECK(pages_for(Bytes{top}, Bytes{1}) == top);
    CHECK(pages_for(Bytes{top}, Bytes{std::uint64_t{1} << 63}) == 2);
    CHECK_FALSE(pages_for(Bytes{1}, Bytes{0}));
}

TEST_CASE("the area grows downward from the main pool's end, whichever core asks",
          "[dmem][scratchpad]") {
    SimMachine machine("trn2.3xlarge", GENERATE("2.24.7", "2.30.2"));
    auto driver = open_driver(machine);
    const auto ledger = std::make_shared<Ledger>(kDevice);
    {
        Area area(driver, kDevice, 0, ledger);
        const auto first = area.grow(kPage64, CoreIndex{0});
        const auto second = area.grow(kPage64, CoreIndex{1});
        REQUIRE(first);
        REQUIRE(second);
        const std::uint64_t end = std::uint64_t{23} << 30; // of the main pool of 24 GiB
        CHECK(first->address.value() == end - (64u << 20));
        CHECK(second->address.value() == end - (128u << 20));
        CHECK(area.pages() == 2);
        CHECK(area.size().count() == 128u << 20);
        CHECK(ledger->used_on_channel(0).count() == 128u << 20);
        CHECK(ledger->used_by_core(CoreIndex{0}, Usage::Scratchpad).count() == 64u << 20);
        CHECK(ledger->used_by_core(CoreIndex{1}, Usage::Scratchpad).count() == 64u << 20);
        CHECK(area.page(0)->handle == first->handle);
        CHECK_FALSE(area.page(2));
        CHECK(area.address(Bytes{0}, Bytes{1})->value() == end - (128u << 20));
        CHECK(area.address(Bytes{(128u << 20) - 1}, Bytes{1})->value() == end - 1);
        CHECK_FALSE(area.address(Bytes{128u << 20}, Bytes{1}));
        CHECK(area.address(Bytes{~std::uint64_t{0}}, Bytes{2}).error().detail ==
              Detail::OutOfBounds);

        const auto wrong = area.shrink(*first);
        REQUIRE_FALSE(wrong);
        CHECK(static_cast<int>(wrong.error().status) == 2);
        CHECK(wrong.error().detail == Detail::ScratchpadOrder);
        CHECK(wrong.error().value == 0);
        CHECK(wrong.error().limit == 1);
        CHECK(area.pages() == 2);
        CHECK(area.shrink(*second));
        CHECK(area.shrink(*second).error().detail == Detail::Unmatched);
        CHECK(ledger->used_on_channel(0).count() == 64u << 20);
        CHECK(area.shrink(*first));
        CHECK(ledger->used_on_channel(0) == Bytes{});
        REQUIRE(area.grow(kPage64, CoreIndex{0}));
        REQUIRE(area.grow(kPage64, CoreIndex{1})); // left to the destructor
    }
    CHECK(ledger->used_on_channel(0) == Bytes{});
    driver.disconnect();
    CHECK(machine.kernel->census() == machine.baseline);
}

TEST_CASE("the driver itself frees in any order, and then what follows collides",
          "[dmem][scratchpad]") {
    SimMachine machine("trn1.2xlarge", GENERATE("2.24.7", "2.30.2"));
    auto driver = open_driver(machine);
    const ChunkRequest ask{.size = kPage64, .category = 19};
    const auto first = driver.allocate(kDevice, ask);
    const auto second = driver.allocate(kDevice, ask);
    REQUIRE(second);
    CHECK(driver.free(kDevice, *first)); // no word of the order
    const auto third = driver.allocate(kDevice, ask);
    REQUIRE_FALSE(third); // the total says that the second's place is free
    CHECK(static_cast<int>(third.error().status) == 4);
    CHECK(driver.free(kDevice, *second));
    CHECK(driver.allocate(kDevice, ask));
}

TEST_CASE("running out is a ceiling of its own with both sizes, and the area is as it was",
          "[dmem][scratchpad][A06]") {
    SimMachine machine;
    auto driver = open_driver(machine);
    const auto ledger = std::make_shared<Ledger>(kDevice);
    Area area(driver, kDevice, 0, ledger);
    const Bytes half{std::uint64_t{8} << 30};
    REQUIRE(area.grow(half, CoreIndex{0}));
    const auto refused = area.grow(half, CoreIndex{0});
    REQUIRE_FALSE(refused);
    CHECK(static_cast<int>(refused.error().status) == 4);
    CHECK(refused.error().detail == Detail::ScratchpadCeiling);
    CHECK(refused.error().value == std::uint64_t{8} << 30);
    CHECK(refused.error().asked == std::uint64_t{8} << 30);
    CHECK(refused.error().os_error == ENOMEM);
    CHECK(area.pages() == 1);
    CHECK(area.grow(kPage64, CoreIndex{0}));
}

TEST_CASE("a page that lies elsewhere, for another process grew the region, is given back",
          "[dmem][scratchpad]") {
    SimMachine machine;
    auto driver = open_driver(machine);
    SimDriver other(machine.port(200));
    REQUIRE(other.connect());
    REQUIRE(other.open_device(kDevice));
    const auto ledger = std::make_shared<Ledger>(kDevice);
    Area area(driver, kDevice, 0, ledger);
    REQUIRE(area.grow(kPage64, CoreIndex{0}));
    const auto foreign = other.allocate(kDevice, {.size = kPage64, .category = 19});
    REQUIRE(foreign);
    const auto refused = area.grow(kPage64, CoreIndex{0});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().detail == Detail::SelfCheckFailed);
    CHECK(area.pages() == 1);
    CHECK(ledger->used_on_channel(0) == kPage64);
    CHECK(machine.kernel->census().user_memory().chunks == 2);
    CHECK(other.free(kDevice, *foreign));
    CHECK(area.grow(kPage64, CoreIndex{0}));
}

TEST_CASE("a page that no counter has room for is given back", "[dmem][scratchpad]") {
    SimMachine machine;
    auto driver = open_driver(machine);
    const auto ledger = std::make_shared<Ledger>(kDevice);
    const Bytes nearly{~std::uint64_t{0} - 4096};
    REQUIRE(ledger->add({.usage = Usage::Tensor, .bytes = nearly}));
    Area area(driver, kDevice, 0, ledger);
    const auto refused = area.grow(kPage64, CoreIndex{0});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().detail == Detail::CounterOverflow);
    CHECK(area.pages() == 0);
    CHECK(machine.kernel->census().user_memory().chunks == 0);
    CHECK(ledger->used_on_channel(0) == nearly);
}

TEST_CASE("pages that the driver refuses to take back leave the counters and count as lost",
          "[dmem][scratchpad]") {
    test::LogLines log(LogLevel::Quiet);
    test::FakeDriver driver;
    const auto ledger = std::make_shared<Ledger>(kDevice);
    {
        ScratchpadArea<test::FakeDriver> area(driver, kDevice, 0, ledger);
        REQUIRE(area.grow(kPage64, CoreIndex{0}));
        driver.fail_nth(1, {.status = Status::Failure, .operation = Operation::Free});
    }
    CHECK(ledger->used_on_channel(0) == Bytes{});
    CHECK(ledger->snapshot().lost_on_channel[0] == kPage64.count());
}

TEST_CASE("a page that is not wanted and that the driver keeps counts as lost",
          "[dmem][scratchpad]") {
    test::LogLines log(LogLevel::Quiet);
    test::FakeDriver driver;
    const auto ledger = std::make_shared<Ledger>(kDevice);
    REQUIRE(ledger->add({.usage = Usage::Tensor, .bytes = Bytes{~std::uint64_t{0} - 4096}}));
    ScratchpadArea<test::FakeDriver> area(driver, kDevice, 0, ledger);
    driver.fail_nth(2, {.status = Status::Failure, .operation = Operation::Free});
    CHECK(area.grow(kPage64, CoreIndex{0}).error().detail == Detail::CounterOverflow);
    CHECK(ledger->snapshot().lost_on_channel[0] == 67108864);
}
