// SPDX-License-Identifier: Apache-2.0
//
// The driver's counters of one device, as sysfs shows them.
// Owns: the numbers and which category feeds which. Does not own: paths and texts (sysfs.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 11
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "neuronbook/backend/sim/machine/release.hpp"
#include "neuronbook/backend/uapi.hpp"
#include "neuronbook/base/architecture.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// One counter. `present` is not what is present: it is the size of the last change.
struct Counter {
    std::uint64_t total = 0; ///< bytes allocated now, or events
    std::uint64_t present = 0;
    std::uint64_t peak = 0;

    void add(std::uint64_t bytes) {
        total += bytes;
        present = bytes;
        if (total > peak) peak = total;
    }
    /// Below zero it goes round, as after somebody wrote a zero into its file.
    void subtract(std::uint64_t bytes) {
        total -= bytes;
        present = bytes;
    }
    Counter& operator++() {
        add(1);
        return *this;
    }
};

/// Directories below device_mem/ (per core) and host_mem/ (per device).
inline constexpr std::array<std::string_view, 11> kDeviceDirectories{
    "uncategorized",       "model_code",  "tensors",       "constants", "runtime_memory",
    "driver_memory",       "collectives", "notifications", "dma_rings", "model_shared_scratchpad",
    "nonshared_scratchpad"};
inline constexpr std::array<std::string_view, 8> kHostDirectories{
    "uncategorized",      "dma_buffers",   "tensors",       "constants",
    "application_memory", "driver_memory", "notifications", "dma_rings"};

/// Directories below status/ of a core: how executions ended.
inline constexpr std::array<std::string_view, 24> kStatusDirectories{
    "success",
    "failure",
    "timeout",
    "exec_bad_input",
    "hw_error",
    "execute_completed_with_error",
    "execute_completed_with_num_error",
    "generic_error",
    "resource_error",
    "resource_nc_error",
    "execute_failed_to_queue",
    "invalid_error",
    "unsupported_neff_version",
    "oob_error",
    "hw_collectives_error",
    "hw_hbm_ue_error",
    "hw_nc_ue_error",
    "hw_dma_abort_error",
    "execute_sw_nq_overflow",
    "execute_sw_semaphore_error",
    "execute_sw_event_error",
    "execute_sw_psum_collision",
    "execute_sw_sequencer_fatal",
    "hw_repairable_hbm_ue_error"};
/// Directories below other_info/ of a core.
inline constexpr std::array<std::string_view, 6> kOtherDirectories{
    "model_load_count", "reset_req_count", "reset_fail_count",
    "inference_count",  "flop_count",      "nc_time_in_use"};

/// Places in that list which the driver itself counts, in counters of their own.
inline constexpr std::size_t kResetRequests = 1;
inline constexpr std::size_t kResetFailures = 2;

/// Where a category counts.
struct CategoryDirectory {
    bool host;
    std::uint8_t directory;
};

inline constexpr auto kCategories = static_cast<std::size_t>(uapi::MemCategory::Max);

inline constexpr std::array<CategoryDirectory, kCategories> kCategoryDirectories{{
    {true, 0},   // unknown
    {true, 1},   // code
    {true, 2},   // tensors
    {true, 3},   // constants
    {true, 4},   // misc
    {true, 5},   // the driver's own
    {true, 6},   // notification
    {false, 0},  // unknown
    {false, 1},  // code
    {false, 2},  // tensors
    {false, 3},  // constants
    {false, 9},  // scratchpad
    {false, 4},  // misc
    {false, 5},  // the driver's own
    {false, 6},  // collectives
    {false, 10}, // scratchpad, not shared
    {false, 7},  // notification
    {true, 7},   // descriptor rings
    {false, 8},  // descriptor rings
    {false, 9},  // contiguous scratchpad
}};

/// All memory counters of a device. Not thread-safe.
class MemoryCounters {
public:
    std::array<Counter, kMaxCoresPerDevice> core_device;
    std::array<Counter, kMaxCoresPerDevice> core_host;
    std::array<std::array<Counter, kDeviceDirectories.size()>, kMaxCoresPerDevice> core_category;
    std::array<Counter, kHostDirectories.size()> host_category;

    void add(bool on_host, std::uint32_t category, std::uint32_t core, std::uint64_t bytes) {
        (on_host ? core_host : core_device)[core].add(bytes);
        if (Counter* counter = of(on_host, category, core)) counter->add(bytes);
    }

    void subtract(bool on_host, std::uint32_t category, std::uint32_t core, std::uint64_t bytes) {
        (on_host ? core_host : core_device)[core].subtract(bytes);
        if (Counter* counter = of(on_host, category, core)) counter->subtract(bytes);
    }

private:
    /// The category's own counter at the scope of the real location; null where that scope has no
    /// directory for it, as for a host category on device memory.
    Counter* of(bool on_host, std::uint32_t category, std::uint32_t core) {
        std::size_t directory = 0;
        if (category < kCategoryDirectories.size()) {
            if (kCategoryDirectories[category].host != on_host) return nullptr;
            directory = kCategoryDirectories[category].directory;
        }
        return on_host ? &host_category[directory] : &core_category[core][directory];
    }
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
