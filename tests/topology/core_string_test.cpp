// SPDX-License-Identifier: Apache-2.0
#include "neuronbook/topology/core_string.hpp"

#include <string>

#include "neuronbook/base/describe.hpp"
#include "support/catch.hpp"

using namespace neuronbook;

namespace {

constexpr LogicalRange range(std::uint32_t first, std::uint32_t count) {
    return {LogicalCore{first}, count};
}

/// The run a text names; an empty one when it is refused.
LogicalRange named(std::string_view text) {
    return parse_visible_cores(text).value_or(LogicalRange{});
}

std::string list_of(std::uint32_t count) {
    std::string text = "0";
    for (std::uint32_t i = 1; i < count; ++i) text += "," + std::to_string(i);
    return text;
}

} // namespace

TEST_CASE("C01: ids, ranges and lists of both name a run of cores", "[topology][core_string]") {
    CHECK(named("3") == range(3, 1));
    CHECK(named("3-5") == range(3, 3));
    CHECK(named("3,4,5,6") == range(3, 4));
    CHECK(named("3-5,6") == range(3, 4));
    CHECK(named("0-0") == range(0, 1)); // as two workers of a report were given
    CHECK(named("0-1,2-3,4,5-7") == range(0, 8));
    CHECK(named("007") == range(7, 1));
}

TEST_CASE("C01: what is not a rising run without gaps is refused with the text and the rule",
          "[topology][core_string]") {
    struct Row {
        const char* text;
        Detail detail;
        const char* rule;
        std::uint64_t character;
    };
    const Row rows[] = {
        {"3,5,6", Detail::CoreStringGap, "must be contiguous", 3},
        {"5,4", Detail::CoreStringNotRising, "must be strictly increasing", 3},
        {"4,4", Detail::CoreStringNotRising, "must be strictly increasing", 3},
        {"3-5,5", Detail::CoreStringNotRising, "must be strictly increasing", 5},
        {"3-3-4", Detail::CoreStringSyntax, "does not name cores", 4},
        {"5-3", Detail::CoreStringBackwards, "runs backwards", 1},
        {"", Detail::CoreStringSyntax, "does not name cores", 1},
        {",", Detail::CoreStringSyntax, "does not name cores", 1},
        {"3,", Detail::CoreStringSyntax, "does not name cores", 3},
        {"3-", Detail::CoreStringSyntax, "does not name cores", 3},
        {"-1", Detail::CoreStringSyntax, "does not name cores", 1},
        {"+1", Detail::CoreStringSyntax, "does not name cores", 1},
        {"0x3", Detail::CoreStringSyntax, "does not name cores", 2},
        {" 3", Detail::CoreStringSyntax, "does not name cores", 1},
        {"3 ", Detail::CoreStringSyntax, "does not name cores", 2},
        {"3;4", Detail::CoreStringSyntax, "does not name cores", 2},
        {"1e1", Detail::CoreStringSyntax, "does not name cores", 2},
        {"4294967299", Detail::CoreStringSyntax, "does not name cores", 1},
        {"0-4294967295,4294967296", Detail::CoreStringSyntax, "does not name cores", 3},
    };
    for (const auto& row : rows) {
        INFO(row.text);
        const auto parsed = parse_visible_cores(row.text);
        REQUIRE_FALSE(parsed.has_value());
        CHECK(parsed.error().status == Status::Invalid);
        CHECK(parsed.error().detail == row.detail);
        CHECK(parsed.error().value == row.character);
        const auto said = describe(parsed.error());
        CHECK(said.find("'" + std::string(row.text) + "'") != std::string::npos);
        CHECK(said.find(row.rule) != std::string::npos);
    }
}

TEST_CASE("C02: thirty-two single ids are 0-31, and 128 ids are as good",
          "[topology][core_string]") {
    CHECK(named(list_of(32)) == range(0, 32));
    CHECK(named(list_of(128)) == range(0, 128));
}

TEST_CASE("C05: a count is a decimal number, 0 for all", "[topology][core_string]") {
    CHECK(*parse_core_count("0") == 0);
    CHECK(*parse_core_count("1") == 1);
    CHECK(*parse_core_count("128") == 128);
    for (const char* text :
         {"", "-1", "+1", " 1", "1 ", "0x1", "1-2", "1,2", "4294967296", "all"}) {
        INFO(text);
        const auto parsed = parse_core_count(text);
        REQUIRE_FALSE(parsed.has_value());
        CHECK(parsed.error().status == Status::Invalid);
        CHECK(describe(parsed.error()).find("'" + std::string(text) + "'") != std::string::npos);
    }
}
