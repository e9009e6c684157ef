// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <optional>

#include "neuronbook/topology/routing_map.hpp"
#include "support/catch.hpp"

using namespace neuronbook;

TEST_CASE("without a driver's map the family's permutation stands in", "[topology][routing]") {
    // host device perm[i] has routing id i (tables.md 13)
    constexpr std::uint32_t perm[] = {0, 4, 1, 5, 3, 7, 2, 6, 12, 8, 13, 9, 15, 11, 14, 10};
    for (const std::uint32_t family : {2u, 3u, 7u}) {
        INFO(family);
        const auto map = RoutingMap::make(std::nullopt, static_cast<InstanceFamily>(family));
        REQUIRE(map);
        CHECK(map->size() == 16);
        for (std::uint32_t i = 0; i < 16; ++i) {
            CHECK(map->routing_of(HostDeviceId{perm[i]}) == RoutingId{i});
            CHECK(map->host_of(RoutingId{i}) == HostDeviceId{perm[i]});
        }
        CHECK_FALSE(map->host_of(RoutingId{16}));
    }
}

TEST_CASE("family 4 has the identity over twelve devices", "[topology][routing]") {
    const auto map = RoutingMap::make(std::nullopt, InstanceFamily::Inf2);
    REQUIRE(map);
    CHECK(map->size() == 12);
    for (std::uint32_t i = 0; i < 12; ++i) {
        CHECK(map->routing_of(HostDeviceId{i}) == RoutingId{i});
        CHECK(map->host_of(RoutingId{i}) == HostDeviceId{i});
    }
    CHECK_FALSE(map->host_of(RoutingId{12}));
}

TEST_CASE("family 1 maps device 0 to 0 and has size 0", "[topology][routing]") {
    const auto map = RoutingMap::make(std::nullopt, InstanceFamily::Inf1);
    REQUIRE(map);
    CHECK(map->size() == 0);
    CHECK(map->routing_of(HostDeviceId{0}) == RoutingId{0});
}

TEST_CASE("a family without a table is an error that names it", "[topology][routing]") {
    for (std::uint32_t family = 0; family < 20; ++family) {
        if (family == 1 || family == 2 || family == 3 || family == 4 || family == 7) continue;
        const auto map = RoutingMap::make(std::nullopt, static_cast<InstanceFamily>(family));
        INFO(family);
        REQUIRE_FALSE(map);
        CHECK(map.error().status == Status::Invalid);
        CHECK(map.error().detail == Detail::UnknownFamily);
        CHECK(map.error().value == family);
    }
}

TEST_CASE("the driver's own map wins over the family, and holds 64 devices",
          "[topology][routing]") {
    RoutingIds ids{.count = 64};
    for (std::uint32_t i = 0; i < 64; ++i) ids.of[i] = RoutingId{63 - i};
    const auto map = RoutingMap::make(ids, InstanceFamily::Trn1);
    REQUIRE(map);
    CHECK(map->size() == 64);
    for (std::uint32_t i = 0; i < 64; ++i) {
        CHECK(map->routing_of(HostDeviceId{i}) == RoutingId{63 - i});
        CHECK(map->host_of(RoutingId{i}) == HostDeviceId{63 - i});
    }
}

TEST_CASE("what is not in the map is refused both ways", "[topology][routing]") {
    const auto map = RoutingMap::make(std::nullopt, InstanceFamily::Trn1);
    REQUIRE(map);
    const auto routing = map->routing_of(HostDeviceId{64});
    REQUIRE_FALSE(routing);
    CHECK(routing.error().detail == Detail::DeviceOutOfRange);
    CHECK(routing.error().value == 64);
    CHECK(routing.error().limit == 64);
    const auto host = map->host_of(RoutingId{16});
    REQUIRE_FALSE(host);
    CHECK(host.error().status == Status::Invalid);
    CHECK(host.error().value == 16);
}
