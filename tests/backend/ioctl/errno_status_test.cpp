// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include <cerrno>

#include "neuronbook/backend/ioctl/errno_status.hpp"

using namespace neuronbook;
using neuronbook::detail::CallKind;
using neuronbook::detail::refused;

namespace {

struct Row {
    CallKind kind;
    int error;
    int status; // the documented number
    Detail detail;
};

} // namespace

TEST_CASE("G03: each errno of the kernel maps to one documented status", "[backend][G03]") {
    const Row rows[] = {
        {CallKind::AllocateDevice, ENOMEM, 4, Detail::OutOfDeviceMemory},
        {CallKind::AllocateHost, ENOMEM, 11, Detail::OutOfHostMemory},
        {CallKind::AllocateDevice, ENOENT, 4, Detail::OutOfHandles},
        {CallKind::AllocateHost, ENOENT, 4, Detail::OutOfHandles},
        {CallKind::AllocateDevice, EINVAL, 2, Detail::DriverErrno},
        {CallKind::Other, E2BIG, 2, Detail::DriverErrno},
        {CallKind::Other, ERANGE, 2, Detail::DriverErrno},
        {CallKind::Other, EFAULT, 2, Detail::DriverErrno},
        {CallKind::UseHandle, ENOENT, 3, Detail::UnknownHandle},
        {CallKind::UseHandle, EINVAL, 3, Detail::UnknownHandle},
        {CallKind::Mark, EBUSY, 9, Detail::CoresBusy},
        {CallKind::Open, EBUSY, 4, Detail::AttachSlotsFull},
        {CallKind::Open, EACCES, 1, Detail::NotPermitted},
        {CallKind::Open, EPERM, 1, Detail::NotPermitted},
        {CallKind::Open, EINVAL, 6, Detail::DeviceFailedReset},
        {CallKind::Copy, EPERM, 5, Detail::TimedOut},
        {CallKind::Copy, ETIMEDOUT, 5, Detail::TimedOut},
        {CallKind::Copy, ENOENT, 3, Detail::UnknownHandle},
        {CallKind::Copy, EINVAL, 3, Detail::UnknownHandle},
        {CallKind::Copy, E2BIG, 2, Detail::DriverErrno},
        {CallKind::Other, 524, 2, Detail::NotOnThisArchitecture},
        {CallKind::Other, EIO, 1, Detail::DriverErrno},
        {CallKind::Mark, ENOMEM, 1, Detail::DriverErrno},
    };
    for (const auto& row : rows) {
        const Error error = refused(Operation::Allocate, row.kind, -row.error);
        INFO("errno " << row.error << " of call kind " << static_cast<int>(row.kind));
        CHECK(static_cast<int>(error.status) == row.status);
        CHECK(error.detail == row.detail);
        CHECK(error.os_error == row.error);
    }
}

TEST_CASE("G03: a positive return is a failure that keeps its number", "[backend][G03]") {
    for (const std::int64_t answer : {1, 22, 56, 4096}) {
        const Error error = refused(Operation::Copy, CallKind::Copy, answer);
        CHECK(static_cast<int>(error.status) == 1);
        CHECK(error.detail == Detail::DriverPositive);
        CHECK(error.value == static_cast<std::uint64_t>(answer));
    }
}
