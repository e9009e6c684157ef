// SPDX-License-Identifier: Apache-2.0
//
// Exporting mapped device memory as a dma-buf, and closing it.
// Owns: the checks and the request. Does not own: mappings, or how long they must last.
// Layer: backend.   Source: driver-abi.md 9.1
#pragma once

#include <cerrno>
#include <cstdint>

#include "neuronbook/backend/door/door_lease.hpp"
#include "neuronbook/backend/driver.hpp"
#include "neuronbook/backend/ioctl/channel.hpp"
#include "neuronbook/backend/ioctl/device_node.hpp"
#include "neuronbook/backend/ioctl/driver_abilities.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// Whole pages only: the older request cannot tell an offset, and before 2.29 nothing is checked.
[[nodiscard]] inline Result<void> check_shared(const void* address, Bytes size) {
    const auto start = reinterpret_cast<std::uint64_t>(address);
    Error error{.status = Status::Invalid, .operation = Operation::Share};
    error.value = start;
    error.limit = kPage.count();
    error.asked = size.count();
    if (address == nullptr) {
        error.detail = Detail::NullPointer;
    } else if (size == Bytes{0}) {
        error.detail = Detail::ZeroSize;
    } else if (start % kPage.count() != 0) {
        error.detail = Detail::NotPageAligned;
        error.text = std::string_view("address");
    } else if (size.count() % kPage.count() != 0) {
        error.detail = Detail::NotPageAligned;
        error.text = std::string_view("size");
        error.value = size.count();
    } else if (!checked_sum(Bytes{start}, size)) {
        error.detail = Detail::NotMapped;
    }
    if (error.detail == Detail::None) return {};
    return fail(error);
}

/// Whether the process has a descriptor number left, as far as reading a file tells: without one
/// the kernel goes down (2.24 and 2.26) instead of refusing. Another thread may take the last.
template <Port P>
Result<void> check_descriptor_left(P& port) {
    char buffer[64];
    const auto got = retried([&] { return port.read_file(kVersionPath, buffer); });
    if (got != -EMFILE && got != -ENFILE) return {};
    return fail(refused(Operation::Share, CallKind::Share, got));
}

/// Effects: one export. Returns: a descriptor, the caller's.
template <Port P>
Result<int> export_pages(P& port, int fd, const void* address, Bytes size) {
    if (auto left = check_descriptor_left(port); !left) return fail(left.error());
    std::int32_t number = -1;
    uapi::DmabufFd ask{
        .va = reinterpret_cast<std::uint64_t>(address), .size = size.count(), .fd = &number};
    auto done = request(port, fd, uapi::kDmabufFd, ask, Operation::Share, CallKind::Share);
    if (done && number >= 0) return number;
    Error error = done ? Error{.operation = Operation::Share, .detail = Detail::SelfCheckFailed}
                       : done.error();
    if (done) error.text = std::string_view("the driver gave no descriptor");
    if (error.detail == Detail::NotMapped) error.value = ask.va;
    if (error.detail == Detail::NotOnThisKernel) error.text = std::string_view("dma-buf");
    error.asked = size.count();
    return fail(error);
}

/// ShareOps of a driver `Self`, which lets it reach its port and its descriptors.
template <class Self>
class ShareOperations {
public:
    /// Effects: exports whole pages of one mapping as a dma-buf. Errors, before any call: INVALID
    /// with NullPointer, ZeroSize or NotPageAligned; NotOnThisDriver; RESOURCE with
    /// OutOfDescriptors. From the driver: INVALID with NotMapped; NotOnThisKernel.
    ///
    /// The driver frees, and gives away again, memory that is still mapped and exported, without a
    /// word; and unmapping revokes what was exported. So close first, then unmap, then free.
    Result<int> share(HostDeviceId device, const void* address, Bytes size) {
        auto& self = static_cast<Self&>(*this);
        const auto fd = self.opened(Operation::Share, device);
        if (!fd) return fail(fd.error());
        auto legal = check_shared(address, size);
        if (const auto can = abilities_of(self.facts_).dmabuf; legal && !can.available)
            legal = fail({.operation = Operation::Share,
                          .detail = Detail::NotOnThisDriver,
                          .text = std::string_view("dma-buf")});
        if (!legal) return fail(Self::on(device, legal.error()));
        auto shared = export_pages(self.port_, *fd, address, size);
        if (!shared) return fail(Self::on(device, shared.error()));
        return shared;
    }

    /// Effects: closes a descriptor of share(), after disconnect() too. What the kernel answers
    /// last, the number is gone.
    Result<void> close_shared(int descriptor) {
        auto& self = static_cast<Self&>(*this);
        if (self.lease_ && !self.usable()) return fail(self.barred(Operation::Share));
        const std::int64_t answer = self.port_.close(descriptor);
        if (answer == 0 || answer == -EINTR) return {};
        return fail(refused(Operation::Share, CallKind::Other, answer));
    }
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
