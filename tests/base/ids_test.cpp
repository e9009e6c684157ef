// SPDX-License-Identifier: Apache-2.0
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "neuronbook/base/ids.hpp"
#include "support/catch.hpp"

using namespace neuronbook;

namespace {

template <class A, class B>
concept Addable = requires(A a, B b) { a + b; };
template <class A, class B>
concept Equatable = requires(A a, B b) { a == b; };

template <class Id>
constexpr bool is_a_plain_number() {
    return sizeof(Id) == 4 && std::is_trivially_copyable_v<Id> &&
           !std::convertible_to<Id, unsigned> && !std::convertible_to<unsigned, Id> &&
           std::constructible_from<Id, std::uint32_t> && !Addable<Id, Id> && !Addable<Id, int>;
}

static_assert(is_a_plain_number<HostDeviceId>());
static_assert(is_a_plain_number<DeviceIndex>());
static_assert(is_a_plain_number<CoreIndex>());
static_assert(is_a_plain_number<UserCore>());
static_assert(is_a_plain_number<LogicalCore>());
static_assert(is_a_plain_number<RoutingId>());
static_assert(is_a_plain_number<ModelHandle>());

static_assert(!Equatable<HostDeviceId, DeviceIndex>);
static_assert(!Equatable<UserCore, LogicalCore>);
static_assert(!std::convertible_to<HostDeviceId, DeviceIndex>);
static_assert(!std::convertible_to<DeviceIndex, HostDeviceId>);
static_assert(!std::convertible_to<CoreIndex, UserCore>);
static_assert(!std::convertible_to<RoutingId, HostDeviceId>);

} // namespace

TEST_CASE("an id holds its number and starts at 0", "[base][ids]") {
    STATIC_REQUIRE(HostDeviceId{}.value() == 0);
    STATIC_REQUIRE(HostDeviceId{63}.value() == 63);
    STATIC_REQUIRE(ModelHandle{0xFFFF'FFFFu}.value() == 0xFFFF'FFFFu);
}

TEST_CASE("ids of one space compare by number", "[base][ids]") {
    STATIC_REQUIRE(CoreIndex{1} < CoreIndex{2});
    STATIC_REQUIRE(CoreIndex{2} == CoreIndex{2});
    STATIC_REQUIRE(CoreIndex{3} != CoreIndex{2});
}

TEST_CASE("a physical core is eight bytes, and these are its identity", "[base][ids]") {
    STATIC_REQUIRE(sizeof(PhysicalCore) == 8);
    const PhysicalCore a{DeviceIndex{1}, CoreIndex{2}};
    CHECK(a == PhysicalCore{DeviceIndex{1}, CoreIndex{2}});
    CHECK(a != PhysicalCore{DeviceIndex{2}, CoreIndex{1}});
    CHECK(a.key() == PhysicalCore{DeviceIndex{1}, CoreIndex{2}}.key());
    CHECK(a.key() != PhysicalCore{DeviceIndex{2}, CoreIndex{1}}.key());
}

TEST_CASE("physical cores are ordered by device, then by core", "[base][ids]") {
    CHECK(PhysicalCore{DeviceIndex{0}, CoreIndex{7}} < PhysicalCore{DeviceIndex{1}, CoreIndex{0}});
    CHECK(PhysicalCore{DeviceIndex{1}, CoreIndex{0}} < PhysicalCore{DeviceIndex{1}, CoreIndex{1}});
}
