// SPDX-License-Identifier: Apache-2.0
//
// Resetting cores of a device.
// Owns: the two requests and the wait between them. Does not own: whose cores they are.
// Layer: backend.   Source: driver-abi.md 5.9
#pragma once

#include <cerrno>
#include <cstdint>

#include "neuronbook/backend/ioctl/channel.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// Effects: resets the cores of the mask (bit i is core i) and waits for the end of it.
template <Port P>
Result<void> reset_cores(P& port, int fd, std::uint32_t core_mask) {
    constexpr auto operation = Operation::ResetCores;
    uapi::DeviceReset reset{.nc_map = core_mask};
    if (auto done = request(port, fd, uapi::kNcReset, reset, operation); !done) return done;
    uapi::DeviceReady ready{.request_id = reset.request_id};
    do { // an interrupted wait is told in the structure
        auto done = request(port, fd, uapi::kNcResetReady, ready, operation);
        if (!done) return done;
    } while (ready.result == -EINTR);
    if (ready.result == 0) return {};
    return fail({.status = Status::HwError,
                 .operation = operation,
                 .detail = Detail::DeviceFailedReset,
                 .value = core_mask});
}

} // namespace detail
} // namespace v0
} // namespace neuronbook
