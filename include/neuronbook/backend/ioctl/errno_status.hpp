// SPDX-License-Identifier: Apache-2.0
//
// From the kernel's errno to a Status, by one table.
// Owns: the table of tables.md 22 ("errno -> status"). Does not own: any text (describe.hpp).
// Layer: backend.
#pragma once

#include <cerrno>
#include <cstdint>

#include "neuronbook/base/result.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// What kind of call was refused: the same errno means different things to different calls.
enum class CallKind : std::uint8_t {
    Open,
    AllocateDevice,
    AllocateHost,
    UseHandle,
    Copy,
    Mark,
    Share,
    Other
};

struct ErrnoRule {
    int error; ///< 0 stands for any
    CallKind kind;
    Status status;
    Detail detail;
};

/// ENOTSUPP of the kernel has no name in libc.
inline constexpr int kKernelNotSupported = 524;

/// First row that fits wins; rows of CallKind::Other hold for every kind.
inline constexpr ErrnoRule kErrnoRules[] = {
    {ENOMEM, CallKind::AllocateDevice, Status::Resource, Detail::OutOfDeviceMemory},
    {ENOMEM, CallKind::AllocateHost, Status::FailHostMemAlloc, Detail::OutOfHostMemory},
    {ENOENT, CallKind::AllocateDevice, Status::Resource, Detail::OutOfHandles},
    {ENOENT, CallKind::AllocateHost, Status::Resource, Detail::OutOfHandles},
    {ENOENT, CallKind::UseHandle, Status::InvalidHandle, Detail::UnknownHandle},
    {EINVAL, CallKind::UseHandle, Status::InvalidHandle, Detail::UnknownHandle},
    {ENOENT, CallKind::Copy, Status::InvalidHandle, Detail::UnknownHandle},
    // Range and buffer are checked before the call, so the handle is what is left.
    {EINVAL, CallKind::Copy, Status::InvalidHandle, Detail::UnknownHandle},
    {EPERM, CallKind::Copy, Status::Timeout, Detail::TimedOut},
    {ETIMEDOUT, CallKind::Copy, Status::Timeout, Detail::TimedOut},
    {EBUSY, CallKind::Copy, Status::Resource, Detail::OutOfQueueSlots},
    {EBUSY, CallKind::Mark, Status::LoadNotEnoughNc, Detail::CoresBusy},
    {EBUSY, CallKind::Open, Status::Resource, Detail::AttachSlotsFull},
    {EACCES, CallKind::Open, Status::Failure, Detail::NotPermitted},
    {EPERM, CallKind::Open, Status::Failure, Detail::NotPermitted},
    {EINVAL, CallKind::Open, Status::HwError, Detail::DeviceFailedReset},
    {ENXIO, CallKind::Open, Status::Failure, Detail::DeviceGone},
    {ENODEV, CallKind::Open, Status::Failure, Detail::DeviceGone},
    {ENOENT, CallKind::Open, Status::Failure, Detail::NoDevices},
    {EINVAL, CallKind::Share, Status::Invalid, Detail::NotMapped},
    {EMFILE, CallKind::Share, Status::Resource, Detail::OutOfDescriptors},
    {ENFILE, CallKind::Share, Status::Resource, Detail::OutOfDescriptors},
    {EPROTONOSUPPORT, CallKind::Share, Status::Failure, Detail::NotOnThisKernel},
    {EINVAL, CallKind::Other, Status::Invalid, Detail::DriverErrno},
    {E2BIG, CallKind::Other, Status::Invalid, Detail::DriverErrno},
    {ERANGE, CallKind::Other, Status::Invalid, Detail::DriverErrno},
    {EFAULT, CallKind::Other, Status::Invalid, Detail::DriverErrno},
    {kKernelNotSupported, CallKind::Other, Status::Invalid, Detail::NotOnThisArchitecture},
    {0, CallKind::Other, Status::Failure, Detail::DriverErrno},
};

/// The Error for an answer that is not 0: minus an errno, or a positive number, which several
/// requests give for bytes they could not copy (driver-abi.md 3).
[[nodiscard]] inline Error refused(Operation operation, CallKind kind, std::int64_t answer) {
    Error error{.operation = operation};
    if (answer > 0) {
        error.detail = Detail::DriverPositive;
        error.os_error = static_cast<std::int32_t>(answer);
        error.value = static_cast<std::uint64_t>(answer);
        return error;
    }
    error.os_error = static_cast<std::int32_t>(-answer);
    for (const auto& rule : kErrnoRules) {
        if (rule.error != 0 && rule.error != error.os_error) continue;
        if (rule.kind != CallKind::Other && rule.kind != kind) continue;
        error.status = rule.status;
        error.detail = rule.detail;
        break;
    }
    return error;
}

} // namespace detail
} // namespace v0
} // namespace neuronbook
