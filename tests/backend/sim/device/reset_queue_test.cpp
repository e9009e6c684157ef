// SPDX-License-Identifier: Apache-2.0
#include "neuronbook/backend/sim/device/reset_queue.hpp"

#include "support/catch.hpp"

using namespace neuronbook;
using sim::DeviceState;
using sim::ResetPace;
using sim::ResetQueue;
using Outcome = ResetQueue::Outcome;

namespace {

constexpr ResetPace kGood{{100}, false};
constexpr ResetPace kBad{{5000}, true};

} // namespace

TEST_CASE("the driver's own reset moves the state and is done alone", "[sim][reset]") {
    ResetQueue queue;
    CHECK(queue.state() == DeviceState::Ready);
    queue.add(ResetQueue::kDriver, 0xFFFFFFFF, {1000});
    CHECK(queue.state() == DeviceState::Reset);
    queue.add(5, 1, {1001});
    CHECK(queue.end_of(ResetQueue::kDriver, kGood).count == 1100);
    CHECK(queue.end_of(5, kGood).count == 1200);
    CHECK(queue.latest_end(kGood).count == 1200);
    CHECK_FALSE(queue.settle({1099}, kGood).has_value());
    const auto first = queue.settle({2000}, kGood);
    REQUIRE(first.has_value());
    CHECK(first->cores == 0xFFFFFFFF);
    CHECK(queue.state() == DeviceState::Ready);
    CHECK(queue.outcome(5) == Outcome::Pending);
    const auto second = queue.settle({2000}, kGood);
    REQUIRE(second.has_value());
    CHECK(second->cores == 1);
    CHECK(queue.outcome(5) == Outcome::Done);
    CHECK_FALSE(queue.settle({9000}, kGood).has_value());
    CHECK(queue.latest_end(kGood).count == 1200);
}

TEST_CASE("a failed reset of the driver's invalidates, a good one makes ready", "[sim][reset]") {
    ResetQueue queue;
    queue.add(ResetQueue::kDriver, 1, {0});
    CHECK(queue.settle({5000}, kBad)->failed);
    CHECK(queue.state() == DeviceState::Invalid);
    queue.add(7, 1, {6000});
    CHECK(queue.settle({6100}, kGood).has_value());
    CHECK(queue.state() == DeviceState::Invalid); // a process's does neither
    queue.add(ResetQueue::kDriver, 1, {7000});
    CHECK(queue.settle({7100}, kGood).has_value());
    CHECK(queue.state() == DeviceState::Ready);
}

TEST_CASE("the reset at load starts with the first look and keeps its own pace", "[sim][reset]") {
    ResetQueue queue;
    queue.begin_load(3, kBad);
    CHECK_FALSE(queue.settle({1'000'000}, kGood).has_value());
    CHECK(queue.end_of(ResetQueue::kDriver, kGood).count == 1'005'000);
    queue.add(9, 2, {1'000'001});
    CHECK(queue.settle({1'005'000}, kGood)->failed);
    CHECK_FALSE(queue.settle({1'005'100}, kGood)->failed);
    CHECK(queue.outcome(9) == Outcome::Done);
}

TEST_CASE("what was forgotten is unknown, even while it runs", "[sim][reset]") {
    ResetQueue queue;
    queue.add(1, 1, {0});
    queue.add(2, 2, {0});
    queue.forget(1);
    queue.forget(2);
    CHECK(queue.outcome(1) == Outcome::Unknown);
    CHECK(queue.outcome(0) == Outcome::Unknown);
    CHECK(queue.settle({100}, kGood)->cores == 1);
    CHECK(queue.outcome(1) == Outcome::Unknown);
    CHECK_FALSE(queue.settle({10000}, kGood).has_value());
}
