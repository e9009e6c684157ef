// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "neuronbook/backend/count_port.hpp"
#include "neuronbook/backend/fault_port.hpp"
#include "neuronbook/backend/ioctl_driver.hpp"
#include "neuronbook/backend/sim/kernel.hpp"
#include "neuronbook/backend/sim/port.hpp"
#include "support/door_drivers.hpp"

using namespace neuronbook;
using test::door::connected;
using test::door::machine;
using test::door::SimDriver;

namespace {

constexpr ChunkRequest kMegabyte{.size = Bytes{1u << 20}, .alignment = Bytes{0}};

/// What a child answers, as its exit status.
template <class F>
int in_child(F body) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(body() ? 0 : 1);
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

} // namespace

TEST_CASE("two runtimes of a process open each node once", "[backend][door]") {
    const auto kernel = machine();
    CallCounts counts;
    using Counted = IoctlDriver<CountPort<SimPort>>;
    const CountPort port(SimPort(*kernel, {.pid = 7}), counts);
    Counted first(port);
    Counted second(port);
    REQUIRE(first.connect());
    REQUIRE(first.open_device(HostDeviceId{0}));
    CHECK(counts.of(PortCall::Open) == 2);
    REQUIRE(second.connect());
    REQUIRE(second.open_device(HostDeviceId{0}));
    CHECK(counts.of(PortCall::Open) == 2);
    first.disconnect();
    CHECK(counts.of(PortCall::Close) == 0);
    second.disconnect();
    CHECK(counts.of(PortCall::Close) == 2);
    CHECK(kernel->census().open_files == 0);
}

TEST_CASE("closing one driver drops only its own marks and keeps the others' memory",
          "[backend][door]") {
    const auto kernel = machine();
    const auto baseline = kernel->census();
    auto first = connected(*kernel);
    auto second = connected(*kernel);
    REQUIRE(first.claim(UserCore{0}, 4));
    REQUIRE(second.claim(UserCore{2}, 4)); // cores 2 and 3 are shared, 4 and 5 its own
    CHECK(kernel->census().marks == 6);
    REQUIRE(first.open_device(HostDeviceId{0}));
    REQUIRE(second.open_device(HostDeviceId{0}));
    const auto kept = second.allocate(HostDeviceId{0}, kMegabyte);
    REQUIRE(kept);

    first.disconnect();
    CHECK(kernel->census().marks == 4);
    CHECK(second.free(HostDeviceId{0}, *kept));

    second.disconnect();
    CHECK(kernel->census() == baseline);
}

TEST_CASE("a core of another process is refused with requested and available", "[backend][door]") {
    const auto kernel = machine("trn1.2xlarge");
    auto owner = connected(*kernel, 100);
    REQUIRE(owner.claim(UserCore{1}, 1));
    auto other = connected(*kernel, 200);
    const auto refused = other.claim(UserCore{0}, 2);
    REQUIRE_FALSE(refused);
    CHECK(static_cast<int>(refused.error().status) == 9);
    CHECK(refused.error().detail == Detail::CoresBusy);
    CHECK(refused.error().value == 0);
    CHECK(refused.error().asked == 2);
    CHECK(refused.error().limit == 1);
    CHECK(kernel->census().marks == 1);
    CHECK(other.claim(UserCore{0}, 1));
}

TEST_CASE("a claim whose second part is refused gives the first back", "[backend][door]") {
    const auto kernel = machine();
    auto mine = connected(*kernel, 100);
    auto sibling = connected(*kernel, 100);
    auto other = connected(*kernel, 200);
    REQUIRE(sibling.claim(UserCore{2}, 1));
    REQUIRE(other.claim(UserCore{4}, 1));
    // 0 and 1 are marked first, 2 is shared, 3 and 4 are refused together.
    CHECK_FALSE(mine.claim(UserCore{0}, 5));
    CHECK(kernel->census().marks == 2);
    sibling.disconnect();
    CHECK(kernel->census().marks == 1);
}

TEST_CASE("a refused claim keeps what was held before it", "[backend][door]") {
    const auto kernel = machine();
    auto mine = connected(*kernel, 100);
    auto other = connected(*kernel, 200);
    REQUIRE(mine.claim(UserCore{0}, 1));
    REQUIRE(other.claim(UserCore{1}, 1));
    CHECK_FALSE(mine.claim(UserCore{0}, 3));
    CHECK(kernel->census().marks == 2);
    CHECK_FALSE(other.claim(UserCore{0}, 1)); // still mine
    CHECK(mine.release(UserCore{0}, 1));
    CHECK(other.claim(UserCore{0}, 1));
}

TEST_CASE("a device opened again is described again, and a failure leaves it open",
          "[backend][door]") {
    const auto kernel = machine();
    FaultPlan plan;
    IoctlDriver driver{FaultPort(SimPort(*kernel, {.pid = 100}), plan)};
    REQUIRE(driver.connect());
    REQUIRE(driver.open_device(HostDeviceId{0}));
    const auto chunk = driver.allocate(HostDeviceId{0}, kMegabyte);
    REQUIRE(chunk);
    CHECK(driver.open_device(HostDeviceId{0}));
    plan.fail_nth(1, -EINVAL); // DEVICE_INFO
    CHECK_FALSE(driver.open_device(HostDeviceId{0}));
    CHECK(driver.free(HostDeviceId{0}, *chunk));
}

TEST_CASE("a range outside the machine is refused before any call", "[backend][door]") {
    const auto kernel = machine();
    auto driver = connected(*kernel);
    for (const auto& [first, count] :
         {std::pair{0u, 0u}, {127u, 2u}, {128u, 1u}, {0u, 129u}, {0xFFFF'FFFFu, 2u}}) {
        const auto refused = driver.claim(UserCore{first}, count);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().detail == Detail::CoreRangeInvalid);
        CHECK(refused.error().value == first);
    }
    CHECK(kernel->census().marks == 0);
}

TEST_CASE("D04: a forked child sends nothing, frees nothing, and answers UNINITIALIZED",
          "[backend][door][D04]") {
    const auto kernel = machine();
    CallCounts counts;
    IoctlDriver driver(CountPort(SimPort(*kernel, {.pid = 7}), counts));
    REQUIRE(driver.connect());
    REQUIRE(driver.claim(UserCore{0}, 2));
    REQUIRE(driver.open_device(HostDeviceId{0}));
    const auto chunk = driver.allocate(HostDeviceId{0}, kMegabyte);
    REQUIRE(chunk);
    const auto before = counts.total();
    const auto uninitialized = [](const auto& result) {
        return !result && static_cast<int>(result.error().status) == 13 &&
               result.error().detail == Detail::Forked;
    };
    CHECK(in_child([&] {
              std::byte buffer[16]{};
              bool good = !driver.usable();
              good = good && uninitialized(driver.allocate(HostDeviceId{0}, kMegabyte));
              good = good && uninitialized(driver.free(HostDeviceId{0}, *chunk));
              good = good && uninitialized(driver.write(HostDeviceId{0}, *chunk, Bytes{0}, buffer));
              good = good && uninitialized(driver.read(HostDeviceId{0}, *chunk, Bytes{0}, buffer));
              good = good && uninitialized(driver.claim(UserCore{4}, 1));
              good = good && uninitialized(driver.release(UserCore{0}, 1));
              good = good && uninitialized(driver.devices());
              good = good && uninitialized(driver.routing_ids());
              good = good && uninitialized(driver.core_map());
              good = good && uninitialized(driver.pod());
              good = good && uninitialized(driver.open_device(HostDeviceId{1}));
              good = good && uninitialized(driver.close_device(HostDeviceId{0}));
              good = good && uninitialized(driver.reset_cores(HostDeviceId{0}, 1));
              good = good && uninitialized(driver.chunks(HostDeviceId{0}, 0));
              good = good && uninitialized(driver.map(HostDeviceId{0}, *chunk));
              driver.disconnect();
              IoctlDriver another(SimPort(*kernel, {.pid = 7}));
              good = good && uninitialized(another.connect());
              return good && counts.total() == before;
          }) == 0);
    CHECK(counts.total() == before);
    CHECK(driver.free(HostDeviceId{0}, *chunk));
    CHECK(kernel->census().marks == 2);
}

TEST_CASE("a child that was forked while no door was open starts afresh", "[backend][door]") {
    const auto kernel = machine();
    {
        auto driver = connected(*kernel); // a door that was open once, and is shut
        REQUIRE(driver.usable());
    }
    CHECK(in_child([&] {
              SimDriver driver{SimPort(*kernel, {.pid = 8})};
              return driver.connect() && driver.open_device(HostDeviceId{0}) &&
                     driver.allocate(HostDeviceId{0}, kMegabyte);
          }) == 0);
}

TEST_CASE("many kernels at once leave no descriptor behind", "[backend][door]") {
    std::vector<std::unique_ptr<SimKernel>> kernels;
    std::vector<std::unique_ptr<SimDriver>> drivers;
    for (int i = 0; i < 40; ++i) {
        kernels.push_back(machine("trn1.2xlarge"));
        drivers.push_back(std::make_unique<SimDriver>(SimPort(*kernels.back())));
        REQUIRE(drivers.back()->connect());
    }
    drivers.clear();
    for (const auto& kernel : kernels) CHECK(kernel->census().open_files == 0);
}
