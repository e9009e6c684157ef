// SPDX-License-Identifier: Apache-2.0
//
// What can be asked of a simulated kernel, and what it says.
// Owns: the shapes. Does not own: any behaviour (kernel.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 2, 3, 9
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {

/// Who asks. Threads of a process are one caller.
struct Caller {
    std::int32_t pid = 1000; ///< process (thread group) id as the host counts it, above 0
    bool raw_io = false;     ///< may map what is not its own (CAP_SYS_RAWIO)
};

/// open(2) of a device node. The answer is a file number.
struct OpenRequest {
    std::string_view path; ///< /dev/neuronN
    std::uint32_t access;  ///< access bits of the flags: O_RDONLY, O_WRONLY, O_RDWR or the odd 3

    friend bool operator==(const OpenRequest&, const OpenRequest&) = default;
};

/// ioctl(2).
struct IoctlRequest {
    std::int64_t file;
    std::uint32_t word;
    std::uint64_t argument; ///< an address in the caller's memory, mostly

    friend bool operator==(const IoctlRequest&, const IoctlRequest&) = default;
};

/// mmap(2). The answer says what to map; the front does it where the caller lives.
struct MapRequest {
    std::int64_t file;
    Bytes length;
    std::uint64_t offset;
    bool writable;
    bool shared = true;

    friend bool operator==(const MapRequest&, const MapRequest&) = default;
};

/// Any close(2) of any descriptor of the file, duplicates and inherited ones included.
struct FlushRequest {
    std::int64_t file;

    friend bool operator==(const FlushRequest&, const FlushRequest&) = default;
};

/// The last reference to the file is gone; a flush for every descriptor came before.
struct ReleaseRequest {
    std::int64_t file;

    friend bool operator==(const ReleaseRequest&, const ReleaseRequest&) = default;
};

/// One request. `ticket` is 0, or what an Answer that waits gave.
struct Request {
    std::variant<OpenRequest, IoctlRequest, MapRequest, FlushRequest, ReleaseRequest> what;
    std::uint64_t ticket = 0;
};

/// What a granted MapRequest maps: a range of a file of this process, which stays the kernel's.
struct MapGrant {
    int file = -1;
    std::uint64_t offset = 0;
    Bytes length;
    bool writable = false; ///< false although asked for: somebody else's chunk
};

/// What the kernel says: a value as a system call returns it inside the kernel (minus an errno, 0,
/// or a number above zero, which an ioctl may well give); or that it waits. Then the same request
/// is to be submitted again by the same process, with the ticket, once the clock says `until` or
/// later; before that it waits on.
struct Answer {
    std::int64_t value = 0;
    bool waits = false;
    Nanoseconds until{};
    std::uint64_t ticket = 0;
    MapGrant map{};
};

namespace sim {

/// Whether a request comes back from a wait, and when it came first.
struct Resumed {
    bool again = false;
    Nanoseconds since{};
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
