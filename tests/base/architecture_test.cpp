// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string_view>

#include "neuronbook/base/architecture.hpp"
#include "support/catch.hpp"

using namespace neuronbook;

namespace {

struct Row {
    std::uint32_t number;
    std::string_view name;
    std::uint32_t cores, cores_per_hbm, hbms;
    std::uint64_t hbm_size;
    std::uint64_t base[4];
    std::uint32_t top_sps, default_lnc, max_lnc, runtime_version;
};

// tables.md 3 and 22, in figures.
constexpr Row kRows[] = {
    {2, "SUNDA", 2, 1, 2, 0x4'0000'0000u, {0, 0x10'0000'0000u}, 6, 1, 1, 7},
    {3,
     "CAYMAN",
     8,
     2,
     4,
     0x6'0000'0000u,
     {0, 0x40'0000'0000u, 0x8000'0000'0000u, 0x8040'0000'0000u},
     16,
     2,
     2,
     11},
    {4,
     "MARIANA",
     8,
     2,
     4,
     0x9'0000'0000u,
     {0, 0x40'0000'0000u, 0x8000'0000'0000u, 0x8040'0000'0000u},
     16,
     2,
     2,
     11},
};

} // namespace

TEST_CASE("each generation has its documented geometry", "[base][architecture]") {
    for (const auto& row : kRows) {
        INFO(row.name);
        const auto* geometry = geometry_of(static_cast<Architecture>(row.number));
        REQUIRE(geometry);
        CHECK(geometry->name == row.name);
        CHECK(geometry->cores == row.cores);
        CHECK(geometry->cores_per_hbm == row.cores_per_hbm);
        CHECK(geometry->hbms == row.hbms);
        CHECK(geometry->hbm_size.count() == row.hbm_size);
        for (std::uint32_t i = 0; i < row.hbms; ++i)
            CHECK(geometry->hbm_base[i].value() == row.base[i]);
        CHECK(geometry->sbuf_size.count() == 33554432);
        CHECK(geometry->dma_engines_per_core == 16);
        CHECK(geometry->queues_per_engine == 16);
        CHECK(geometry->top_sps == row.top_sps);
        CHECK(geometry->default_lnc_size == row.default_lnc);
        CHECK(geometry->max_lnc_size == row.max_lnc);
        CHECK(geometry->runtime_version == row.runtime_version);
    }
}

TEST_CASE("a core's default HBM is the one next to it", "[base][architecture]") {
    const auto& sunda = *geometry_of(Architecture::Sunda);
    CHECK(sunda.default_hbm(CoreIndex{0}) == 0);
    CHECK(sunda.default_hbm(CoreIndex{1}) == 1);
    constexpr std::uint32_t expected[] = {0, 0, 1, 1, 2, 2, 3, 3};
    for (std::uint32_t core = 0; core < 8; ++core) {
        CHECK(geometry_of(Architecture::Cayman)->default_hbm(CoreIndex{core}) == expected[core]);
        CHECK(geometry_of(Architecture::Mariana)->default_hbm(CoreIndex{core}) == expected[core]);
    }
}

TEST_CASE("D17: numbers of no supported generation have no geometry", "[base][architecture]") {
    for (std::uint32_t number = 0; number < 300; ++number) {
        INFO(number);
        const bool supported = number >= 2 && number <= 4;
        CHECK((geometry_of(static_cast<Architecture>(number)) != nullptr) == supported);
    }
}
