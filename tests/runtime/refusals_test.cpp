// SPDX-License-Identifier: Apache-2.0
// What a refusal of cores says, what it costs, and what siblings have to do with it.
#include "support/catch.hpp"

#include <cstdint>
#include <memory>
#include <string>

#include "neuronbook/neuronbook.hpp"
#include "support/book.hpp"
#include "support/log_lines.hpp"

using namespace neuronbook;
using test::Book;
using test::kQuiet;
using test::quiet_cores;
using test::quiet_count;
using test::SimMachine;
using test::up;

namespace {

constexpr Nanoseconds kSecond{1'000'000'000};

Error refused(SimMachine& machine, const RuntimeOptions& options, std::int32_t pid) {
    const auto book = Book::open(options, test::SimDriver(machine.port(pid)));
    REQUIRE_FALSE(book);
    return book.error();
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// A clock that moves with every look at it, as a real one does.
struct Ticking : SimPort {
    using SimPort::SimPort;
    Nanoseconds now() { return {SimPort::now().count + ++*ticks}; }
    std::shared_ptr<std::uint64_t> ticks = std::make_shared<std::uint64_t>(0);
};

} // namespace

TEST_CASE("a refusal waits for no reset", "[runtime][C07]") {
    for (const auto& faults : {SimFaults{.resets_hang = true}, SimFaults{.never_ready = true}}) {
        auto made = SimKernel::make(
            {.instance = "trn1.32xlarge", .driver_version = "2.26.5", .faults = faults});
        REQUIRE(made);
        SimKernel& kernel = **made;
        SimDriver owner(SimPort(kernel, {.pid = 100}));
        REQUIRE(owner.connect());
        REQUIRE(owner.claim(UserCore{0}, 8));
        const auto start = kernel.now();
        const auto book =
            Runtime<SimDriver>::open(quiet_cores(0, 8), SimDriver(SimPort(kernel, {.pid = 200})));
        REQUIRE_FALSE(book);
        CHECK(book.error().detail == Detail::LogicalCoresBusy);
        CHECK(has(describe(book.error()),
                  "who is attached to nd0 cannot be told: the device is being reset"));
        CHECK(kernel.now().count - start.count < kSecond.count);
    }
}

TEST_CASE("cores of a sibling runtime count as available by their numbers, and use up no question",
          "[runtime][C07][C10]") {
    SimMachine machine("trn1.32xlarge", "2.26.5");
    auto sibling = up(machine, quiet_cores(0, 8), 100);
    auto owner = up(machine, quiet_cores(8, 1), 300);
    const auto error = refused(machine, quiet_cores(0, 10), 100);
    CHECK(error.detail == Detail::LogicalCoresBusy);
    CHECK(error.limit == 9);
    CHECK(error.free == 22);
    CHECK(error.text.view() == "attached: 300"); // of the fifth device
    // A number of cores is never made of a sibling's.
    const auto count = refused(machine, quiet_count(24), 100);
    CHECK(count.limit == 23);
    CHECK(count.largest == 23);
}

TEST_CASE("that a runtime waits is said once, whatever the clock", "[runtime][D01]") {
    SimMachine machine("inf2.xlarge", "2.26.5");
    auto owner = up(machine, kQuiet, 100);
    const test::LogLines log(LogLevel::Info);
    RuntimeOptions options = quiet_cores(0, 1);
    options.wait_for_cores = Nanoseconds{250'000'000};
    options.log_level.reset();
    const auto book = Runtime<IoctlDriver<Ticking>>::open(
        options, IoctlDriver(Ticking(*machine.kernel, {.pid = 200})));
    REQUIRE_FALSE(book);
    int told = 0;
    for (const auto& line : log.lines) told += has(line.second, "waiting for cores");
    CHECK(told == 1);
}

TEST_CASE("cores that a sibling runtime has are not reset with the others", "[runtime]") {
    SimMachine machine("trn1.32xlarge", "2.26.5");
    auto sibling = up(machine, quiet_cores(0, 1));
    auto options = quiet_cores(0, 2);
    options.log_level.reset();
    options.reset_cores = true;
    const auto resets = [&](int core) {
        char text[32]{};
        const std::string path = "/sys/devices/virtual/neuron_device/neuron0/neuron_core" +
                                 std::to_string(core) + "/stats/other_info/reset_req_count/total";
        REQUIRE(machine.port().read_file(path.c_str(), text) > 0);
        return std::stoi(text);
    };
    const int before[] = {resets(0), resets(1)};
    const test::LogLines log(LogLevel::Warn);
    const auto book = up(machine, options);
    CHECK(resets(0) == before[0]);
    CHECK(resets(1) == before[1] + 1);
    REQUIRE(log.lines.size() == 1);
    CHECK(has(log.lines[0].second, "core 0 is not reset"));
}

namespace {

/// As if there were an instance of the simulated machine's family that takes one size only.
struct OnlyTwo : RuntimeShape {
    static constexpr Instance kInstanceTable[] = {
        {"trn2.only2", InstanceFamily::Trn2, Architecture::Cayman, 1, Platform::Standard, true}};
};

} // namespace

TEST_CASE("on an instance that takes logical cores of two only, other sizes are refused",
          "[runtime][cores]") {
    for (const char* version : {"2.26.5", "2.30.2"}) {
        SimMachine machine("trn2.3xlarge", version);
        auto options = kQuiet;
        using Two = Runtime<test::SimDriver, OnlyTwo>;
        CHECK(Two::open(options, test::SimDriver(machine.port())));
        options.lnc_size = 2;
        CHECK(Two::open(options, test::SimDriver(machine.port())));
        options.lnc_size = 1;
        const auto refused_one = Two::open(options, test::SimDriver(machine.port()));
        REQUIRE_FALSE(refused_one);
        CHECK(refused_one.error().detail == Detail::LncOnlyTwo);
        CHECK(machine.kernel->census() == machine.baseline);
        CHECK(Book::open(options, test::SimDriver(machine.port())));
    }
}
