// SPDX-License-Identifier: Apache-2.0
// Every template over a port, made whole with a port that has only what the concept lists.
#include "support/catch.hpp"

#include <memory>

#include "neuronbook/backend/any_port.hpp"
#include "neuronbook/backend/count_port.hpp"
#include "neuronbook/backend/fault_port.hpp"
#include "neuronbook/backend/ioctl_driver.hpp"
#include "neuronbook/backend/trace_port.hpp"
#include "support/archetypes.hpp"

using namespace neuronbook;

template class neuronbook::IoctlDriver<test::PortArchetype>;
template class neuronbook::detail::CopyOperations<IoctlDriver<test::PortArchetype>,
                                                  test::PortArchetype>;
template class neuronbook::detail::CopyChain<test::PortArchetype>;
template class neuronbook::CountPort<test::PortArchetype>;
template class neuronbook::FaultPort<test::PortArchetype>;
template class neuronbook::TracePort<test::PortArchetype>;
template class neuronbook::detail::DoorLease<test::PortArchetype>;

TEST_CASE("a driver over a port that knows nothing finds no driver", "[backend]") {
    IoctlDriver driver{AnyPort(test::PortArchetype(0))};
    const auto none = driver.connect();
    REQUIRE_FALSE(none);
    CHECK(none.error().detail == Detail::NoDriver);
}
