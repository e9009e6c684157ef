// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <type_traits>

#include "neuronbook/base/result.hpp"
#include "support/catch.hpp"

using namespace neuronbook;

static_assert(std::is_trivially_copyable_v<Error>);
static_assert(std::is_trivially_copyable_v<ShortText>);

namespace {

Result<int> half(int number) {
    if (number % 2 == 0) return number / 2;
    return fail({.status = Status::Invalid, .value = static_cast<std::uint64_t>(number)});
}

} // namespace

TEST_CASE("a result holds a value or an error", "[base][result]") {
    CHECK(half(8) == 4);
    const auto odd = half(7);
    REQUIRE_FALSE(odd);
    CHECK(odd.error().status == Status::Invalid);
    CHECK(odd.error().value == 7);
}

TEST_CASE("fields of an error that say nothing keep their defaults", "[base][result]") {
    constexpr Error error;
    CHECK(error.status == Status::Failure);
    CHECK(error.operation == Operation::None);
    CHECK(error.detail == Detail::None);
    CHECK(error.os_error == 0);
    CHECK(error.device == -1);
    CHECK(error.core == -1);
    CHECK(error.hbm == -1);
    CHECK(error.value + error.limit + error.asked + error.free + error.largest == 0);
    CHECK(error.text.view().empty());
}

TEST_CASE("a short text is copied, not pointed at", "[base][result]") {
    std::string name = "/dev/neuron3";
    const ShortText text(name);
    name.assign(12, 'x');
    CHECK(text.view() == "/dev/neuron3");
}

TEST_CASE("a text of 96 characters fits, a longer one ends in an ellipsis", "[base][result]") {
    const std::string fits(96, 'a');
    CHECK(ShortText(fits).view() == fits);
    const std::string cut = std::string(93, 'a') + "...";
    CHECK(ShortText(std::string(97, 'a')).view() == cut);
    CHECK(ShortText(std::string(5000, 'a')).view() == cut);
}
