// SPDX-License-Identifier: Apache-2.0
#include "neuronbook/dmem/hint.hpp"

#include <cstring>
#include <string>

#include "support/catch.hpp"

using namespace neuronbook;

TEST_CASE("a hint of up to 47 characters is kept whole, a longer one ends in three dots",
          "[dmem][hint]") {
    const std::string fits(47, 'a');
    CHECK(Hint(fits).view() == fits);
    CHECK(Hint(std::string(48, 'a')).view() == std::string(44, 'a') + "...");
    CHECK(Hint(std::string(5000, 'b')).view() == std::string(44, 'b') + "...");
    CHECK(Hint("").view().empty());
    CHECK(Hint().empty());
    CHECK_FALSE(Hint("w").empty());
}

TEST_CASE("a hint keeps its text when the caller's is gone", "[dmem][hint]") {
    std::string text = "layer.7 weights";
    const Hint hint(text);
    text.assign(text.size(), 'x');
    CHECK(hint.view() == "layer.7 weights");
    Hint moved;
    std::memcpy(static_cast<void*>(&moved), &hint, sizeof hint);
    CHECK(moved == hint);
    CHECK(moved != Hint("layer.7 weight"));
}

TEST_CASE("no text is an empty hint", "[dmem][hint]") {
    const char* none = nullptr;
    CHECK(Hint(none).empty());
    STATIC_REQUIRE(Hint("ring").view() == "ring");
}
