// SPDX-License-Identifier: Apache-2.0
//
// What memory is used for: 23 usages, and how the driver and the reports class them.
// Owns: the usage table. Does not own: counters (ledger.hpp) or the layout of a report.
// Layer: dmem.   libnrt: dma_mem_usage_type_t. Source: tables.md 7, nrt-surface.md 5.2 and 5.3
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/result.hpp"

namespace neuronbook {
inline namespace v0 {

/// Purpose of an allocation. Numbers and names are the documented ones.
///
/// Doubts about the document, each settled by the tables' own bytes:
/// - InstrPool and Io: every table treats 3 as miscellaneous and 4 as code, so the two *names* are
///   probably swapped in the document (E3). Number and bytes are exact here; mind the names.
/// - The host category of the DMA rings (18..21) is 17, which is valid: rings may lie in host
///   memory. The three usages the host refuses are Scratchpad, Cc and ScratchpadNotShared (E1).
/// - The document's aggregate bytes lost a 0 at index 4; it is back (E2).
///
/// libnrt: dma_mem_usage_type_t
enum class Usage : std::uint32_t {
    Generic = 0,
    InstrPe = 1,
    InstrAct = 2,
    InstrPool = 3,
    Io = 4,
    DramSpill = 5,
    Weight = 6,
    Notification = 7,
    ActTable = 8,
    InstrDve = 9,
    InstrSp = 10,
    Scratchpad = 11,
    Tensor = 12,
    UcodeLib = 13,
    PoolStdio = 14,
    Cc = 15,
    ScratchpadNotShared = 16,
    XtCc = 17,
    DmaRing = 18,
    DmaRingSpill = 19,
    DmaRingIo = 20,
    DmaRingCollectives = 21,
    /// No usage: names a core's total, and the number of usages. Refused in a request.
    Max = 22,
};

/// The usages that may be asked for.
inline constexpr std::uint32_t kUsages = 22;
/// Columns of a core's row: the usages and the total.
inline constexpr std::uint32_t kUsageColumns = 23;

/// Columns of the usage report, left to right. libnrt: map_dmem_usage_type_to_aggr_index
enum class Aggregate : std::uint8_t {
    ModelCode = 0,
    ModelConstants = 1,
    Tensors = 2,
    SharedScratchpad = 3,
    Scratchpad = 4,
    Runtime = 5,
    DmaRingsIo = 6,
    DmaRingsSpill = 7,
    DmaRingsCollectives = 8,
    DmaRingsRuntime = 9,
    Collectives = 10,
    ProfilerBuffers = 11,
    Count_,
};

inline constexpr std::size_t kAggregates = static_cast<std::size_t>(Aggregate::Count_);

namespace detail {

/// The driver's mem_alloc_category MAX, which stands for "not at this location".
inline constexpr std::uint8_t kNotHere = kChunkCategories;

struct UsageRow {
    std::string_view name;
    std::uint8_t host;   ///< libnrt: dmem_usage_type_to_host_category
    std::uint8_t device; ///< libnrt: dmem_usage_type_to_device_category
    Aggregate aggregate;
};

inline constexpr std::array<UsageRow, kUsages> kUsageRows{{
    {"generic", 4, 12, Aggregate::Runtime},
    {"tensor_instructions", 1, 8, Aggregate::ModelCode},
    {"scalar_instructions", 1, 8, Aggregate::ModelCode},
    {"gpsimd_instructions", 4, 12, Aggregate::Runtime},
    {"io", 1, 8, Aggregate::ModelCode},
    {"dram_spill", 4, 12, Aggregate::Runtime},
    {"weights", 3, 10, Aggregate::ModelConstants},
    {"profiler_buffers", 6, 16, Aggregate::ProfilerBuffers},
    {"scalar_table", 4, 12, Aggregate::Runtime},
    {"vector_instructions", 1, 8, Aggregate::ModelCode},
    {"sync_instructions", 1, 8, Aggregate::ModelCode},
    {"shared_scratchpad", kNotHere, 11, Aggregate::SharedScratchpad},
    {"tensors", 2, 9, Aggregate::Tensors},
    {"ucode_lib", 1, 8, Aggregate::ModelCode},
    {"gpsimd_stdio", 4, 12, Aggregate::Runtime},
    {"collectives", kNotHere, 14, Aggregate::Collectives},
    {"scratchpad", kNotHere, 15, Aggregate::Scratchpad},
    {"xt_cc", 4, 12, Aggregate::Runtime}, // no public name: the schema has no such field
    {"dma_rings_runtime", 17, 18, Aggregate::DmaRingsRuntime},
    {"dma_rings_spill", 17, 18, Aggregate::DmaRingsSpill},
    {"dma_rings_io", 17, 18, Aggregate::DmaRingsIo},
    {"dma_rings_collectives", 17, 18, Aggregate::DmaRingsCollectives},
}};

inline constexpr std::array<std::string_view, kAggregates> kAggregateNames{
    "Model Code",        "Model Constants", "Tensors",
    "Shared Scratchpad", "Scratchpad",      "Runtime",
    "DMA Rings IO",      "DMA Rings Spill", "DMA Rings Collectives",
    "DMA Rings Runtime", "Collectives",     "Profiler Buffers",
};

} // namespace detail

/// Whether a request may name the usage; false for Max and for numbers that are no usage.
[[nodiscard]] constexpr bool is_usage(Usage usage) noexcept {
    return static_cast<std::uint32_t>(usage) < kUsages;
}

/// The name reports use: the documented profile field. "total" for Max, "unknown" past it.
[[nodiscard]] constexpr std::string_view name_of(Usage usage) noexcept {
    if (is_usage(usage)) return detail::kUsageRows[static_cast<std::size_t>(usage)].name;
    return usage == Usage::Max ? "total" : "unknown";
}

/// The heading of a report's column; "unknown" for a number that is none.
[[nodiscard]] constexpr std::string_view name_of(Aggregate aggregate) noexcept {
    const auto i = static_cast<std::size_t>(aggregate);
    return i < kAggregates ? detail::kAggregateNames[i] : "unknown";
}

/// The report column a usage belongs to. Requires: is_usage(usage).
[[nodiscard]] constexpr Aggregate aggregate_of(Usage usage) noexcept {
    return detail::kUsageRows[static_cast<std::size_t>(usage)].aggregate;
}

/// The driver's mem_alloc_category for a usage at a location.
/// Errors: INVALID with Detail::UsageInvalid (value: the usage, limit: 22) for what is no usage,
/// or Detail::UsageNotHere (value: the usage, text: "host" or "device").
/// libnrt: dmem_usage_type_to_host_category, dmem_usage_type_to_device_category
[[nodiscard]] constexpr Result<std::uint32_t> category_of(Usage usage, MemoryLocation location) {
    const bool host = location == MemoryLocation::Host;
    const auto refuse = [&](Detail detail) __attribute__((cold, noinline)) {
        return fail({.status = Status::Invalid,
                     .operation = Operation::Allocate,
                     .detail = detail,
                     .value = static_cast<std::uint32_t>(usage),
                     .limit = kUsages,
                     .text = std::string_view(host ? "host" : "device")});
    };
    if (!is_usage(usage)) return refuse(Detail::UsageInvalid);
    const auto& row = detail::kUsageRows[static_cast<std::size_t>(usage)];
    const auto category = host ? row.host : row.device;
    if (category == detail::kNotHere) return refuse(Detail::UsageNotHere);
    return category;
}

} // namespace v0
} // namespace neuronbook
