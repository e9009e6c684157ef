// SPDX-License-Identifier: Apache-2.0
// The runtime, made whole with a driver that has only what the concept lists.
#include "support/catch.hpp"

#include "neuronbook/process_runtime.hpp"
#include "neuronbook/runtime.hpp"
#include "support/archetypes.hpp"

using namespace neuronbook;

template class neuronbook::Runtime<test::DriverArchetype>;
template class neuronbook::ProcessRuntime<Runtime<test::DriverArchetype>>;

TEST_CASE("a runtime over a driver that refuses everything says so and is not up", "[runtime]") {
    const auto none = Runtime<test::DriverArchetype>::open({.log_level = LogLevel::Quiet},
                                                           test::DriverArchetype(0));
    CHECK_FALSE(none);
}
