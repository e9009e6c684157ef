// SPDX-License-Identifier: Apache-2.0
#include "neuronbook/topology/lnc_choice.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "neuronbook/base/describe.hpp"
#include "support/catch.hpp"

using namespace neuronbook;

namespace {

constexpr const Geometry& kTrn1 = *geometry_of(Architecture::Sunda);
constexpr const Geometry& kTrn2 = *geometry_of(Architecture::Cayman);
constexpr const Geometry& kTrn3 = *geometry_of(Architecture::Mariana);

std::uint32_t chosen(const Geometry& geometry, std::optional<std::uint32_t> wish,
                     std::uint32_t most = 2) {
    const auto size = choose_lnc_size(geometry, most, false, wish);
    return size ? size->count() : 0;
}

} // namespace

TEST_CASE("without a wish the size is the generation's, as far as the program was built for it",
          "[topology][lnc]") {
    CHECK(chosen(kTrn1, {}) == 1);
    CHECK(chosen(kTrn2, {}) == 2);
    CHECK(chosen(kTrn3, {}) == 2);
    CHECK(chosen(kTrn2, {}, 1) == 1);
    CHECK(chosen(kTrn2, {}, 8) == 2);
}

TEST_CASE("a wish is granted within the bounds of generation and program", "[topology][lnc]") {
    CHECK(chosen(kTrn1, 1) == 1);
    CHECK(chosen(kTrn2, 1) == 1);
    CHECK(chosen(kTrn3, 2) == 2);
    for (const std::uint32_t size : {0u, 3u, 4u, 8u, 256u}) CHECK(chosen(kTrn2, size, 8) == 0);
    CHECK(chosen(kTrn2, 2, 1) == 0);
    const auto trn1 = choose_lnc_size(kTrn1, 2, false, 2);
    REQUIRE_FALSE(trn1);
    CHECK(describe(trn1.error()) == "bring-up: Logical core size (2) must be a power of two and "
                                    "less than or equal to 1 (INVALID, 2)");
}

TEST_CASE("an instance that takes only 2 refuses 1, and no other size becomes legal",
          "[topology][lnc]") {
    constexpr auto one = choose_lnc_size(kTrn2, 2, true, 1);
    static_assert(!one.has_value());
    CHECK(one.error().detail == Detail::LncOnlyTwo);
    CHECK(describe(one.error())
              .find("Only LNC Size of 2 is supported at this moment on this "
                    "instance type. Requested LNC Size 1") != std::string::npos);
    CHECK(choose_lnc_size(kTrn2, 2, true, {})->count() == 2);
    CHECK(choose_lnc_size(kTrn2, 2, true, 2)->count() == 2);
    CHECK(choose_lnc_size(kTrn2, 2, true, 4).error().detail == Detail::LncSizeInvalid);
}

TEST_CASE("a family takes only 2 if all its instances do", "[topology][lnc]") {
    for (const auto& row : kInstances) CHECK_FALSE(takes_only_lnc2(row.family));
    CHECK_FALSE(takes_only_lnc2(InstanceFamily::Unknown));
    constexpr std::array rows{
        Instance{"a", InstanceFamily::Trn2e, Architecture::Cayman, 16, Platform::Standard, true},
        Instance{"b", InstanceFamily::Trn2u, Architecture::Cayman, 16, Platform::Standard, true},
        Instance{"c", InstanceFamily::Trn2u, Architecture::Cayman, 16, Platform::Standard, false}};
    static_assert(takes_only_lnc2(InstanceFamily::Trn2e, rows));
    static_assert(!takes_only_lnc2(InstanceFamily::Trn2u, rows));
    static_assert(!takes_only_lnc2(InstanceFamily::Trn1, rows));
}
