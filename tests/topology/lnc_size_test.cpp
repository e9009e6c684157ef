// SPDX-License-Identifier: Apache-2.0
#include "neuronbook/topology/lnc_size.hpp"

#include <cstdint>

#include "neuronbook/base/describe.hpp"
#include "support/catch.hpp"

using namespace neuronbook;

TEST_CASE("translators agree with division for every size and every core of a host",
          "[topology][lnc]") {
    for (const std::uint32_t size : {1u, 2u, 4u, 8u}) {
        const auto lnc = LncSize::make(size, 8, 8);
        REQUIRE(lnc);
        CHECK(lnc->count() == size);
        for (std::uint32_t core = 0; core < 512; ++core) {
            const UserCore user{core};
            REQUIRE(lnc->logical_of(user) == LogicalCore{core / size});
            REQUIRE(lnc->place_of(user) == core % size);
            REQUIRE(lnc->core_of(lnc->logical_of(user), lnc->place_of(user)) == user);
            REQUIRE(lnc->logical_count(core) == (core + size - 1) / size);
            REQUIRE(lnc->physical_count(core) == core * size);
        }
        CHECK(lnc->logical_count(0xFFFFFFFFu) == 0xFFFFFFFFu / size + (size == 1 ? 0 : 1));
        CHECK(lnc->core_of(LogicalCore{3}) == UserCore{3 * size});
    }
}

TEST_CASE("a size is a power of two, at most the program's and the device's", "[topology][lnc]") {
    for (std::uint32_t most : {1u, 2u, 4u, 8u})
        for (std::uint32_t cores : {2u, 8u})
            for (std::uint32_t size = 0; size <= 17; ++size) {
                const bool fine = (size == 1 || size == 2 || size == 4 || size == 8) &&
                                  size <= most && size <= cores;
                const auto made = LncSize::make(size, most, cores);
                REQUIRE(made.has_value() == fine);
                if (fine) continue;
                REQUIRE(made.error().status == Status::Invalid);
                REQUIRE(made.error().value == size);
                REQUIRE(made.error().limit == (most < cores ? most : cores));
            }
    CHECK(describe(LncSize::make(3, 2, 8).error()) ==
          "bring-up: Logical core size (3) must be a power of two and less than or equal to 2 "
          "(INVALID, 2)");
    CHECK(describe(LncSize::make(0, 2, 8).error()).find("Logical core size (0) must be") !=
          std::string::npos);
}

TEST_CASE("translators are constants where their arguments are", "[topology][lnc]") {
    static_assert(LncSize{}.count() == 1);
    static_assert(LncSize{}.logical_of(UserCore{127}) == LogicalCore{127});
    constexpr auto pair = LncSize::make(2, 2, 8);
    static_assert((*pair).logical_of(UserCore{127}) == LogicalCore{63});
    static_assert((*pair).logical_count(7) == 4);
    SUCCEED();
}
