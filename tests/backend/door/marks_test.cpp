// SPDX-License-Identifier: Apache-2.0
// Looking for free cores without taking them, and marks that the program itself lost.
#include "support/catch.hpp"

#include <set>
#include <string>

#include "neuronbook/backend/count_port.hpp"
#include "neuronbook/backend/ioctl_driver.hpp"
#include "neuronbook/backend/sim/kernel.hpp"
#include "neuronbook/backend/sim/port.hpp"
#include "support/door_drivers.hpp"
#include "support/log_lines.hpp"

using namespace neuronbook;
using test::door::connected;
using test::door::machine;
using test::door::SimDriver;

namespace {

/// What a careless program does: opens a node O_WRONLY by itself and closes it.
void lose_marks(SimKernel& kernel, std::int32_t pid) {
    SimPort port(kernel, {.pid = pid});
    const auto fd = port.open("/dev/neuron0", Access::WriteOnly);
    REQUIRE(fd >= 0);
    REQUIRE(port.close(static_cast<int>(fd)) == 0);
}

std::set<std::uint32_t> free_of(SimDriver& driver, std::uint32_t first, std::uint32_t count) {
    const auto free = driver.free_cores(UserCore{first}, count);
    REQUIRE(free);
    std::set<std::uint32_t> found;
    for (std::uint32_t i = 0; i < kMaxUserCores; ++i)
        if ((*free)[i]) found.insert(i);
    return found;
}

} // namespace

TEST_CASE("free cores are found without taking any, also right behind a busy one",
          "[backend][door]") {
    const auto kernel = machine();
    auto owner = connected(*kernel, 100);
    auto other = connected(*kernel, 200);
    CHECK(free_of(other, 0, 32).size() == 32);
    REQUIRE(owner.claim(UserCore{1}, 1));
    REQUIRE(owner.claim(UserCore{4}, 3));
    CHECK(free_of(other, 0, 9) == std::set<std::uint32_t>{0, 2, 3, 7, 8});
    CHECK(free_of(other, 1, 1).empty());
    CHECK(free_of(other, 2, 1) == std::set<std::uint32_t>{2});
    CHECK(free_of(owner, 0, 5) == std::set<std::uint32_t>{0, 2, 3}); // its own are not free either
    CHECK(free_of(other, 30, 2) == std::set<std::uint32_t>{30, 31});
    CHECK(kernel->census().marks == 4);
    CHECK(other.free_cores(UserCore{0}, 0).error().detail == Detail::CoreRangeInvalid);
    CHECK(other.free_cores(UserCore{127}, 2).error().detail == Detail::CoreRangeInvalid);
}

TEST_CASE("a claim of free cores refuses what this process holds as it refuses what others hold",
          "[backend][door]") {
    const auto kernel = machine();
    auto mine = connected(*kernel, 100);
    auto sibling = connected(*kernel, 100);
    auto other = connected(*kernel, 200);
    REQUIRE(mine.claim_free(UserCore{0}, 2));
    for (auto* driver : {&mine, &sibling, &other}) {
        const auto refused = driver->claim_free(UserCore{1}, 2);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().detail == Detail::CoresBusy);
        CHECK(refused.error().value == 1);
        CHECK(refused.error().asked == 2);
    }
    CHECK(sibling.claim(UserCore{1}, 2));
    CHECK(kernel->census().marks == 3);
    CHECK(mine.claim_free(UserCore{0}, 0).error().detail == Detail::CoreRangeInvalid);
}

TEST_CASE("a machine that is all free or all taken is looked at with one request",
          "[backend][door]") {
    const auto kernel = machine();
    CallCounts counts;
    IoctlDriver looker(CountPort(SimPort(*kernel, {.pid = 200}), counts));
    REQUIRE(looker.connect());
    auto owner = connected(*kernel, 100);
    for (const bool taken : {false, true}) {
        if (taken) REQUIRE(owner.claim(UserCore{0}, 32));
        const auto before = counts.total();
        const auto free = looker.free_cores(UserCore{0}, 32);
        REQUIRE(free);
        CHECK(free->count() == (taken ? 0 : 32));
        CHECK(counts.total() == before + 1);
    }
}

TEST_CASE("marks that the program dropped by closing a descriptor of its own are noticed and made "
          "again",
          "[backend][door]") {
    const auto kernel = machine();
    auto mine = connected(*kernel, 100);
    REQUIRE(mine.claim(UserCore{0}, 4));
    REQUIRE(mine.claim(UserCore{6}, 1));
    lose_marks(*kernel, 100);
    CHECK(kernel->census().marks == 0);
    const test::LogLines log(LogLevel::Error);
    CHECK(free_of(mine, 0, 8) == std::set<std::uint32_t>{4, 5, 7});
    CHECK(kernel->census().marks == 5);
    REQUIRE(log.lines.size() == 1);
    CHECK(log.lines[0].first == LogLevel::Error);
    CHECK(log.lines[0].second.find("the marks of cores 0-3,6 were lost") != std::string::npos);
    CHECK(mine.claim(UserCore{8}, 1)); // said once
    CHECK(log.lines.size() == 1);
    auto other = connected(*kernel, 200);
    CHECK(other.claim(UserCore{3}, 1).error().detail == Detail::CoresBusy);
    mine.disconnect();
    CHECK(kernel->census().marks == 0);
}

TEST_CASE(
    "a core that another process took after its mark was dropped is named, and not given back "
    "to anybody",
    "[backend][door]") {
    const auto kernel = machine();
    auto mine = connected(*kernel, 100);
    auto sibling = connected(*kernel, 100);
    auto other = connected(*kernel, 200);
    REQUIRE(mine.claim(UserCore{0}, 4));
    lose_marks(*kernel, 100);
    REQUIRE(other.claim(UserCore{2}, 1));
    const test::LogLines log(LogLevel::Error);
    CHECK(sibling.claim(UserCore{8}, 1)); // neither its core nor one it asks for
    REQUIRE(log.lines.size() == 2);
    CHECK(log.lines[0].second.find("the marks of cores 0-1,3 were lost") != std::string::npos);
    CHECK(log.lines[1].second.find("the marks of cores 2 were lost, and another process has") !=
          std::string::npos);
    for (auto* driver : {&mine, &sibling}) { // to each whom it concerns, once
        const auto refused = driver->claim(UserCore{2}, 1);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().detail == Detail::MarkTaken);
        CHECK(refused.error().value == 2);
    }
    CHECK(log.lines.size() == 2);
    CHECK(kernel->census().marks == 5);
    // From now on it counts as the other's.
    CHECK(mine.free_cores(UserCore{0}, 8));
    CHECK(sibling.claim(UserCore{3}, 1)); // shared, as ever
    CHECK(sibling.claim(UserCore{2}, 1).error().detail == Detail::CoresBusy);
    CHECK(other.claim(UserCore{1}, 1).error().detail == Detail::CoresBusy);
    mine.disconnect();
    CHECK(kernel->census().marks == 3); // 2 is the other's, 3 and 8 the sibling's
    CHECK(other.release(UserCore{2}, 1));
    CHECK(sibling.claim(UserCore{2}, 1));
    sibling.disconnect();
    other.disconnect();
    CHECK(kernel->census().marks == 0);
}

TEST_CASE("a mark made after the others were dropped is known to be ours", "[backend][door]") {
    const auto kernel = machine();
    auto mine = connected(*kernel, 100);
    REQUIRE(mine.claim(UserCore{0}, 3));
    lose_marks(*kernel, 100);
    // As when the program closes its descriptor in the middle of a claim: one mark is new.
    SimPort port(*kernel, {.pid = 100});
    const auto fd = static_cast<int>(port.open("/dev/neuron1", Access::ReadOnly));
    uapi::CrwlNcMapExt mark{.nc_count = 1, .start_nc_index = 0, .end_nc_index = 0};
    REQUIRE(port.ioctl(fd, uapi::kCrwlNcRangeMarkExt0, &mark) == 0); // core 2: relative to node 1
    REQUIRE(port.close(fd) == 0);
    REQUIRE(kernel->census().marks == 1);
    const test::LogLines log(LogLevel::Error);
    CHECK(mine.claim(UserCore{8}, 1));
    CHECK(kernel->census().marks == 4);
    REQUIRE(log.lines.size() == 1);
    CHECK(log.lines[0].second.find("cores 0-2 were lost") != std::string::npos);
}

TEST_CASE("a lost core that is free again is marked again at the next operation",
          "[backend][door]") {
    const auto kernel = machine();
    const test::LogLines quiet(LogLevel::Quiet);
    auto mine = connected(*kernel, 100);
    auto other = connected(*kernel, 200);
    REQUIRE(mine.claim(UserCore{0}, 2));
    lose_marks(*kernel, 100);
    REQUIRE(other.claim(UserCore{1}, 1));
    REQUIRE_FALSE(mine.claim(UserCore{4}, 1)); // its core 1 is gone
    REQUIRE(other.release(UserCore{1}, 1));
    CHECK(mine.claim(UserCore{4}, 1));
    CHECK(other.claim(UserCore{1}, 1).error().detail == Detail::CoresBusy);
    mine.disconnect();
    CHECK(kernel->census().marks == 0);
}

TEST_CASE("core numbers are written as runs", "[backend][door]") {
    const auto written = [](std::initializer_list<std::uint32_t> cores) {
        neuronbook::detail::CoreRunText text;
        for (const auto core : cores) text.add(core);
        return std::string(text.text());
    };
    CHECK(written({}).empty());
    CHECK(written({0}) == "0");
    CHECK(written({0, 1}) == "0-1");
    CHECK(written({0, 1, 2, 9, 10, 20, 22}) == "0-2,9-10,20,22");
    neuronbook::detail::CoreRunText text;
    for (std::uint32_t core = 0; core < 512; core += 2) text.add(core);
    CHECK(std::string(text.text()).size() == 255); // cut
}
