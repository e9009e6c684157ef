// SPDX-License-Identifier: Apache-2.0
//
// SimPort: a process of this program at the door of a simulated kernel.
// Owns: waiting on the virtual clock, mapping in this process. Does not own: the kernel.
// Layer: backend.   Source: driver-abi.md 2.4, 2.5, 9
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <span>
#include <string_view>

#include "neuronbook/backend/port.hpp"
#include "neuronbook/backend/sim/kernel.hpp"
#include "neuronbook/backend/sim/user_memory.hpp"

namespace neuronbook {
inline namespace v0 {

/// How a SimPort takes the pointers it is given: at their word, or asking the host's kernel first,
/// so that a bad one is answered as the driver answers it.
enum class Pointers : std::uint8_t { Trusted, Checked };

/// A handle, cheap to copy; the kernel must outlive it. Descriptors are numbers from 2^20 up, never
/// real ones; mappings are real, outlive the kernel and are not inherited over fork(). Several
/// ports with different callers are several processes. Every member may be called from any thread.
class SimPort {
public:
    explicit SimPort(SimKernel& kernel, Caller caller = {},
                     Pointers pointers = Pointers::Trusted) noexcept
        : kernel_(&kernel), caller_(caller), pointers_(pointers) {}

    std::int64_t open(const char* path, Access access) {
        return call(OpenRequest{path, static_cast<std::uint32_t>(access)});
    }

    /// Closes the only descriptor of a file: a flush, then the release.
    std::int64_t close(int fd) {
        if (const auto error = call(FlushRequest{fd}); error < 0) return error;
        return call(ReleaseRequest{fd});
    }

    /// Closes one descriptor of several, as after dup() or fork(): the file stays open.
    std::int64_t close_duplicate(int fd) { return call(FlushRequest{fd}); }

    std::int64_t ioctl(int fd, std::uint32_t word, void* argument) {
        return call(IoctlRequest{fd, word, reinterpret_cast<std::uint64_t>(argument)});
    }

    Mapping map(int fd, Bytes length, bool writable, std::uint64_t offset) {
        return map(MapRequest{fd, length, offset, writable});
    }

    /// Any mmap of a file of the driver's, private ones included.
    Mapping map(const MapRequest& ask) {
        const auto answer = wait({ask});
        if (answer.value < 0) return {nullptr, static_cast<int>(-answer.value)};
        const auto& grant = answer.map;
        const auto length = grant.length.count();
        void* address = ::mmap(nullptr, length, PROT_READ | (grant.writable ? PROT_WRITE : 0),
                               ask.shared ? MAP_SHARED : MAP_PRIVATE, grant.file,
                               static_cast<std::int64_t>(grant.offset));
        if (address == MAP_FAILED) return {nullptr, errno};
        // as with the driver's own mappings, a child has nothing at this address
        if (::madvise(address, length, MADV_DONTFORK) == 0) return {address, 0};
        const int error = errno;
        ::munmap(address, length);
        return {nullptr, error};
    }

    std::int64_t unmap(void* address, Bytes length) {
        return ::munmap(address, length.count()) == 0 ? 0 : -errno;
    }

    std::int64_t read_file(const char* path, std::span<char> buffer) {
        return kernel_->read_file(path, buffer);
    }

    bool exists(const char* path) { return kernel_->exists(path); }

    Nanoseconds now() { return kernel_->now(); }
    void sleep(Nanoseconds duration) { kernel_->sleep(duration); }

    [[nodiscard]] PortIdentity identity() const {
        return {"sim", reinterpret_cast<std::uintptr_t>(kernel_),
                std::uint64_t{kernel_->serial()} << 32 | static_cast<std::uint32_t>(caller_.pid)};
    }

    [[nodiscard]] SimKernel& kernel() const noexcept { return *kernel_; }
    [[nodiscard]] const Caller& caller() const noexcept { return caller_; }

private:
    template <class What>
    std::int64_t call(const What& what) {
        return wait({what}).value;
    }

    Answer wait(Request request) {
        TrustedMemory trusted;
        SelfMemory checked;
        UserMemory& user = pointers_ == Pointers::Trusted ? static_cast<UserMemory&>(trusted)
                                                          : static_cast<UserMemory&>(checked);
        for (;;) {
            const auto now = kernel_->now();
            const auto answer = kernel_->submit(caller_, request, user, now);
            if (!answer.waits) return answer;
            request.ticket = answer.ticket;
            if (answer.until > now) kernel_->sleep({answer.until.count - now.count});
        }
    }

    SimKernel* kernel_;
    Caller caller_;
    Pointers pointers_;
};

static_assert(Port<SimPort>);

} // namespace v0
} // namespace neuronbook
