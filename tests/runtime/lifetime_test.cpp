// SPDX-License-Identifier: Apache-2.0
// A runtime beside others: other processes, other runtimes, its own end, its process's children.
#include "support/catch.hpp"

#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "neuronbook/neuronbook.hpp"
#include "support/book.hpp"
#include "support/log_lines.hpp"

using namespace neuronbook;
using test::Book;
using test::core;
using test::kQuiet;
using test::quiet_cores;
using test::SimMachine;
using test::up;

TEST_CASE("C07: cores that another process has are refused at once, nothing is left",
          "[runtime][C07]") {
    SimMachine machine("trn1.32xlarge", "2.24.7");
    auto owner = up(machine, quiet_cores(0, 2), 100);
    const auto held = machine.kernel->census();
    const auto refused = Book::open(quiet_cores(0, 2), test::SimDriver(machine.port(200)));
    REQUIRE_FALSE(refused);
    CHECK(static_cast<int>(refused.error().status) == 9);
    CHECK(refused.error().asked == 2);
    CHECK(refused.error().limit == 0);
    CHECK(refused.error().free == 30);
    CHECK(refused.error().lnc == 1);
    CHECK(machine.kernel->census() == held);
    auto neighbour = up(machine, quiet_cores(2, 2), 200);
    CHECK(neighbour->tree().core_count() == 2);
}

TEST_CASE("two runtimes of one process share cores and devices, each with its own books",
          "[runtime]") {
    SimMachine machine;
    auto first = up(machine);
    auto second = up(machine);
    auto block = (*first->allocator(core(0, 0)))->allocate({.size = Bytes{4096}});
    REQUIRE(block);
    CHECK(first->memory(core(0, 0))->used.count() == 4096);
    CHECK(second->memory(core(0, 0))->used.count() == 0);
    block->reset();
    first.reset();
    CHECK(second->usable());
    CHECK((*second->allocator(core(0, 0)))->allocate({.size = Bytes{4096}}));
    CHECK(machine.kernel->census().marks == 2);
    second.reset();
    CHECK(machine.kernel->census() == machine.baseline);
}

TEST_CASE("closing frees what allocators still own, and a block that outlives it is empty",
          "[runtime]") {
    SimMachine machine;
    auto runtime = up(machine);
    auto block = (*runtime->allocator(core(0, 0)))->allocate({.size = Bytes{1u << 20}});
    REQUIRE(block);
    runtime->close();
    CHECK(machine.kernel->census() == machine.baseline);
    CHECK_FALSE(static_cast<bool>(*block));
    CHECK(static_cast<int>(block->chunk().error().status) == 14);
    CHECK_FALSE(runtime->usable());
    CHECK(static_cast<int>(runtime->memory(core(0, 0)).error().status) == 14);
    CHECK(static_cast<int>(runtime->allocator(core(0, 0)).error().status) == 14);
    CHECK(static_cast<int>(runtime->model_allocator(core(0, 0)).error().status) == 14);
    runtime->close(); // twice is once
    auto again = up(machine);
    CHECK(again->usable());
}

TEST_CASE("closing one of two runtimes returns the memory of the models it made allocators for",
          "[runtime]") {
    SimMachine machine;
    auto first = up(machine);
    auto second = up(machine);
    auto kept = (*second->allocator(core(0, 1)))->allocate({.size = Bytes{4096}});
    REQUIRE(kept);
    auto tier = first->model_allocator(core(0, 0));
    REQUIRE(tier);
    auto block = (*tier)->allocate({.size = Bytes{1u << 20}, .usage = Usage::Weight});
    REQUIRE(block);
    CHECK(machine.kernel->census().user_memory().chunks == 2);
    first->close();
    CHECK(machine.kernel->census().user_memory().chunks == 1);
    // What outlives it is closed, not dangling.
    CHECK_FALSE(static_cast<bool>(*block));
    CHECK(static_cast<int>((*tier)->allocate({.size = Bytes{1}}).error().status) == 14);
    CHECK((*tier)->outstanding().blocks == 0);
    first.reset();
    CHECK(static_cast<int>((*tier)->free(*std::move(block)).error().status) == 14);
    tier->reset();
    CHECK(static_cast<bool>(*kept));
}

TEST_CASE("allocators and blocks may outlive a runtime whose driver was disconnected under it",
          "[runtime]") {
    SimMachine machine;
    auto runtime = up(machine);
    auto tier = runtime->model_allocator(core(0, 0));
    REQUIRE(tier);
    auto block = (*tier)->allocate({.size = Bytes{4096}});
    REQUIRE(block);
    runtime->driver().disconnect();
    CHECK(machine.kernel->census() == machine.baseline); // the kernel frees with the descriptor
    runtime.reset();
    block->reset();
    tier->reset();
}

TEST_CASE("D11: a failure at device k closes the others once and logs one line, the first cause",
          "[runtime][D11]") {
    SimMachine machine("trn1.32xlarge", "2.24.7");
    const test::LogLines log(LogLevel::Error);
    // version, door, two identities, routes, pod, claim; then three calls a device.
    machine.plan.fail_nth(7 + 3 * 3 + 1, -EACCES);
    const auto refused =
        Book::open({}, test::SimDriver(machine.port())); // leaves the log's level alone
    REQUIRE_FALSE(refused);
    CHECK(refused.error().detail == Detail::NotPermitted);
    CHECK(refused.error().device == 3);
    CHECK(refused.error().text.view() == "/dev/neuron3");
    CHECK(machine.counts.of(PortCall::Close) == 4); // three devices and the door
    REQUIRE(log.lines.size() == 1);
    CHECK(log.lines[0].first == LogLevel::Error);
    CHECK(log.lines[0].second == describe(refused.error()));
    CHECK(machine.kernel->census() == machine.baseline);
}

TEST_CASE("D14: with one of sixteen devices visible the book comes up with that device's cores",
          "[runtime][D14]") {
    auto kernel = SimKernel::make({.instance = "trn1.32xlarge", .visible = {{HostDeviceId{5}}}});
    REQUIRE(kernel);
    auto runtime = Runtime<SimDriver>::open(kQuiet, SimDriver(SimPort(**kernel)));
    REQUIRE(runtime);
    CHECK((*runtime)->tree().core_count() == 2);
    CHECK((*runtime)->tree().core_at(0)->user() == UserCore{10});
    CHECK((*runtime)->tree().find(HostDeviceId{5})->routing() == RoutingId{3});
    CHECK((*runtime)->routing().size() == 16);
    // Ranges are told in host numbers: the end is past the last core present.
    RuntimeOptions options = quiet_cores(10, 3);
    const auto refused = Runtime<SimDriver>::open(options, SimDriver(SimPort(**kernel)));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().limit == 12);
}

TEST_CASE("D16: without devices the list is empty, and only bring-up fails", "[runtime][D16]") {
    const auto kernel = SimKernel::make({.visible = std::vector<HostDeviceId>{}});
    REQUIRE(kernel);
    SimDriver driver{SimPort(**kernel)};
    const auto devices = driver.devices();
    REQUIRE(devices);
    CHECK(devices->empty());
    const auto none = Runtime<SimDriver>::open(kQuiet, std::move(driver));
    REQUIRE_FALSE(none);
    CHECK(none.error().detail == Detail::NoDevices);
    CHECK((*kernel)->census().open_files == 0);
}

TEST_CASE("claimed cores are reset only when asked", "[runtime]") {
    for (const bool asked : {false, true}) {
        SimMachine machine;
        RuntimeOptions options = kQuiet;
        options.reset_cores = asked;
        auto runtime = up(machine, options);
        char text[32];
        const auto size = machine.port().read_file(
            "/sys/devices/virtual/neuron_device/neuron0/neuron_core0/stats/other_info/"
            "reset_req_count/total",
            text);
        REQUIRE(size > 0);
        CHECK(text[0] == (asked ? '2' : '1')); // the one at load counts
        CHECK(runtime->usable());
    }
}

TEST_CASE("D04: in a forked child a runtime answers UNINITIALIZED and touches nothing",
          "[runtime][D04]") {
    SimMachine machine;
    auto runtime = up(machine);
    auto tier = runtime->model_allocator(core(0, 0));
    REQUIRE(tier);
    auto block = (*tier)->allocate({.size = Bytes{4096}});
    REQUIRE(block);
    const auto calls = machine.counts.total();
    const pid_t child = ::fork();
    if (child == 0) {
        bool good = !runtime->usable();
        const Error memory = runtime->memory(core(0, 0)).error();
        good = good && static_cast<int>(memory.status) == 13 && memory.detail == Detail::Forked;
        good = good && static_cast<int>(runtime->allocator(core(0, 0)).error().status) == 13;
        const LogicalIndex first{0};
        good = good && static_cast<int>(runtime->logical_core(first).error().status) == 13;
        good = good && static_cast<int>(runtime->memory(first).error().status) == 13;
        good = good && static_cast<int>(runtime->peer(core(0, 0), 0).error().status) == 13;
        good = good && !count_cores(kQuiet, test::SimDriver(machine.port()));
        good = good && static_cast<int>((*tier)->allocate({.size = Bytes{1}}).error().status) == 13;
        // In any order, also the runtime first.
        runtime.reset();
        block->reset();
        tier->reset();
        good = good && !Book::open(kQuiet, test::SimDriver(machine.port()));
        ::_exit(good && machine.counts.total() == calls ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK((*tier)->free(*std::move(block)));
    CHECK(machine.kernel->census().marks == 2);
}
