// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <iterator>
#include <string_view>

#include "neuronbook/base/instance.hpp"
#include "support/catch.hpp"

using namespace neuronbook;

namespace {

struct Row {
    std::string_view name;
    std::uint32_t family, architecture, devices;
    bool ultra;
};

constexpr Row kRows[] = {
    {"inf1.xlarge", 1, 0, 1, false},      {"inf1.2xlarge", 1, 0, 1, false},
    {"inf1.6xlarge", 1, 0, 4, false},     {"inf1.24xlarge", 1, 0, 16, false},
    {"inf2.xlarge", 4, 2, 1, false},      {"inf2.8xlarge", 4, 2, 1, false},
    {"inf2.24xlarge", 4, 2, 6, false},    {"inf2.48xlarge", 4, 2, 12, false},
    {"trn1.2xlarge", 2, 2, 1, false},     {"trn1.32xlarge", 2, 2, 16, false},
    {"trn1n.32xlarge", 3, 2, 16, false},  {"trn2.3xlarge", 5, 3, 1, false},
    {"trn2.48xlarge", 5, 3, 16, false},   {"trn2n.48xlarge", 6, 3, 16, false},
    {"trn2e.48xlarge", 10, 3, 16, false}, {"trn2p.48xlarge", 8, 3, 16, true},
    {"trn2u.48xlarge", 9, 3, 16, true},   {"trn2eu.48xlarge", 11, 3, 16, true},
    {"trn3p.48xlarge", 14, 4, 16, true},  {"trn3pd98.3xlarge", 15, 4, 1, false},
};

} // namespace

TEST_CASE("each instance type has its family, generation and devices", "[base][instance]") {
    for (const auto& row : kRows) {
        INFO(row.name);
        const auto* instance = instance_named(row.name);
        REQUIRE(instance);
        CHECK(static_cast<std::uint32_t>(instance->family) == row.family);
        CHECK(static_cast<std::uint32_t>(instance->architecture) == row.architecture);
        CHECK(instance->devices == row.devices);
        CHECK((instance->platform == Platform::UltraServer) == row.ultra);
        CHECK_FALSE(instance->only_lnc2);
    }
    CHECK(std::size(kInstances) == std::size(kRows));
}

TEST_CASE("a name that is no instance type is not found", "[base][instance]") {
    CHECK_FALSE(instance_named("trn2.48XLARGE"));
    CHECK_FALSE(instance_named("trn2.48xlarge "));
    CHECK_FALSE(instance_named("p5.48xlarge"));
    CHECK_FALSE(instance_named(""));
}
