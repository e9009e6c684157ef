// SPDX-License-Identifier: Apache-2.0
// Who hears of marks that the program lost, and what making them again may cost.
#include "support/catch.hpp"

#include <cerrno>
#include <functional>

#include "neuronbook/backend/decorated_port.hpp"
#include "neuronbook/backend/ioctl_driver.hpp"
#include "neuronbook/backend/sim/kernel.hpp"
#include "neuronbook/backend/sim/port.hpp"
#include "support/log_lines.hpp"

using namespace neuronbook;

namespace {

std::unique_ptr<SimKernel> machine() {
    auto kernel = SimKernel::make({.instance = "trn1.32xlarge", .poison = true});
    REQUIRE(kernel);
    return *std::move(kernel);
}

IoctlDriver<SimPort> connected(SimKernel& kernel, std::int32_t pid = 100) {
    IoctlDriver driver{SimPort(kernel, {.pid = pid})};
    REQUIRE(driver.connect());
    return driver;
}

/// What a careless program does: opens a node O_WRONLY by itself and closes it.
void lose_marks(SimKernel& kernel, std::int32_t pid = 100) {
    SimPort port(kernel, {.pid = pid});
    const auto fd = port.open("/dev/neuron0", Access::WriteOnly);
    REQUIRE(port.close(static_cast<int>(fd)) == 0);
}

/// Runs something before each MARK of one core, and may answer it with an errno.
struct BeforeMark {
    std::function<std::int64_t(std::uint32_t)>* before;

    template <class F>
    std::int64_t around(const PortEvent& event, F call) {
        if (event.request != uapi::kCrwlNcRangeMarkExt0 || !*before) return call();
        const auto& range = *static_cast<const uapi::CrwlNcMapExt*>(event.argument);
        const bool one = range.nc_count == 1 && range.start_nc_index == range.end_nc_index;
        const std::int64_t answer = one ? (*before)(range.start_nc_index) : 0;
        return answer != 0 ? answer : call();
    }
};

} // namespace

TEST_CASE("a loss is told to whom it concerns, others go on", "[backend][door]") {
    const auto kernel = machine();
    const test::LogLines log(LogLevel::Error);
    auto mine = connected(*kernel);
    auto sibling = connected(*kernel);
    auto other = connected(*kernel, 200);
    REQUIRE(mine.claim(UserCore{0}, 2));
    REQUIRE(sibling.claim(UserCore{4}, 1));
    lose_marks(*kernel);
    REQUIRE(other.claim(UserCore{1}, 1));
    CHECK(sibling.claim(UserCore{8}, 1));
    CHECK(sibling.free_cores(UserCore{0}, 32)); // a look, and none of its own
    CHECK(log.lines.size() == 2);               // made again, and taken
    CHECK(mine.claim(UserCore{16}, 1).error().detail == Detail::MarkTaken);
    CHECK(mine.claim(UserCore{16}, 1));
    // A runtime that comes later has lost nothing.
    auto later = connected(*kernel);
    CHECK(later.claim(UserCore{1}, 1).error().detail == Detail::CoresBusy);
    CHECK(log.lines.size() == 2);
    // The next loss is a new one.
    REQUIRE(other.release(UserCore{1}, 1));
    CHECK(mine.claim(UserCore{17}, 1));
    lose_marks(*kernel);
    REQUIRE(other.claim(UserCore{1}, 1));
    CHECK(sibling.claim(UserCore{9}, 1));
    CHECK(mine.free_cores(UserCore{0}, 1).error().detail == Detail::MarkTaken);
    CHECK(mine.free_cores(UserCore{0}, 1));
}

TEST_CASE("a driver error in the middle does not swallow the loss", "[backend][door]") {
    const auto kernel = machine();
    const test::LogLines quiet(LogLevel::Quiet);
    std::function<std::int64_t(std::uint32_t)> before;
    IoctlDriver mine(DecoratedPort(SimPort(*kernel, {.pid = 100}), BeforeMark{&before}));
    REQUIRE(mine.connect());
    auto other = connected(*kernel, 200);
    REQUIRE(mine.claim(UserCore{0}, 4));
    lose_marks(*kernel);
    REQUIRE(other.claim(UserCore{1}, 1));
    for (const std::uint32_t broken : {0u, 1u, 3u}) {
        before = [=](std::uint32_t core) -> std::int64_t { return core == broken ? -ENOMEM : 0; };
        CHECK(mine.claim(UserCore{8}, 1).error().detail != Detail::MarkTaken);
    }
    before = nullptr;
    const auto again = mine.claim(UserCore{8}, 1);
    REQUIRE_FALSE(again);
    CHECK(again.error().detail == Detail::MarkTaken);
    CHECK(again.error().value == 1);
    CHECK(kernel->census().marks == 4);
    CHECK(mine.claim(UserCore{8}, 1));
}

TEST_CASE("while lost marks are made again, one that is still there is not given away",
          "[backend][door]") {
    const auto kernel = machine();
    const test::LogLines quiet(LogLevel::Quiet);
    std::function<std::int64_t(std::uint32_t)> before;
    IoctlDriver mine(DecoratedPort(SimPort(*kernel, {.pid = 100}), BeforeMark{&before}));
    REQUIRE(mine.connect());
    auto other = connected(*kernel, 200);
    REQUIRE(mine.claim(UserCore{0}, 3));
    lose_marks(*kernel);
    // As when the program closes its descriptor in the middle of a claim: the last mark is new.
    SimPort port(*kernel, {.pid = 100});
    const auto fd = static_cast<int>(port.open("/dev/neuron1", Access::ReadOnly));
    uapi::CrwlNcMapExt mark{.nc_count = 1, .start_nc_index = 0, .end_nc_index = 0};
    REQUIRE(port.ioctl(fd, uapi::kCrwlNcRangeMarkExt0, &mark) == 0); // core 2: relative to node 1
    REQUIRE(port.close(fd) == 0);
    bool lurking = true;
    before = [&](std::uint32_t core) -> std::int64_t {
        if (core != 2 && lurking && other.claim(UserCore{2}, 1)) lurking = false;
        return 0;
    };
    CHECK(mine.claim(UserCore{8}, 1));
    CHECK(lurking); // it never got the core
    CHECK(kernel->census().marks == 4);
}
