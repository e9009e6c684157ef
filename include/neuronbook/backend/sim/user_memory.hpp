// SPDX-License-Identifier: Apache-2.0
//
// How the simulated kernel reaches its caller: its memory, and its descriptors.
// Owns: the ways for a caller in this process, and the way into another one's memory.
// Does not own: how other processes get descriptors.
// Layer: backend (simulated kernel).   Source: driver-abi.md 3 (positive returns), 8.9, 9.1
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {

/// The caller's memory, by address. The first two move a prefix and say how long it was: the driver
/// answers many a bad pointer with the number of bytes it could not move.
class UserMemory {
public:
    UserMemory() = default;
    UserMemory(const UserMemory&) = delete;
    UserMemory& operator=(const UserMemory&) = delete;
    virtual ~UserMemory() = default;

    /// Bytes moved from the caller's `from` to `to`, at most `size`.
    virtual std::size_t read(void* to, std::uint64_t from, std::size_t size) = 0;
    /// Bytes moved from `from` to the caller's `to`, at most `size`.
    virtual std::size_t write(std::uint64_t to, const void* from, std::size_t size) = 0;
    /// Whether a call may move some bytes and not the rest.
    [[nodiscard]] virtual bool may_be_partial() const { return true; }

    /// Whether whole pages can be pinned for writing. Here: whether they can be read.
    [[nodiscard]] virtual bool can_pin(std::uint64_t va, std::uint64_t size) {
        for (std::uint64_t done = 0; done < size; done += kPage.count()) {
            char byte;
            if (read(&byte, va + done, 1) != 1) return false;
        }
        return true;
    }

    /// Gives the caller a descriptor of its own for `size` bytes at `offset` of one of this
    /// process's files: its number there, or minus an errno. Here: a caller without descriptors.
    virtual std::int64_t install_descriptor(int /*file*/, std::uint64_t /*offset*/,
                                            std::uint64_t /*size*/) {
        return -EMFILE;
    }
    /// Takes such a descriptor back.
    virtual void close_descriptor(std::int64_t /*number*/) {}
};

namespace sim {

/// Whether an address can be a user's at all: not in the first page, not in the kernel's half.
[[nodiscard]] constexpr bool plausible_address(std::uint64_t address, std::size_t size) noexcept {
    constexpr std::uint64_t kUserEnd = std::uint64_t{1} << 56;
    return address >= kPage.count() && address < kUserEnd && size <= kUserEnd - address;
}

/// What a descriptor of an exported buffer is in the simulation: the device's memory file, opened
/// anew and closed by exec(), at the position where the buffer begins. So its bytes are mapped or
/// read from the position that lseek() tells; a real dma-buf has its own bytes at 0 and can only be
/// attached to. A number, or minus an errno.
[[nodiscard]] inline std::int64_t open_buffer(int file, std::uint64_t offset) {
    std::array<char, 32> path;
    std::snprintf(path.data(), path.size(), "/proc/self/fd/%d", file);
    const int number = ::open(path.data(), O_RDWR | O_CLOEXEC);
    if (number < 0) return -errno;
    ::lseek(number, static_cast<::off_t>(offset), SEEK_SET);
    return number;
}

} // namespace sim

/// This process's memory, taken at its word: plain copies, so a bad pointer crashes as it would in
/// any other function. Only addresses that no user can own, such as NULL, are refused. Any thread.
class TrustedMemory final : public UserMemory {
public:
    bool can_pin(std::uint64_t va, std::uint64_t size) override {
        return sim::plausible_address(va, size);
    }
    std::int64_t install_descriptor(int file, std::uint64_t offset, std::uint64_t) override {
        return sim::open_buffer(file, offset);
    }
    void close_descriptor(std::int64_t number) override { ::close(static_cast<int>(number)); }

    std::size_t read(void* to, std::uint64_t from, std::size_t size) override {
        if (!sim::plausible_address(from, size)) return 0;
        std::memcpy(to, reinterpret_cast<const void*>(from), size);
        return size;
    }

    std::size_t write(std::uint64_t to, const void* from, std::size_t size) override {
        if (!sim::plausible_address(to, size)) return 0;
        std::memcpy(reinterpret_cast<void*>(to), from, size);
        return size;
    }

    [[nodiscard]] bool may_be_partial() const override { return false; }
};

/// A process's memory, asked for through the kernel, so that a bad pointer gives a prefix instead
/// of a crash. Nothing moves where the kernel does not let this process look into that one. Any
/// thread.
class ProcessMemory : public UserMemory {
public:
    explicit ProcessMemory(::pid_t pid) noexcept : pid_(pid) {}

    std::size_t read(void* to, std::uint64_t from, std::size_t size) override {
        const auto moved = through_kernel<false>(static_cast<char*>(to), from, size);
        return moved == kRefused ? 0 : moved;
    }

    std::size_t write(std::uint64_t to, const void* from, std::size_t size) override {
        // the vector type has no const form; the kernel only reads this side
        auto* bytes = const_cast<char*>(static_cast<const char*>(from));
        const auto moved = through_kernel<true>(bytes, to, size);
        return moved == kRefused ? 0 : moved;
    }

protected:
    static constexpr std::size_t kRefused = ~std::size_t{0};

    /// A prefix that was moved for certain. The kernel takes many pages at a time, which is several
    /// times as fast as page by page, but where it stopped is not exact.
    template <bool Write>
    std::size_t in_one_piece(char* near, std::uint64_t far, std::size_t size) {
        constexpr std::size_t kMost = std::size_t{1} << 30; // the kernel has a limit near 2 GiB
        std::size_t done = 0;
        while (done < size) {
            const iovec local{near + done, std::min(size - done, kMost)};
            const iovec remote{reinterpret_cast<void*>(far + done), local.iov_len};
            const auto moved = Write ? ::process_vm_writev(pid_, &local, 1, &remote, 1, 0)
                                     : ::process_vm_readv(pid_, &local, 1, &remote, 1, 0);
            if (moved != static_cast<ssize_t>(local.iov_len)) return done;
            done += local.iov_len;
        }
        return done;
    }

    /// The call promises to be partial only between pieces, so the far side is cut at its pages:
    /// then what is moved before a fault is exactly what the driver's copy would have moved.
    template <bool Write>
    std::size_t through_kernel(char* near, std::uint64_t far, std::size_t size) {
        std::size_t done = size > kPage.count() ? in_one_piece<Write>(near, far, size) : 0;
        std::array<iovec, kPieces> pieces;
        while (done < size) {
            std::size_t count = 0;
            std::size_t asked = 0;
            for (; count < kPieces && done + asked < size; ++count) {
                const auto address = far + done + asked;
                const auto rest = std::min<std::size_t>(kPage.count() - address % kPage.count(),
                                                        size - done - asked);
                pieces[count] = {reinterpret_cast<void*>(address), rest};
                asked += rest;
            }
            const iovec local{near + done, asked};
            const auto moved = Write ? ::process_vm_writev(pid_, &local, 1, pieces.data(), count, 0)
                                     : ::process_vm_readv(pid_, &local, 1, pieces.data(), count, 0);
            if (moved < 0) {
                if (done == 0 && (errno == ENOSYS || errno == EPERM)) return kRefused;
                return done;
            }
            done += static_cast<std::size_t>(moved);
            if (static_cast<std::size_t>(moved) < asked) return done;
        }
        return done;
    }

private:
    static constexpr std::size_t kPieces = 128;

    ::pid_t pid_;
};

/// This process's memory, asked for through the kernel. Where the kernel refuses the call itself,
/// it behaves as TrustedMemory. Any thread.
class SelfMemory final : public ProcessMemory {
public:
    SelfMemory() noexcept : ProcessMemory(::getpid()) {}

    std::size_t read(void* to, std::uint64_t from, std::size_t size) override {
        const auto moved = through_kernel<false>(static_cast<char*>(to), from, size);
        return moved == kRefused ? trusted_.read(to, from, size) : moved;
    }

    std::size_t write(std::uint64_t to, const void* from, std::size_t size) override {
        auto* bytes = const_cast<char*>(static_cast<const char*>(from));
        const auto moved = through_kernel<true>(bytes, to, size);
        return moved == kRefused ? trusted_.write(to, from, size) : moved;
    }

    /// Faults the pages in as for writing, which changes none of them; kernels before 5.14 cannot.
    bool can_pin(std::uint64_t va, std::uint64_t size) override {
        constexpr int kPopulateForWriting = 23; // MADV_POPULATE_WRITE
        if (::madvise(reinterpret_cast<void*>(va), size, kPopulateForWriting) == 0) return true;
        if (errno != EINVAL) return false;
        alignas(4096) std::array<char, 4096> mine;
        if (::madvise(mine.data(), mine.size(), kPopulateForWriting) == 0) return false;
        return ProcessMemory::can_pin(va, size);
    }

    std::int64_t install_descriptor(int file, std::uint64_t offset, std::uint64_t size) override {
        return trusted_.install_descriptor(file, offset, size);
    }
    void close_descriptor(std::int64_t number) override { trusted_.close_descriptor(number); }

private:
    TrustedMemory trusted_;
};

} // namespace v0
} // namespace neuronbook
