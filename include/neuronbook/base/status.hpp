// SPDX-License-Identifier: Apache-2.0
//
// Status codes with the numbers that users of the Neuron runtime know.
// Owns: the numbers and their names. Does not own: what happened (result.hpp).
// Layer: base.   libnrt: NRT_STATUS
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace neuronbook {
inline namespace v0 {

/// Outcome class of an operation. The numbers are part of the interface (tables.md 2, documented);
/// 8 and 12 are unassigned and never returned.
/// libnrt: NRT_STATUS
enum class Status : std::int32_t {
    Success = 0,
    Failure = 1,
    Invalid = 2,
    InvalidHandle = 3,
    Resource = 4,
    Timeout = 5,
    HwError = 6,
    QueueFull = 7,
    LoadNotEnoughNc = 9,
    UnsupportedNeffVersion = 10,
    FailHostMemAlloc = 11,
    Uninitialized = 13,
    Closed = 14,
    QueueEmpty = 15,
    ExecUnitUnrecoverable = 101,
    ExecBadInput = 1002,
    ExecCompletedWithNumErr = 1003,
    ExecCompletedWithErr = 1004,
    ExecNcBusy = 1005,
    ExecOob = 1006,
    CollPending = 1100,
    ExecHwErrCollectives = 1200,
    ExecHwErrHbmUe = 1201,
    ExecHwErrNcUe = 1202,
    ExecHwErrDmaAbort = 1203,
    ExecSwNqOverflow = 1204,
    ExecHwErrRepairableHbmUe = 1205,
    NetworkProxyFailure = 1206,
};

namespace detail {

struct StatusName {
    Status status;
    std::string_view name;
};

inline constexpr std::array kStatusNames{
    StatusName{Status::Success, "SUCCESS"},
    StatusName{Status::Failure, "FAILURE"},
    StatusName{Status::Invalid, "INVALID"},
    StatusName{Status::InvalidHandle, "INVALID_HANDLE"},
    StatusName{Status::Resource, "RESOURCE"},
    StatusName{Status::Timeout, "TIMEOUT"},
    StatusName{Status::HwError, "HW_ERROR"},
    StatusName{Status::QueueFull, "QUEUE_FULL"},
    StatusName{Status::LoadNotEnoughNc, "LOAD_NOT_ENOUGH_NC"},
    StatusName{Status::UnsupportedNeffVersion, "UNSUPPORTED_NEFF_VERSION"},
    StatusName{Status::FailHostMemAlloc, "FAIL_HOST_MEM_ALLOC"},
    StatusName{Status::Uninitialized, "UNINITIALIZED"},
    StatusName{Status::Closed, "CLOSED"},
    StatusName{Status::QueueEmpty, "QUEUE_EMPTY"},
    StatusName{Status::ExecUnitUnrecoverable, "EXEC_UNIT_UNRECOVERABLE"},
    StatusName{Status::ExecBadInput, "EXEC_BAD_INPUT"},
    StatusName{Status::ExecCompletedWithNumErr, "EXEC_COMPLETED_WITH_NUM_ERR"},
    StatusName{Status::ExecCompletedWithErr, "EXEC_COMPLETED_WITH_ERR"},
    StatusName{Status::ExecNcBusy, "EXEC_NC_BUSY"},
    StatusName{Status::ExecOob, "EXEC_OOB"},
    StatusName{Status::CollPending, "COLL_PENDING"},
    StatusName{Status::ExecHwErrCollectives, "EXEC_HW_ERR_COLLECTIVES"},
    StatusName{Status::ExecHwErrHbmUe, "EXEC_HW_ERR_HBM_UE"},
    StatusName{Status::ExecHwErrNcUe, "EXEC_HW_ERR_NC_UE"},
    StatusName{Status::ExecHwErrDmaAbort, "EXEC_HW_ERR_DMA_ABORT"},
    StatusName{Status::ExecSwNqOverflow, "EXEC_SW_NQ_OVERFLOW"},
    StatusName{Status::ExecHwErrRepairableHbmUe, "EXEC_HW_ERR_REPAIRABLE_HBM_UE"},
    StatusName{Status::NetworkProxyFailure, "NETWORK_PROXY_FAILURE"},
};

} // namespace detail

/// The documented name without its NRT_ prefix; "UNKNOWN" for a number that is not assigned.
/// libnrt: nrt_get_status_as_str
[[nodiscard]] constexpr std::string_view name_of(Status status) noexcept {
    for (const auto& entry : detail::kStatusNames)
        if (entry.status == status) return entry.name;
    return "UNKNOWN";
}

} // namespace v0
} // namespace neuronbook
