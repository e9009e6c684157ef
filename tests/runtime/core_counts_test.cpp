// SPDX-License-Identifier: Apache-2.0
// Counting cores without a runtime, or beside one.
#include "support/catch.hpp"

#include <vector>

#include "neuronbook/neuronbook.hpp"
#include "support/book.hpp"

using namespace neuronbook;
using test::Book;
using test::kQuiet;
using test::quiet_cores;
using test::quiet_count;
using test::SimMachine;
using test::up;

TEST_CASE("D03: cores are counted while another process has all of them", "[runtime][D03]") {
    SimMachine machine("trn2.48xlarge", "2.26.5");
    auto owner = up(machine, kQuiet, 100);
    const auto held = machine.kernel->census();
    const auto counts = count_cores(quiet_cores(60, 4), test::SimDriver(machine.port(200)));
    REQUIRE(counts);
    CHECK(*counts == CoreCounts{64, 4});
    CHECK(count_cores(quiet_count(7), test::SimDriver(machine.port(200)))->visible == 7);
    CHECK(machine.kernel->census() == held);
    const auto refused = Book::open(kQuiet, test::SimDriver(machine.port(200)));
    REQUIRE_FALSE(refused);
    CHECK(static_cast<int>(refused.error().status) == 9);
}

TEST_CASE("D03: counting beside a runtime of the same process keeps its marks", "[runtime][D03]") {
    SimMachine machine("trn1.32xlarge", "2.26.5");
    auto book = up(machine, quiet_count(2));
    const auto held = machine.kernel->census();
    CHECK(*count_cores(kQuiet, test::SimDriver(machine.port())) == CoreCounts{32, 32});
    CHECK(machine.kernel->census() == held);
    CHECK(book->usable());
}

TEST_CASE("what cannot be is not counted", "[runtime][claims]") {
    SimMachine machine("trn2.3xlarge", "2.26.5");
    const auto count = [&](const RuntimeOptions& options) {
        return count_cores(options, test::SimDriver(machine.port()));
    };
    CHECK(count(quiet_cores(3, 2)).error().detail == Detail::CoresPastEnd);
    const auto many = count(quiet_count(5));
    REQUIRE_FALSE(many);
    CHECK(many.error().detail == Detail::NotEnoughCores);
    CHECK(many.error().limit == 4);
    CHECK(many.error().largest == 4);
    RuntimeOptions size = kQuiet;
    size.lnc_size = 1;
    CHECK(count(size)->total == 8);
    size.lnc_size = 3;
    CHECK(count(size).error().detail == Detail::LncSizeInvalid);
    CHECK(machine.kernel->census() == machine.baseline);
}

TEST_CASE("D16: without devices there are no cores to count, and that is no failure",
          "[runtime][D16]") {
    const auto kernel = SimKernel::make({.visible = std::vector<HostDeviceId>{}});
    REQUIRE(kernel);
    CHECK(*count_cores(quiet_cores(0, 1), SimDriver(SimPort(**kernel))) == CoreCounts{});
    CHECK((*kernel)->census().open_files == 0);
}
