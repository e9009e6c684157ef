// SPDX-License-Identifier: Apache-2.0
// The runtime, made whole with a driver that has only what the concept lists.
#include "support/catch.hpp"

#include "neuronbook/process_runtime.hpp"
#include "neuronbook/runtime.hpp"
#include "neuronbook/runtime/core_counts.hpp"
#include "support/archetypes.hpp"

using namespace neuronbook;

template class neuronbook::Runtime<test::DriverArchetype>;
template class neuronbook::ProcessRuntime<Runtime<test::DriverArchetype>>;

namespace {

/// A machine that another backend found: of a generation nobody knew, or with nothing in it.
struct OddDriver : test::DriverArchetype {
    explicit OddDriver(std::uint32_t architecture) : DriverArchetype(0), number(architecture) {}
    Result<DriverFacts> connect() {
        return DriverFacts{.architecture = static_cast<Architecture>(number)};
    }
    Result<DeviceList> devices() { return DeviceList{}; }
    Result<std::optional<RoutingIds>> routing_ids() { return RoutingIds{}; }
    Result<std::optional<CoreMapEntries>> core_map() { return std::nullopt; }
    Result<std::optional<Pod>> pod() { return std::nullopt; }
    std::uint32_t number;
};

} // namespace

TEST_CASE("D17: an unknown architecture or no device is an error with its number, not an abort",
          "[runtime][D17]") {
    const RuntimeOptions quiet{.log_level = LogLevel::Quiet};
    for (const std::uint32_t number : {0u, 1u, 5u, 4'000'000'000u}) {
        const auto none = Runtime<OddDriver>::open(quiet, OddDriver(number));
        REQUIRE_FALSE(none);
        CHECK(none.error().status == Status::Invalid);
        CHECK(none.error().detail == Detail::UnknownArchitecture);
        CHECK(none.error().value == number);
    }
    const auto empty = Runtime<OddDriver>::open(quiet, OddDriver(2));
    REQUIRE_FALSE(empty);
    CHECK(empty.error().detail == Detail::NoDevices);
    CHECK(*count_cores(quiet, OddDriver(1)) == CoreCounts{});
}

TEST_CASE("a runtime over a driver that refuses everything says so and is not up", "[runtime]") {
    const auto none = Runtime<test::DriverArchetype>::open({.log_level = LogLevel::Quiet},
                                                           test::DriverArchetype(0));
    CHECK_FALSE(none);
}
