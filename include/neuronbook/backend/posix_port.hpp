// SPDX-License-Identifier: Apache-2.0
//
// The port to the machine's own kernel.
// Owns: the real system calls, the only ones of the library. Does not own: any policy.
// Layer: backend.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <fcntl.h>
#include <span>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "neuronbook/backend/port.hpp"

namespace neuronbook {
inline namespace v0 {

/// Real open, ioctl, mmap and so on. Stateless; all threads.
class PosixPort {
public:
    std::int64_t open(const char* path, Access access) noexcept {
        constexpr int flags[] = {O_RDONLY, O_WRONLY, O_RDWR};
        return answer(::open(path, flags[static_cast<int>(access)] | O_CLOEXEC));
    }
    std::int64_t close(int fd) noexcept { return answer(::close(fd)); }

    std::int64_t ioctl(int fd, std::uint32_t request, void* argument) noexcept {
        return answer(::ioctl(fd, static_cast<unsigned long>(request), argument));
    }

    Mapping map(int fd, Bytes length, bool writable, std::uint64_t offset) noexcept {
        const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
        void* address = ::mmap(nullptr, length.count(), protection, MAP_SHARED, fd,
                               static_cast<off64_t>(offset));
        if (address == MAP_FAILED) return {nullptr, errno};
        return {address, 0};
    }
    std::int64_t unmap(void* address, Bytes length) noexcept {
        return answer(::munmap(address, length.count()));
    }

    std::int64_t read_file(const char* path, std::span<char> buffer) noexcept {
        const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0) return answer(fd);
        std::size_t done = 0;
        std::int64_t got = 0;
        while (done < buffer.size()) {
            got = answer(::read(fd, buffer.data() + done, buffer.size() - done));
            if (got == -EINTR) continue;
            if (got <= 0) break;
            done += static_cast<std::size_t>(got);
        }
        ::close(fd);
        return got < 0 ? got : static_cast<std::int64_t>(done);
    }
    bool exists(const char* path) noexcept { return ::access(path, F_OK) == 0; }

    Nanoseconds now() noexcept {
        timespec time{};
        ::clock_gettime(CLOCK_MONOTONIC, &time);
        return {static_cast<std::uint64_t>(time.tv_sec) * kBillion +
                static_cast<std::uint64_t>(time.tv_nsec)};
    }
    void sleep(Nanoseconds duration) noexcept {
        timespec time{static_cast<time_t>(duration.count / kBillion),
                      static_cast<long>(duration.count % kBillion)};
        while (::nanosleep(&time, &time) != 0 && errno == EINTR) {}
    }

    [[nodiscard]] PortIdentity identity() const noexcept { return {"posix", 0, 0, true}; }

private:
    static constexpr std::uint64_t kBillion = 1'000'000'000;

    template <class Value>
    static std::int64_t answer(Value value) noexcept {
        return value < 0 ? -static_cast<std::int64_t>(errno) : static_cast<std::int64_t>(value);
    }
};

static_assert(Port<PosixPort>);

} // namespace v0
} // namespace neuronbook
