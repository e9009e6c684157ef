// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <type_traits>

#include "neuronbook/base/units.hpp"
#include "support/catch.hpp"

using namespace neuronbook;
using namespace neuronbook::literals;

static_assert(!std::is_convertible_v<std::uint64_t, Bytes> &&
              !std::is_convertible_v<Bytes, std::uint64_t>);
static_assert(!std::is_convertible_v<Bytes, DeviceAddress>);

TEST_CASE("size literals count in powers of 1024", "[base][units]") {
    STATIC_REQUIRE((7_B).count() == 7);
    STATIC_REQUIRE((3_KiB).count() == 3072);
    STATIC_REQUIRE((16_MiB).count() == 16777216);
    STATIC_REQUIRE((24_GiB).count() == 25769803776);
    STATIC_REQUIRE(kPage.count() == 4096);
}

TEST_CASE("a sum that does not fit in 64 bits is nothing", "[base][units]") {
    const Bytes most{0xFFFF'FFFF'FFFF'FFFFu};
    CHECK(checked_sum(Bytes{1}, Bytes{2}) == Bytes{3});
    CHECK(checked_sum(most, Bytes{0}) == most);
    CHECK(checked_sum(Bytes{0}, most) == most);
    CHECK_FALSE(checked_sum(most, Bytes{1}));
    CHECK_FALSE(checked_sum(Bytes{1}, most));
    CHECK_FALSE(checked_sum(most, most));
}

TEST_CASE("a range is inside its limit up to the last byte", "[base][units]") {
    CHECK(contains(Bytes{100}, Bytes{0}, Bytes{100}));
    CHECK(contains(Bytes{100}, Bytes{99}, Bytes{1}));
    CHECK(contains(Bytes{100}, Bytes{100}, Bytes{0}));
    CHECK_FALSE(contains(Bytes{100}, Bytes{0}, Bytes{101}));
    CHECK_FALSE(contains(Bytes{100}, Bytes{100}, Bytes{1}));
    CHECK_FALSE(contains(Bytes{100}, Bytes{101}, Bytes{0}));
}

TEST_CASE("F07: an offset close to 2^64 does not wrap into the range", "[base][units]") {
    CHECK_FALSE(contains(Bytes{4096}, Bytes{0xFFFF'FFFF'FFFF'FFF0u}, Bytes{32}));
    CHECK_FALSE(contains(Bytes{4096}, Bytes{32}, Bytes{0xFFFF'FFFF'FFFF'FFF0u}));
}

TEST_CASE("sizes are rounded up to whole pages", "[base][units]") {
    CHECK(whole_pages(Bytes{0}) == Bytes{0});
    CHECK(whole_pages(Bytes{1}) == Bytes{4096});
    CHECK(whole_pages(Bytes{4096}) == Bytes{4096});
    CHECK(whole_pages(Bytes{4097}) == Bytes{8192});
    CHECK(whole_pages(Bytes{0xFFFF'FFFF'FFFF'F000u}) == Bytes{0xFFFF'FFFF'FFFF'F000u});
    CHECK_FALSE(whole_pages(Bytes{0xFFFF'FFFF'FFFF'F001u}));
}
