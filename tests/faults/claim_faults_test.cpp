// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include "faults/sweep.hpp"
#include "neuronbook/neuronbook.hpp"
#include "support/book.hpp"

using namespace neuronbook;
using test::Book;
using test::quiet_cores;
using test::quiet_count;
using test::SimMachine;

namespace {

/// A device that says that nobody is attached to it.
struct NobodyAttached {
    template <class F>
    std::int64_t around(const PortEvent& event, F call) {
        return event.request == uapi::kDeviceGetAllAppsInfo ? 0 : call();
    }
};

AnyPort port_of(SimMachine& machine) {
    const DecoratedPort inner(SimPort(*machine.kernel, {.pid = 200}), NobodyAttached{});
    return AnyPort(CountPort(FaultPort(inner, machine.plan), machine.counts));
}

/// Another process, out of reach of the faults, that has some logical cores.
std::unique_ptr<Book> owner_of(SimMachine& machine, std::uint32_t first, std::uint32_t count) {
    auto book = Book::open(quiet_cores(first, count),
                           test::SimDriver(AnyPort(SimPort(*machine.kernel, {.pid = 100}))));
    REQUIRE(book);
    machine.baseline = machine.kernel->census();
    return *std::move(book);
}

/// Another runtime of the process that the faults hit, out of their reach: while it is up the lane
/// stays open, so a mark that is not given back is seen. It has `count` cores.
test::SimDriver sibling_of(SimMachine& machine, std::uint32_t first = 0, std::uint32_t count = 0) {
    test::SimDriver driver(AnyPort(SimPort(*machine.kernel, {.pid = 200})));
    REQUIRE(driver.connect());
    if (count != 0) REQUIRE(driver.claim(UserCore{first}, count));
    machine.baseline = machine.kernel->census();
    return driver;
}

bool refused(SimMachine& machine, const RuntimeOptions& options, Detail detail) {
    const auto book = Book::open(options, test::SimDriver(port_of(machine)));
    return !book && book.error().detail == detail;
}

} // namespace

TEST_CASE("bring-up on a number of cores leaves nothing when any call fails", "[faults]") {
    SimMachine machine("trn2.3xlarge", "2.26.5");
    const auto owner = owner_of(machine, 1, 1);
    const auto sibling = sibling_of(machine, 0, 2);
    test::sweep("bring-up on two free cores", machine, 18, 75, [](SimMachine& m) {
        const auto book = Book::open(quiet_count(2), test::SimDriver(port_of(m)));
        return book && (*book)->logical_cores().owned()[0].id == LogicalCore{2};
    });
}

TEST_CASE("a refused bring-up leaves nothing when any call fails, and nothing of others",
          "[faults]") {
    SimMachine machine("trn2.3xlarge", "2.26.5");
    const auto owner = owner_of(machine, 1, 1);
    const auto sibling = sibling_of(machine);
    test::sweep("cores that another process has", machine, 17, 60, [](SimMachine& m) {
        return refused(m, quiet_cores(0, 2), Detail::LogicalCoresBusy);
    });
    test::sweep("a number of cores that is not free", machine, 21, 80,
                [](SimMachine& m) { return refused(m, quiet_count(3), Detail::NotEnoughCores); });
}

TEST_CASE("a wait for cores leaves nothing when any call fails", "[faults]") {
    SimMachine machine("inf2.xlarge", "2.26.5");
    const auto owner = owner_of(machine, 0, 2);
    const auto sibling = sibling_of(machine);
    test::sweep("waiting for cores", machine, 13, 45, [](SimMachine& m) {
        RuntimeOptions options = quiet_cores(0, 1);
        options.wait_for_cores = Nanoseconds{150'000'000};
        return refused(m, options, Detail::LogicalCoresBusy);
    });
}

TEST_CASE("claims in pieces over missing devices leave nothing when any call fails", "[faults]") {
    SimMachine machine;
    auto made = SimKernel::make(
        {.instance = "trn1.32xlarge", .visible = {{HostDeviceId{0}, HostDeviceId{2}}}});
    REQUIRE(made);
    machine.kernel = *std::move(made);
    const auto sibling = sibling_of(machine, 4, 1);
    test::sweep("bring-up over a gap", machine, 19, 80, [](SimMachine& m) {
        return Book::open(test::kQuiet, test::SimDriver(port_of(m))).has_value();
    });
    const auto owner = owner_of(machine, 5, 1); // the second piece is refused
    test::sweep("a second piece that is refused", machine, 19, 70,
                [](SimMachine& m) { return refused(m, test::kQuiet, Detail::LogicalCoresBusy); });
}

TEST_CASE("claim, look, release: nothing is left when any call fails", "[faults]") {
    SimMachine machine("trn1.32xlarge", "2.26.5");
    const auto sibling = sibling_of(machine, 3, 1);
    test::sweep("claim, look, release", machine, 15, 75, [](SimMachine& m) {
        test::SimDriver driver(port_of(m));
        if (!driver.connect()) return false;
        bool good = driver.claim(UserCore{0}, 4).has_value();
        good = driver.claim(UserCore{6}, 2).has_value() && good;
        const auto free = driver.free_cores(UserCore{0}, 8);
        good = good && free && free->count() == 2;
        return driver.release(UserCore{0}, 8).has_value() && good;
    });
}

TEST_CASE("marks that were lost are made again, and nothing is left when any call fails",
          "[faults]") {
    SimMachine machine("trn1.32xlarge", "2.26.5");
    const auto level = LogLevel::Quiet;
    Log::set_level(level);
    const auto sibling = sibling_of(machine);
    test::sweep("lost marks", machine, 9, 40, [](SimMachine& m) {
        test::SimDriver driver(port_of(m));
        if (!driver.connect()) return false;
        bool good = driver.claim(UserCore{0}, 2).has_value();
        SimPort careless(*m.kernel, {.pid = 200});
        const auto fd = careless.open("/dev/neuron0", Access::WriteOnly);
        REQUIRE(careless.close(static_cast<int>(fd)) == 0);
        good = driver.claim(UserCore{4}, 1).has_value() && good;
        return good && m.kernel->census().marks == 3;
    });
    Log::set_level(LogLevel::Error);
}

TEST_CASE("counting cores leaves nothing when any call fails", "[faults]") {
    SimMachine machine("trn2.48xlarge", "2.26.5");
    const auto owner = owner_of(machine, 0, 64);
    const auto sibling = sibling_of(machine);
    test::sweep("counting cores", machine, 4, 15, [](SimMachine& m) {
        const auto counts = count_cores(test::kQuiet, test::SimDriver(port_of(m)));
        return counts && counts->total == 64;
    });
}
