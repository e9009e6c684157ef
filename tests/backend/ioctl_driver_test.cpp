// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include "support/sim_machine.hpp"

using namespace neuronbook;
using test::SimDriver;
using test::SimMachine;

TEST_CASE("a driver says what it is, for each generation and release", "[backend][driver]") {
    const struct {
        const char* instance;
        const char* driver;
        DriverVersion version;
        int architecture;
        std::uint64_t features;
    } rows[] = {{"trn1.2xlarge", "2.24.7", {2, 24, 7}, 2, 0xFF},
                {"inf2.48xlarge", "2.26.5", {2, 26, 5}, 2, 0x1FF},
                {"trn1.32xlarge", "2.30.2", {2, 30, 2}, 2, 0x7FF},
                {"trn2.48xlarge", "2.24.7", {2, 24, 7}, 3, 0xFF},
                {"trn2.3xlarge", "2.30.2", {2, 30, 2}, 3, 0x1FFF},
                {"trn3pd98.3xlarge", "2.26.5", {2, 26, 5}, 4, 0x1FF}};
    for (const auto& row : rows) {
        INFO(row.instance << " under " << row.driver);
        SimMachine machine(row.instance, row.driver);
        SimDriver driver(machine.port());
        const auto facts = driver.connect();
        REQUIRE(facts);
        CHECK(facts->version == row.version);
        CHECK(static_cast<int>(facts->architecture) == row.architecture);
        CHECK(facts->features == row.features);
        driver.disconnect();
        CHECK(machine.kernel->census() == machine.baseline);
        CHECK(machine.kernel->unknown().empty());
    }
}

TEST_CASE("topology comes from the driver where it has it", "[backend][driver]") {
    SimMachine trn2("trn2.48xlarge", "2.26.5");
    SimDriver driver(trn2.port());
    REQUIRE(driver.connect());
    const auto devices = driver.devices();
    REQUIRE(devices);
    CHECK(devices->size() == 16);
    const auto routes = driver.routing_ids();
    REQUIRE(routes);
    REQUIRE(*routes);
    CHECK((*routes)->count == 16);
    const std::uint32_t torus[] = {0, 8, 9, 1, 2, 10, 11, 3, 6, 14, 15, 7, 4, 12, 13, 5};
    for (std::uint32_t i = 0; i < 16; ++i) CHECK((*routes)->of[i].value() == torus[i]);
    const auto cores = driver.core_map();
    REQUIRE(cores);
    REQUIRE(*cores);
    CHECK((*cores)->size() == 128);
    const std::uint32_t first_device[] = {4, 5, 6, 7, 2, 3, 0, 1};
    for (std::uint32_t k = 0; k < 8; ++k) CHECK((**cores)[k].core.value() == first_device[k]);
    CHECK((**cores)[8].device.value() == 1);
    CHECK((**cores)[8].core.value() == 2);
    const auto pod = driver.pod();
    REQUIRE(pod);
    CHECK((*pod)->state == Pod::State::SingleNode);

    SimMachine trn1("trn1.2xlarge", "2.24.7");
    SimDriver older(trn1.port());
    REQUIRE(older.connect());
    const auto none = older.core_map();
    REQUIRE(none);
    CHECK_FALSE(*none);
}

TEST_CASE("device facts carry bus address and neighbours", "[backend][driver]") {
    SimMachine machine("trn1.32xlarge", "2.24.7");
    SimDriver driver(machine.port());
    REQUIRE(driver.connect());
    const auto facts = driver.open_device(HostDeviceId{2});
    REQUIRE(facts);
    CHECK(facts->bus.bus == 0x10);
    CHECK(facts->bus.slot == 6);
    REQUIRE(facts->neighbour_count == 4);
    const std::uint32_t neighbours[] = {14, 1, 6, 3};
    for (std::uint32_t i = 0; i < 4; ++i) CHECK(facts->neighbours[i].value() == neighbours[i]);
    CHECK(driver.close_device(HostDeviceId{2}));
    CHECK_FALSE(driver.close_device(HostDeviceId{2}));
    CHECK_FALSE(driver.open_device(HostDeviceId{64}));
    CHECK_FALSE(driver.open_device(HostDeviceId{16}));
}

TEST_CASE("a driver that was moved from starts afresh", "[backend][driver]") {
    const SimMachine machine;
    IoctlDriver first(SimPort(*machine.kernel)); // a port that can be used after a move
    REQUIRE(first.connect());
    REQUIRE(first.open_device(HostDeviceId{0}));
    const auto second = std::move(first);
    CHECK_FALSE(first.usable()); // NOLINT: what is left of it is the point
    REQUIRE(first.connect());
    const auto refused = first.allocate(HostDeviceId{0}, {.size = Bytes{4096}});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().detail == Detail::DeviceOutOfRange);
    CHECK(second.usable());
}

TEST_CASE("core resets go through, and to a device that is open", "[backend][driver]") {
    SimMachine machine;
    auto driver = test::open_driver(machine);
    CHECK(driver.reset_cores(HostDeviceId{0}, 0b11));
    CHECK_FALSE(driver.reset_cores(HostDeviceId{1}, 1));
}
