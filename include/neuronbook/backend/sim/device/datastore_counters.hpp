// SPDX-License-Identifier: Apache-2.0
//
// The counters of cores that a process keeps in its datastore, and the files that show them.
// Owns: where each of them is in the pages, what it is called. Does not own: when they are added up
// (lifecycle.hpp), the files (sysfs.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 11, ioctl-abi.json (offsets)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "neuronbook/backend/sim/device/counters.hpp"
#include "neuronbook/backend/uapi.hpp"
#include "neuronbook/base/architecture.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// One file of a core: below stats/, and the counter that feeds it, which is multiplied.
struct DatastoreCounter {
    std::string_view directory;
    std::uint32_t number = 0;
    std::uint32_t factor = 1;
};

/// Which counter is behind which name follows from the names.
inline constexpr std::array kDatastoreCounters{
    DatastoreCounter{"status/success", 1},
    DatastoreCounter{"status/failure", 16},
    DatastoreCounter{"status/timeout", 4},
    DatastoreCounter{"status/exec_bad_input", 5},
    DatastoreCounter{"status/hw_error", 11},
    DatastoreCounter{"status/execute_completed_with_error", 2},
    DatastoreCounter{"status/execute_completed_with_num_error", 3},
    DatastoreCounter{"status/generic_error", 7},
    DatastoreCounter{"status/resource_error", 17},
    DatastoreCounter{"status/resource_nc_error", 18},
    DatastoreCounter{"status/execute_failed_to_queue", 6},
    DatastoreCounter{"status/invalid_error", 19},
    DatastoreCounter{"status/unsupported_neff_version", 20},
    DatastoreCounter{"status/oob_error", 30},
    DatastoreCounter{"status/hw_collectives_error", 31},
    DatastoreCounter{"status/hw_hbm_ue_error", 32},
    DatastoreCounter{"status/hw_nc_ue_error", 33},
    DatastoreCounter{"status/hw_dma_abort_error", 34},
    DatastoreCounter{"status/execute_sw_nq_overflow", 35},
    DatastoreCounter{"status/execute_sw_semaphore_error", 36},
    DatastoreCounter{"status/execute_sw_event_error", 37},
    DatastoreCounter{"status/execute_sw_psum_collision", 38},
    DatastoreCounter{"status/execute_sw_sequencer_fatal", 39},
    DatastoreCounter{"status/hw_repairable_hbm_ue_error", 40},
    DatastoreCounter{"other_info/model_load_count", 27},
    DatastoreCounter{"other_info/inference_count", 28},
    DatastoreCounter{"other_info/flop_count", 29, 2}, // a multiplication and an addition each
    DatastoreCounter{"other_info/nc_time_in_use", 0},
};

/// Where a core's counter is, from the start of a datastore. The first four cores have 31 counters
/// in front and the others behind; the rest have all of theirs together.
[[nodiscard]] constexpr std::uint64_t datastore_offset(std::uint32_t core, std::uint32_t number) {
    constexpr std::uint64_t kWord = sizeof(std::uint64_t);
    constexpr std::uint32_t kFirst = uapi::kNdsNeuroncoreCountersCount;
    if (core >= uapi::kNdsMaxNeuroncoreCount)
        return uapi::kNdsExtNeuroncoreNcDataStart +
               (std::uint64_t{core - uapi::kNdsMaxNeuroncoreCount} *
                    uapi::kNdsExtNeuroncoreNcDataCount +
                number) *
                   kWord;
    if (number < kFirst)
        return uapi::kNdsNeuroncoreCountersStart + (std::uint64_t{core} * kFirst + number) * kWord;
    return uapi::kNdsExtNeuroncoreCountersStart +
           (std::uint64_t{core} * uapi::kNdsExtNeuroncoreCountersCount + number - kFirst) * kWord;
}

/// What a process counted for a core, as the file of it shows the number.
[[nodiscard]] inline std::uint64_t datastore_value(const std::byte* pages, std::uint32_t core,
                                                   const DatastoreCounter& counter) {
    std::uint64_t value = 0;
    std::memcpy(&value, pages + datastore_offset(core, counter.number), sizeof value);
    return value * counter.factor;
}

/// By core, in the order of kDatastoreCounters. Not thread-safe.
class PublishedCounters {
public:
    /// Adds what one datastore says. A counter of zero changes nothing.
    void add(const std::byte* pages) {
        for (std::uint32_t core = 0; core < kMaxCoresPerDevice; ++core)
            for (std::size_t i = 0; i < kDatastoreCounters.size(); ++i)
                if (const auto value = datastore_value(pages, core, kDatastoreCounters[i]))
                    counters_[core][i].add(value);
    }

    [[nodiscard]] Counter& of(std::uint32_t core, std::size_t counter) {
        return counters_[core][counter];
    }

private:
    std::array<std::array<Counter, kDatastoreCounters.size()>, kMaxCoresPerDevice> counters_{};
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
