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
    std::uint32_t family, architecture, devices, platform;
};

constexpr Row kRows[] = {
    {"inf1.xlarge", 1, 0, 1, 0},          {"inf1.2xlarge", 1, 0, 1, 0},
    {"inf1.6xlarge", 1, 0, 4, 0},         {"inf1.24xlarge", 1, 0, 16, 0},
    {"inf2.xlarge", 4, 2, 1, 0},          {"inf2.8xlarge", 4, 2, 1, 0},
    {"inf2.24xlarge", 4, 2, 6, 0},        {"inf2.48xlarge", 4, 2, 12, 0},
    {"trn1.2xlarge", 2, 2, 1, 0},         {"trn1.32xlarge", 2, 2, 16, 0},
    {"trn1n.32xlarge", 3, 2, 16, 0},      {"trn2.3xlarge", 5, 3, 1, 0},
    {"trn2.48xlarge", 5, 3, 16, 0},       {"trn2n.48xlarge", 6, 3, 16, 0},
    {"trn2e.48xlarge", 10, 3, 16, 0},     {"trn2p.48xlarge", 8, 3, 16, 1},
    {"trn2u.48xlarge", 9, 3, 16, 1},      {"trn2eu.48xlarge", 11, 3, 16, 1},
    {"trn3p.48xlarge", 14, 4, 16, 1},     {"trn3pd98.3xlarge", 15, 4, 1, 0},
    {"trn2u-ac.24xlarge", 13, 3, 16, 1},  {"trn2es.48xlarge", 10, 3, 16, 2},
    {"trn2en.24xlarge", 10, 3, 4, 3},     {"trn3.48xlarge", 14, 4, 16, 2},
    {"trn3-dev0.48xlarge", 14, 4, 16, 2}, {"trn3-dev1.48xlarge", 14, 4, 16, 2},
    {"trn3s.48xlarge", 14, 4, 16, 0},     {"trn3s-es.48xlarge", 14, 4, 16, 2},
    {"trn3sn.48xlarge", 14, 4, 16, 2},    {"trn3sn-es.48xlarge", 14, 4, 16, 2},
    {"trn3e.24xlarge", 14, 4, 4, 3},      {"trn3e-dev0.24xlarge", 14, 4, 4, 3},
    {"trn3s-es.3xlarge", 14, 4, 1, 0},    {"trn3sn.3xlarge", 14, 4, 1, 0},
    {"trn3sn-es.3xlarge", 14, 4, 1, 0},
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
        CHECK(static_cast<std::uint32_t>(instance->platform) == row.platform);
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
