// SPDX-License-Identifier: Apache-2.0
//
// The port: the few system calls through which everything reaches a Neuron kernel driver.
// Owns: the contract of a port. Does not own: requests (uapi.hpp) or their meaning.
// Layer: backend.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>

#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {

/// Which kernel a port reaches, and as whom. Ports of equal identity are the same process talking
/// to the same kernel, so they share one door (door.hpp). `kind` is a string literal.
struct PortIdentity {
    std::string_view kind;
    std::uint64_t instance = 0; ///< which kernel, where there are several of a kind
    /// As whom, where that is not this process: the low half is the process id the kernel knows.
    std::uint64_t process = 0;
    /// Whether copies that this kernel starts run beside the caller.
    bool copies_aside = false;

    friend constexpr bool operator==(const PortIdentity&, const PortIdentity&) = default;
};

/// How a file is opened. A Neuron device node picks its lane by this (driver-abi.md 2.1):
/// WriteOnly is the discovery lane, the other two attach the process. Always close-on-exec.
enum class Access : std::uint8_t { ReadOnly = 0, WriteOnly = 1, ReadWrite = 2 };

/// Answer of mmap: an address, or an errno.
struct Mapping {
    void* address = nullptr;
    int error = 0;
};

/// A handle to a kernel: cheap to copy, every member callable from any thread. Calls answer as
/// system calls do inside the kernel: a value that is not negative, or minus an errno. A port does
/// not retry (EINTR passes through) and does not interpret.
///
/// - `open(path, access)`: a descriptor.
/// - `close(fd)`.
/// - `ioctl(fd, request, argument)`: the driver's own answer; above zero is possible (section 3).
/// - `map(fd, length, writable, offset)`: shared mapping of device or host memory.
/// - `unmap(address, length)`.
/// - `read_file(path, buffer)`: bytes read of a small file, at most the buffer.
/// - `exists(path)`: whether the path is there, without opening it.
/// - `now()`, `sleep(duration)`: a monotonic clock, virtual where the kernel is simulated.
/// - `identity()`.
template <class P>
concept Port = std::copyable<P> &&
               requires(P port, const P& view, const char* path, int fd, std::uint32_t request,
                        void* argument, Bytes length, bool writable, std::uint64_t offset,
                        std::span<char> buffer, Nanoseconds duration, Access access) {
                   { port.open(path, access) } -> std::same_as<std::int64_t>;
                   { port.close(fd) } -> std::same_as<std::int64_t>;
                   { port.ioctl(fd, request, argument) } -> std::same_as<std::int64_t>;
                   { port.map(fd, length, writable, offset) } -> std::same_as<Mapping>;
                   { port.unmap(argument, length) } -> std::same_as<std::int64_t>;
                   { port.read_file(path, buffer) } -> std::same_as<std::int64_t>;
                   { port.exists(path) } -> std::same_as<bool>;
                   { port.now() } -> std::same_as<Nanoseconds>;
                   { port.sleep(duration) } -> std::same_as<void>;
                   { view.identity() } -> std::same_as<PortIdentity>;
               };

} // namespace v0
} // namespace neuronbook
