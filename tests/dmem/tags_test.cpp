// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "neuronbook/dmem/tags.hpp"
#include "support/catch.hpp"

using namespace neuronbook;

// Named: the members of an unnamed one would count as unused.
namespace tags_test {

struct Valid {
    static constexpr std::string_view kName = "X";
    static constexpr std::uint32_t kNumber = 9;
    static constexpr std::string_view kLifetime = "x";
};
struct HoldsState : Valid {
    int state = 0;
};
struct NoName {
    static constexpr std::uint32_t kNumber = 9;
    static constexpr std::string_view kLifetime = "x";
};
struct NoNumber {
    static constexpr std::string_view kName = "X";
    static constexpr std::string_view kLifetime = "x";
};
struct NoLifetime {
    static constexpr std::string_view kName = "X";
    static constexpr std::uint32_t kNumber = 9;
};
struct NumberIsText : Valid {
    static constexpr std::string_view kNumber = "9";
};

static_assert(AllocTag<Valid>);
static_assert(!AllocTag<HoldsState>);
static_assert(!AllocTag<NoName>);
static_assert(!AllocTag<NoNumber>);
static_assert(!AllocTag<NoLifetime>);
static_assert(!AllocTag<NumberIsText>);
static_assert(!AllocTag<int>);

} // namespace tags_test

TEST_CASE("the two tiers are empty types with the original's numbers", "[dmem][tags]") {
    STATIC_REQUIRE(std::is_empty_v<GlobalTag>);
    STATIC_REQUIRE(std::is_empty_v<ModelTag>);
    STATIC_REQUIRE(GlobalTag::kNumber == 0);
    STATIC_REQUIRE(ModelTag::kNumber == 1);
    STATIC_REQUIRE(GlobalTag::kName == "GLOBAL");
    STATIC_REQUIRE(ModelTag::kName == "MODEL");
}
