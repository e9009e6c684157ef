// SPDX-License-Identifier: Apache-2.0
//
// What is asked of a driver when memory is wanted, and what it gives.
// Owns: the plain data of chunks. Does not own: their rules and operations (driver.hpp), moving
// their bytes (copy_ops.hpp). Layer: backend; the layers above see it through driver.hpp.
#pragma once

#include <cstdint>

#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/strong.hpp"
#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {

/// Where memory lies. libnrt: dma_mem_location_t
enum class MemoryLocation : std::uint32_t { Host = 1, Device = 2 };

/// Names a chunk on its device; 0 names none. Reused by the driver as soon as it is freed.
using ChunkHandle = detail::Strong<struct ChunkHandleTag, std::uint64_t>;

/// Largest alignment that may be asked for. The driver takes any number up to 2^31 - 1.
inline constexpr Bytes kMaxAlignment{std::uint64_t{1} << 30};

/// Values of a driver category: 0..19.
inline constexpr std::uint32_t kChunkCategories = 20;
/// Contiguous scratchpad: device memory only.
inline constexpr std::uint32_t kScratchpadCategory = 19;

/// One allocation as the driver is asked for it.
struct ChunkRequest {
    Bytes size{};
    Bytes alignment{}; ///< a power of two up to kMaxAlignment, on the host up to a page; or 0
    MemoryLocation location = MemoryLocation::Device;
    std::uint32_t hbm = 0;      ///< 0 for host memory
    CoreIndex core{};           ///< physical; picks the DMA ring and the sysfs core charged
    std::uint32_t category = 0; ///< mem_alloc_category, 0..19
};

/// One allocation as the driver made it. `size` is page-rounded: what is charged.
struct Chunk {
    ChunkHandle handle{};
    DeviceAddress address{};
    Bytes size{};
    MemoryLocation location = MemoryLocation::Device;
    std::uint32_t hbm = 0;
};

/// One line of the driver's own list of an HBM: every process's chunks, and the driver's.
struct ChunkRecord {
    DeviceAddress address{};
    Bytes size{};
    std::uint32_t category = 0;
};

} // namespace v0
} // namespace neuronbook
