// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <optional>

#include "neuronbook/topology/core_map.hpp"
#include "support/catch.hpp"

using namespace neuronbook;

namespace {

// GET_LOGICAL_TO_PHYSICAL_NC_MAP of a third-generation server (driver-abi.md 5.10).
constexpr std::array<std::array<std::uint32_t, 8>, 4> kPatterns{{
    {4, 5, 6, 7, 2, 3, 0, 1}, // devices 0 2 8 10
    {2, 3, 0, 1, 4, 5, 6, 7}, // devices 1 3 9 11
    {0, 1, 2, 3, 6, 7, 4, 5}, // devices 4 6 12 14
    {6, 7, 4, 5, 0, 1, 2, 3}, // devices 5 7 13 15
}};

std::uint32_t physical(std::uint32_t device, std::uint32_t k) {
    const auto pattern = (device & 1) + ((device >> 2) & 1) * 2;
    return kPatterns[pattern][k];
}

CoreMapEntries driver_map() {
    CoreMapEntries entries;
    for (std::uint32_t d = 0; d < 16; ++d)
        for (std::uint32_t k = 0; k < 8; ++k)
            entries.push_back({HostDeviceId{d}, CoreIndex{physical(d, k)}});
    return entries;
}

constexpr HostCore at(std::uint32_t device, std::uint32_t core) {
    return {HostDeviceId{device}, CoreIndex{core}};
}

} // namespace

TEST_CASE("on a second-generation device user cores are the cores themselves",
          "[topology][core_map]") {
    const CoreMap map(*geometry_of(Architecture::Sunda), std::nullopt);
    CHECK(map.cores_per_device() == 2);
    CHECK(map.host_core(UserCore{0}) == at(0, 0));
    CHECK(map.host_core(UserCore{31}) == at(15, 1));
    CHECK(map.host_core(UserCore{127}) == at(63, 1));
    for (std::uint32_t user = 0; user < 128; ++user)
        CHECK(map.user_core(*map.host_core(UserCore{user})) == UserCore{user});
}

TEST_CASE("on later devices the driver's map turns the user's number into the core",
          "[topology][core_map]") {
    const CoreMap map(*geometry_of(Architecture::Cayman), driver_map());
    CHECK(map.host_core(UserCore{0}) == at(0, 4));
    CHECK(map.host_core(UserCore{7}) == at(0, 1));
    CHECK(map.host_core(UserCore{8}) == at(1, 2));
    CHECK(map.host_core(UserCore{127}) == at(15, 3));
    for (std::uint32_t user = 0; user < 128; ++user) {
        INFO(user);
        const auto core = map.host_core(UserCore{user});
        REQUIRE(core);
        CHECK(*core == at(user / 8, physical(user / 8, user % 8)));
        CHECK(map.user_core(*core) == UserCore{user});
    }
}

TEST_CASE("a number past the map is refused with both numbers", "[topology][core_map]") {
    const CoreMap late(*geometry_of(Architecture::Cayman), driver_map());
    const auto past = late.host_core(UserCore{128});
    REQUIRE_FALSE(past);
    CHECK(past.error().status == Status::Invalid);
    CHECK(past.error().detail == Detail::CoreOutOfRange);
    CHECK(past.error().value == 128);
    CHECK(past.error().limit == 128);
    const CoreMap early(*geometry_of(Architecture::Sunda), std::nullopt);
    CHECK(early.host_core(UserCore{128}).error().limit == 128);
    CHECK_FALSE(early.host_core(UserCore{0xFFFF'FFFFu}));
    CHECK_FALSE(CoreMap{}.host_core(UserCore{0}));
}

TEST_CASE("a core that no user number leads to is refused", "[topology][core_map]") {
    const CoreMap map(*geometry_of(Architecture::Cayman), driver_map());
    CHECK_FALSE(map.user_core(at(0, 8)));
    CHECK_FALSE(map.user_core(at(16, 0)));
    CHECK_FALSE(map.user_core(at(0x2000'0000u, 0))); // times 8 is 0 in 32 bits
}

TEST_CASE("a driver's map that contradicts itself is not believed", "[topology][core_map]") {
    auto entries = driver_map();
    SECTION("another device") { entries[3].device = HostDeviceId{5}; }
    SECTION("a core that no device has") { entries[3].core = CoreIndex{8}; }
    const CoreMap map(*geometry_of(Architecture::Cayman), entries);
    const auto core = map.host_core(UserCore{3});
    REQUIRE_FALSE(core);
    CHECK(core.error().detail == Detail::SelfCheckFailed);
    CHECK(map.host_core(UserCore{4}));
}
