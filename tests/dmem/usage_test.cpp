// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <iterator>
#include <string_view>

#include "neuronbook/dmem/usage.hpp"
#include "support/catch.hpp"

using namespace neuronbook;

namespace {

// The three byte strings of the original (tables.md 7, the lost byte of E2 put back).
constexpr std::uint8_t kHost[23] = {0x04, 0x01, 0x01, 0x04, 0x01, 0x04, 0x03, 0x06,
                                    0x04, 0x01, 0x01, 0x14, 0x02, 0x01, 0x04, 0x14,
                                    0x14, 0x04, 0x11, 0x11, 0x11, 0x11, 0x00};
constexpr std::uint8_t kDevice[23] = {0x0c, 0x08, 0x08, 0x0c, 0x08, 0x0c, 0x0a, 0x10,
                                      0x0c, 0x08, 0x08, 0x0b, 0x09, 0x08, 0x0c, 0x0e,
                                      0x0f, 0x0c, 0x12, 0x12, 0x12, 0x12, 0x00};
constexpr std::uint8_t kAggregate[23] = {0x05, 0x00, 0x00, 0x05, 0x00, 0x05, 0x01, 0x0b,
                                         0x05, 0x00, 0x00, 0x03, 0x02, 0x00, 0x05, 0x0a,
                                         0x04, 0x05, 0x09, 0x07, 0x06, 0x08, 0x00};

// The documented field names, in the order of the enumeration; 17 has none.
constexpr std::string_view kNames[] = {
    "generic",
    "tensor_instructions",
    "scalar_instructions",
    "gpsimd_instructions",
    "io",
    "dram_spill",
    "weights",
    "profiler_buffers",
    "scalar_table",
    "vector_instructions",
    "sync_instructions",
    "shared_scratchpad",
    "tensors",
    "ucode_lib",
    "gpsimd_stdio",
    "collectives",
    "scratchpad",
    "xt_cc",
    "dma_rings_runtime",
    "dma_rings_spill",
    "dma_rings_io",
    "dma_rings_collectives",
};

constexpr std::string_view kColumns[] = {
    "Model Code",        "Model Constants", "Tensors",
    "Shared Scratchpad", "Scratchpad",      "Runtime",
    "DMA Rings IO",      "DMA Rings Spill", "DMA Rings Collectives",
    "DMA Rings Runtime", "Collectives",     "Profiler Buffers",
};

constexpr Usage usage(std::uint32_t number) { return static_cast<Usage>(number); }

} // namespace

TEST_CASE("each usage has the original's category on the host and on the device", "[dmem][usage]") {
    for (std::uint32_t i = 0; i < 22; ++i) {
        INFO(i);
        for (const bool host : {true, false}) {
            const auto expected = host ? kHost[i] : kDevice[i];
            const auto category =
                category_of(usage(i), host ? MemoryLocation::Host : MemoryLocation::Device);
            if (expected != 20) {
                CHECK(category == expected);
                continue;
            }
            REQUIRE_FALSE(category);
            CHECK(category.error().status == Status::Invalid);
            CHECK(category.error().detail == Detail::UsageNotHere);
            CHECK(category.error().value == i);
            CHECK(category.error().text.view() == "host");
        }
    }
}

TEST_CASE("E1: the host refuses scratchpads and collectives, not DMA rings", "[dmem][usage]") {
    std::uint32_t refused = 0;
    for (std::uint32_t i = 0; i < 22; ++i)
        if (!category_of(usage(i), MemoryLocation::Host)) refused |= 1u << i;
    CHECK(refused == (1u << 11 | 1u << 15 | 1u << 16));
    CHECK(category_of(Usage::DmaRingIo, MemoryLocation::Host) == 17u);
}

TEST_CASE("the total and numbers past it are no usages", "[dmem][usage]") {
    for (const std::uint32_t i : {22u, 23u, 255u, 0xFFFF'FFFFu}) {
        INFO(i);
        CHECK_FALSE(is_usage(usage(i)));
        for (const auto location : {MemoryLocation::Host, MemoryLocation::Device}) {
            const auto category = category_of(usage(i), location);
            REQUIRE_FALSE(category);
            CHECK(category.error().status == Status::Invalid);
            CHECK(category.error().detail == Detail::UsageInvalid);
            CHECK(category.error().value == i);
            CHECK(category.error().limit == 22);
        }
    }
}

TEST_CASE("E2: each usage adds to the original's column of the report", "[dmem][usage]") {
    for (std::uint32_t i = 0; i < 22; ++i) {
        INFO(i);
        CHECK(static_cast<std::uint32_t>(aggregate_of(usage(i))) == kAggregate[i]);
    }
    STATIC_REQUIRE(kAggregates == 12);
}

TEST_CASE("usages and columns have the documented names", "[dmem][usage]") {
    REQUIRE(std::size(kNames) == 22);
    for (std::uint32_t i = 0; i < 22; ++i) CHECK(name_of(usage(i)) == kNames[i]);
    CHECK(name_of(Usage::Max) == "total");
    CHECK(name_of(usage(23)) == "unknown");
    REQUIRE(std::size(kColumns) == 12);
    for (std::uint8_t i = 0; i < 12; ++i) CHECK(name_of(static_cast<Aggregate>(i)) == kColumns[i]);
    CHECK(name_of(Aggregate::Count_) == "unknown");
}

TEST_CASE("the enumerators have the documented numbers", "[dmem][usage]") {
    CHECK(static_cast<int>(Usage::Generic) == 0);
    CHECK(static_cast<int>(Usage::InstrPool) == 3);
    CHECK(static_cast<int>(Usage::Io) == 4);
    CHECK(static_cast<int>(Usage::Weight) == 6);
    CHECK(static_cast<int>(Usage::Scratchpad) == 11);
    CHECK(static_cast<int>(Usage::Tensor) == 12);
    CHECK(static_cast<int>(Usage::Cc) == 15);
    CHECK(static_cast<int>(Usage::ScratchpadNotShared) == 16);
    CHECK(static_cast<int>(Usage::DmaRing) == 18);
    CHECK(static_cast<int>(Usage::DmaRingCollectives) == 21);
    CHECK(static_cast<int>(Usage::Max) == 22);
}
