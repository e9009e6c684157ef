// SPDX-License-Identifier: Apache-2.0
#include "neuronbook/backend/sim/host/pins.hpp"

#include "support/catch.hpp"

using neuronbook::sim::Pins;

TEST_CASE("pins of a process share no byte, though they may share a page", "[sim][pins]") {
    Pins pins;
    CHECK(pins.pin(1, 0x1000, 0x800));
    CHECK(pins.pin(1, 0x1800, 0x800));
    CHECK_FALSE(pins.pin(1, 0x1000, 1));
    CHECK_FALSE(pins.pin(1, 0x17ff, 1));
    CHECK_FALSE(pins.pin(1, 0xfff, 2));
    CHECK_FALSE(pins.pin(1, 0, ~std::uint64_t{0}));
    CHECK(pins.pin(1, 0xfff, 1));
    CHECK(pins.pin(2, 0x1000, 0x1000)); // another process
    CHECK_FALSE(pins.unpin(1, 0x1001));
    CHECK(pins.unpin(1, 0x1000));
    CHECK_FALSE(pins.unpin(1, 0x1000));
    CHECK(pins.count() == 3);
    pins.drop_process(1);
    CHECK(pins.count() == 1);
}
