// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include <cerrno>
#include <string>

#include "neuronbook/backend/ioctl/errno_status.hpp"
#include "neuronbook/base/describe.hpp"

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
        {CallKind::Copy, EBUSY, 4, Detail::OutOfQueueSlots},
        {CallKind::Open, ENXIO, 1, Detail::DeviceGone},
        {CallKind::Open, ENODEV, 1, Detail::DeviceGone},
        {CallKind::Open, ENOENT, 1, Detail::NoDevices},
        {CallKind::Share, EINVAL, 2, Detail::NotMapped},
        {CallKind::Share, EMFILE, 4, Detail::OutOfDescriptors},
        {CallKind::Share, ENFILE, 4, Detail::OutOfDescriptors},
        {CallKind::Share, EPROTONOSUPPORT, 1, Detail::NotOnThisKernel},
        {CallKind::Other, EINVAL, 2, Detail::DriverErrno},
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

TEST_CASE("G03: the text of a refusal by the kernel names its errno", "[backend][G03]") {
    const auto text = describe(refused(Operation::Copy, CallKind::Other, -E2BIG));
    CHECK(text.find("E2BIG") != std::string::npos);
    CHECK(text.find("(INVALID, 2)") != std::string::npos);
}

TEST_CASE("A06: what is counted and has run out is named, and is never memory", "[backend][A06]") {
    const struct {
        CallKind kind;
        int error;
        const char* name;
    } rows[] = {{CallKind::AllocateDevice, ENOENT, "handle"},
                {CallKind::AllocateHost, ENOENT, "handle"},
                {CallKind::Open, EBUSY, "attach slot"},
                {CallKind::Copy, EBUSY, "copy queue"},
                {CallKind::Share, EMFILE, "descriptor"}};
    for (const auto& row : rows) {
        const auto error = refused(Operation::Allocate, row.kind, -row.error);
        const auto text = describe(error);
        INFO(text);
        CHECK(static_cast<int>(error.status) == 4);
        CHECK(text.find(row.name) != std::string::npos);
        CHECK(text.find("out of") == std::string::npos);
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
