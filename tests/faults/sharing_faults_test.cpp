// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include <memory>

#include "faults/sweep.hpp"
#include "neuronbook/dmem/ledger.hpp"
#include "neuronbook/dmem/scratchpad_area.hpp"

using namespace neuronbook;
using test::SimDriver;
using test::SimMachine;

namespace {

constexpr HostDeviceId kDevice{0};

} // namespace

TEST_CASE("sharing leaves neither descriptor nor export when any call fails", "[faults]") {
    SimMachine machine;
    auto driver = test::open_driver(machine);
    const auto chunk = driver.allocate(kDevice, {.size = Bytes{1 << 20}, .category = 9});
    REQUIRE(chunk);
    const auto address = driver.map(kDevice, *chunk);
    REQUIRE(address);
    machine.baseline = machine.kernel->census();
    // Reading the version tells of descriptors only, so its faults are not seen.
    test::sweep("share and close", machine, 3, 10, [&](SimMachine&) {
        const auto shared = driver.share(kDevice, *address, Bytes{1 << 20});
        if (!shared) return false;
        return driver.close_shared(*shared).has_value();
    });
    CHECK(driver.unmap(*address, *chunk));
    CHECK(driver.free(kDevice, *chunk));
}

TEST_CASE("the scratchpad is as it was when any call of growing fails", "[faults]") {
    SimMachine machine;
    auto driver = test::open_driver(machine);
    machine.baseline = machine.kernel->census();
    // Two pages: each is allocated, its address asked for, and freed. A free that failed is tried
    // once more, so nothing is lost.
    const auto ledger = std::make_shared<Ledger>(kDevice);
    test::sweep("grow and shrink", machine, 6, 30, [&](SimMachine&) {
        ScratchpadArea<SimDriver> area(driver, kDevice, 0, ledger);
        bool good = true;
        for (int i = 0; i < 2; ++i) good = area.grow(Bytes{64u << 20}, CoreIndex{0}) && good;
        for (auto left = area.pages(); left-- > 0;) {
            const auto page = area.page(left);
            if (area.shrink(*page)) continue;
            good = false;
            CHECK(area.shrink(*page));
        }
        CHECK(ledger->used_on_channel(0) == Bytes{});
        return good && area.pages() == 0;
    });
}
