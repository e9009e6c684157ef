// SPDX-License-Identifier: Apache-2.0
// What a driver object gives back: in which order, and what happens when the kernel does not take
// it.
#include "support/catch.hpp"

#include <atomic>
#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "neuronbook/backend/decorated_port.hpp"
#include "neuronbook/backend/ioctl_driver.hpp"
#include "neuronbook/backend/sim/kernel.hpp"
#include "neuronbook/backend/sim/port.hpp"
#include "support/door_drivers.hpp"
#include "support/log_lines.hpp"

using namespace neuronbook;
using test::door::connected;
using test::door::machine;

namespace {

/// Writes down what is closed and unmarked, and refuses some unmarks.
struct Watch {
    std::vector<std::string>* seen;
    int* refusals;

    template <class F>
    std::int64_t around(const PortEvent& event, F call) {
        if (event.call == PortCall::Close) seen->push_back("close");
        if (event.request != uapi::kCrwlNcRangeUnmarkExt0) return call();
        seen->push_back("unmark");
        return *refusals > 0 ? (--*refusals, -EPERM) : call();
    }
};

} // namespace

TEST_CASE("a driver object leaves its devices before it gives its cores to others",
          "[backend][door]") {
    const auto kernel = machine();
    std::vector<std::string> seen;
    int refusals = 0;
    IoctlDriver driver(DecoratedPort(SimPort(*kernel, {.pid = 100}), Watch{&seen, &refusals}));
    REQUIRE(driver.connect());
    REQUIRE(driver.claim(UserCore{0}, 4));
    REQUIRE(driver.open_device(HostDeviceId{0}));
    REQUIRE(driver.open_device(HostDeviceId{1}));
    driver.disconnect();
    CHECK(seen == std::vector<std::string>{"close", "close", "unmark", "close"});
}

TEST_CASE("a mark that the driver did not take back is tried again at the next operation",
          "[backend][door]") {
    const auto kernel = machine();
    std::vector<std::string> seen;
    int refusals = 0;
    IoctlDriver mine(DecoratedPort(SimPort(*kernel, {.pid = 100}), Watch{&seen, &refusals}));
    auto sibling = connected(*kernel);
    auto other = connected(*kernel, 200);
    REQUIRE(mine.connect());
    REQUIRE(mine.claim(UserCore{0}, 2));
    refusals = 1;
    CHECK_FALSE(mine.release(UserCore{0}, 2));
    CHECK(kernel->census().marks == 2);
    SECTION("a claim") {
        CHECK(sibling.claim(UserCore{4}, 1));
        CHECK(kernel->census().marks == 1);
        CHECK(other.claim(UserCore{0}, 2));
    }
    SECTION("a look") {
        CHECK(sibling.free_cores(UserCore{0}, 4)->count() == 4);
        CHECK(kernel->census().marks == 0);
    }
    SECTION("a release") {
        CHECK(sibling.release(UserCore{6}, 1));
        CHECK(kernel->census().marks == 0);
    }
    SECTION("a claim of the same cores, which are free then") {
        CHECK(sibling.claim(UserCore{0}, 2));
        CHECK(kernel->census().marks == 2);
        CHECK(other.claim(UserCore{0}, 1).error().detail == Detail::CoresBusy);
        sibling.disconnect();
        CHECK(kernel->census().marks == 0);
    }
    SECTION("again and again, and until then the core is as busy as the kernel says") {
        refusals = 2;
        CHECK(mine.claim(UserCore{1}, 1).error().detail == Detail::CoresBusy);
        CHECK(mine.claim(UserCore{4}, 1));
        CHECK(kernel->census().marks == 3);
        CHECK(mine.claim(UserCore{1}, 1));
        CHECK(kernel->census().marks == 2);
    }
}

TEST_CASE("a driver object that goes tries an unmark twice", "[backend][door]") {
    const auto kernel = machine();
    const test::LogLines log;
    std::vector<std::string> seen;
    int refusals = 0;
    IoctlDriver mine(DecoratedPort(SimPort(*kernel, {.pid = 100}), Watch{&seen, &refusals}));
    auto sibling = connected(*kernel);
    REQUIRE(mine.connect());
    REQUIRE(mine.claim(UserCore{0}, 2));
    refusals = 1;
    mine.disconnect();
    CHECK(kernel->census().marks == 0);
    CHECK(seen == std::vector<std::string>{"unmark", "unmark"});
    CHECK(log.lines.size() == 1);
}

TEST_CASE("questions about a device from several threads share one descriptor with its user",
          "[backend][door]") {
    const auto kernel = machine("trn1.2xlarge");
    auto driver = connected(*kernel);
    std::atomic<int> wrong{0};
    const auto ask = [&] {
        for (int i = 0; i < 200; ++i)
            if (!driver.attached(HostDeviceId{0})) ++wrong;
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) threads.emplace_back(ask);
    auto sibling = connected(*kernel);
    for (int i = 0; i < 200; ++i) {
        if (!sibling.open_device(HostDeviceId{0})) ++wrong;
        const auto made =
            sibling.allocate(HostDeviceId{0}, {.size = Bytes{4096}, .alignment = Bytes{0}});
        if (!made || !sibling.free(HostDeviceId{0}, *made)) ++wrong;
        if (!sibling.close_device(HostDeviceId{0})) ++wrong;
    }
    for (auto& thread : threads) thread.join();
    CHECK(wrong == 0);
    sibling.disconnect();
    driver.disconnect();
    CHECK(kernel->census().open_files == 0);
}
