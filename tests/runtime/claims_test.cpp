// SPDX-License-Identifier: Apache-2.0
// Several processes and the same cores: refusals, deaths, waiting.
#include "support/catch.hpp"

#include <memory>
#include <string>
#include <utility>

#include "neuronbook/neuronbook.hpp"
#include "support/book.hpp"
#include "support/log_lines.hpp"

using namespace neuronbook;
using test::Book;
using test::core;
using test::kQuiet;
using test::quiet_cores;
using test::quiet_count;
using test::SimMachine;
using test::up;

namespace {

constexpr Nanoseconds kSecond{1'000'000'000};

RuntimeOptions waiting(RuntimeOptions options, Nanoseconds most) {
    options.wait_for_cores = most;
    return options;
}

Error refused(SimMachine& machine, const RuntimeOptions& options, std::int32_t pid) {
    const auto book = Book::open(options, test::SimDriver(machine.port(pid)));
    REQUIRE_FALSE(book);
    return book.error();
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// Ends a process of a machine after some sleeps of another.
struct DiesLater {
    SimKernel* kernel;
    std::int32_t pid;
    Nanoseconds when;

    template <class F>
    std::int64_t around(const PortEvent&, F call) {
        if (kernel->now() >= when) kernel->end_process(pid);
        return call();
    }
};

/// Another process that is faster: it takes core 0 right after the first look.
struct Faster {
    SimDriver* other;
    bool* done;

    template <class F>
    std::int64_t around(const PortEvent& event, F call) {
        const auto answer = call();
        if (event.request == uapi::kCrwlNcRangeMarkExt0 && !std::exchange(*done, true))
            CHECK(other->claim(UserCore{0}, 1));
        return answer;
    }
};

/// A port during whose sleep another runtime of the process claims a core and gives it back.
struct Naps : SimPort {
    Naps(SimKernel& kernel, SimDriver* other) : SimPort(kernel, {.pid = 200}), sibling(other) {}

    void sleep(Nanoseconds duration) {
        ++*naps;
        CHECK(sibling->claim(UserCore{20}, 1));
        CHECK(sibling->release(UserCore{20}, 1));
        SimPort::sleep(duration);
    }

    SimDriver* sibling;
    std::shared_ptr<int> naps = std::make_shared<int>(0);
};

} // namespace

TEST_CASE("C10, D06: a refusal carries requested, available, size, and what is free elsewhere",
          "[runtime][C10][D06]") {
    SimMachine machine("trn2.48xlarge", "2.26.5");
    auto owner = up(machine, quiet_cores(1, 2), 100);
    const auto error = refused(machine, quiet_cores(0, 4), 200);
    CHECK(static_cast<int>(error.status) == 9);
    CHECK(error.detail == Detail::LogicalCoresBusy);
    CHECK(error.asked == 4);
    CHECK(error.limit == 2);
    CHECK(error.lnc == 2);
    CHECK(error.free == 60);
    CHECK(has(describe(error), "4 requested from logical core 0 on, 2 available, virtual core size "
                               "2, 60 free elsewhere"));
    CHECK(machine.kernel->census().marks == 4);
    // Looking is allowed.
    CHECK(*count_cores(kQuiet, test::SimDriver(machine.port(200))) == CoreCounts{64, 64});
}

TEST_CASE("C10: a count that cannot be had says how many are free, and how many in a row",
          "[runtime][C10]") {
    SimMachine machine("trn2.3xlarge", "2.26.5");
    auto owner = up(machine, quiet_cores(1, 1), 100);
    const auto error = refused(machine, quiet_count(3), 200);
    CHECK(static_cast<int>(error.status) == 9);
    CHECK(error.detail == Detail::NotEnoughCores);
    CHECK(error.asked == 3);
    CHECK(error.limit == 3);
    CHECK(error.largest == 2);
    CHECK(error.lnc == 2);
    CHECK(has(describe(error), "not enough free cores: 3 logical cores in a row requested, 3 "
                               "available, virtual core size 2, 2 of them in a row"));
    // More than there are is refused at once, however long one would wait.
    const auto before = machine.kernel->now();
    CHECK(refused(machine, waiting(quiet_count(5), {100 * kSecond.count}), 200).asked == 5);
    CHECK(machine.kernel->now().count - before.count < kSecond.count);
}

TEST_CASE("a count gets whole logical cores, lowest first, also right behind a busy core",
          "[runtime][claims]") {
    SimMachine machine("trn2.3xlarge", "2.26.5");
    RuntimeOptions odd = quiet_cores(1, 2); // users 1 and 2, as a process of size 1 may have
    odd.lnc_size = 1;
    auto owner = up(machine, odd, 100);
    auto pair = up(machine, quiet_count(1), 200);
    CHECK(pair->logical_cores().owned()[0].id == LogicalCore{2}); // 0 and 1 are broken
    CHECK(refused(machine, quiet_count(2), 300).limit == 1);
    RuntimeOptions single = quiet_count(1);
    single.lnc_size = 1;
    auto lowest = up(machine, single, 300);
    CHECK(lowest->logical_cores().owned()[0].id == LogicalCore{0});
    auto behind = up(machine, single, 400);
    CHECK(behind->logical_cores().owned()[0].id == LogicalCore{3}); // right behind the busy 2
}

TEST_CASE("two runtimes of one process that ask for a number of cores get different ones",
          "[runtime][claims]") {
    SimMachine machine("trn1.32xlarge", "2.26.5");
    auto first = up(machine, quiet_count(2));
    auto second = up(machine, quiet_count(2));
    CHECK(second->logical_cores().owned()[0].id == LogicalCore{2});
    first.reset();
    CHECK(machine.kernel->census().marks == 2);
}

TEST_CASE("a core that another process takes between look and claim costs another look",
          "[runtime][claims]") {
    SimMachine machine("trn1.2xlarge", "2.26.5");
    SimDriver other(SimPort(*machine.kernel, {.pid = 300}));
    REQUIRE(other.connect());
    bool done = false;
    const AnyPort port(
        DecoratedPort(SimPort(*machine.kernel, {.pid = 200}), Faster{&other, &done}));
    const auto book = Book::open(quiet_count(1), test::SimDriver(port));
    REQUIRE(book);
    CHECK((*book)->logical_cores().owned()[0].id == LogicalCore{1});
    CHECK(machine.kernel->census().marks == 2);
}

TEST_CASE("D01, D07: cores of a killed process are free when its descriptors are closed",
          "[runtime][D01][D07]") {
    SimMachine machine("inf2.xlarge", "2.26.5");
    auto owner = up(machine, kQuiet, 100);
    CHECK(static_cast<int>(refused(machine, kQuiet, 200).status) == 9);
    machine.kernel->end_process(100);
    CHECK(machine.kernel->census() == machine.baseline); // nothing of a claim outlives it
    const auto next = up(machine, kQuiet, 200);
    CHECK(next->logical_cores().owned().size() == 2);
}

TEST_CASE("D01: waiting for cores ends one poll after they are free", "[runtime][D01]") {
    SimMachine machine("inf2.xlarge", "2.26.5");
    auto owner = up(machine, kQuiet, 100);
    const auto start = machine.kernel->now();
    const Nanoseconds death{start.count + kSecond.count};
    const auto port = AnyPort(DecoratedPort(SimPort(*machine.kernel, {.pid = 200}),
                                            DiesLater{machine.kernel.get(), 100, death}));
    const auto next = Book::open(waiting(kQuiet, {60 * kSecond.count}), test::SimDriver(port));
    REQUIRE(next);
    const auto waited = machine.kernel->now().count - start.count;
    CHECK(waited >= kSecond.count);
    CHECK(waited <= kSecond.count + 100'000'000);
}

TEST_CASE("D01: a deadline that passes is the same refusal, later", "[runtime][D01]") {
    SimMachine machine("inf2.xlarge", "2.26.5");
    auto owner = up(machine, kQuiet, 100);
    const auto held = machine.kernel->census();
    for (const std::uint64_t most : {std::uint64_t{0}, std::uint64_t{250'000'000}}) {
        const auto start = machine.kernel->now();
        const auto error = refused(machine, waiting(quiet_count(1), {most}), 200);
        CHECK(error.detail == Detail::NotEnoughCores);
        const auto waited = machine.kernel->now().count - start.count;
        CHECK(waited >= most);
        CHECK(waited < most + 50'000'000); // leaving a device takes the driver 10 ms
        CHECK(machine.kernel->census() == held);
    }
}

TEST_CASE("while a runtime waits for cores its process can claim others", "[runtime][claims]") {
    SimMachine machine("trn1.32xlarge", "2.26.5");
    auto owner = up(machine, quiet_cores(0, 1), 100);
    SimDriver sibling(SimPort(*machine.kernel, {.pid = 200}));
    REQUIRE(sibling.connect());
    const Naps port(*machine.kernel, &sibling);
    const auto refused = Runtime<IoctlDriver<Naps>>::open(waiting(quiet_cores(0, 1), {350'000'000}),
                                                          IoctlDriver(port));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().detail == Detail::LogicalCoresBusy);
    CHECK(*port.naps == 4);
    CHECK(machine.kernel->census().marks == 1);
}

TEST_CASE("marks that the program dropped itself are back at the next bring-up, with a line in the "
          "log",
          "[runtime][claims]") {
    SimMachine machine("trn1.32xlarge", "2.26.5");
    auto book = up(machine, quiet_count(4));
    SimPort careless(*machine.kernel, {.pid = 100});
    const auto fd = careless.open("/dev/neuron3", Access::WriteOnly);
    CHECK(careless.close(static_cast<int>(fd)) == 0);
    CHECK(machine.kernel->census().marks == 0);
    const test::LogLines log(LogLevel::Error);
    auto options = quiet_count(1);
    options.log_level.reset();
    auto second = up(machine, options);
    CHECK(second->logical_cores().owned()[0].id == LogicalCore{4});
    CHECK(machine.kernel->census().marks == 5);
    REQUIRE(log.lines.size() == 1);
    CHECK(has(log.lines[0].second, "the marks of cores 0-3 were lost"));
    second.reset();

    CHECK(careless.close(static_cast<int>(careless.open("/dev/neuron0", Access::WriteOnly))) == 0);
    auto thief = up(machine, quiet_cores(1, 1), 200);
    const auto error = refused(machine, quiet_cores(1, 1), 100);
    CHECK(error.detail == Detail::MarkTaken);
    CHECK(error.value == 1);
    CHECK(has(describe(error), "core 1 was this process's and is another's now"));
    CHECK(up(machine, quiet_count(1))->logical_cores().owned()[0].id == LogicalCore{4});
}

TEST_CASE("C07: a refusal names the process that is attached", "[runtime][C07]") {
    SimMachine machine("trn1.32xlarge", "2.26.5");
    auto owner = up(machine, quiet_cores(0, 1), 4711);
    const auto held = machine.kernel->census();
    const auto error = refused(machine, quiet_cores(0, 1), 200);
    CHECK(error.text.view() == "attached: 4711");
    CHECK(machine.kernel->census() == held);
}
