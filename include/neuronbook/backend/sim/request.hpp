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
    bool close_on_exec = true;

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

/// What a mapping shows, as far as the driver treats mappings differently.
enum class MapKind : std::uint8_t {
    RawRange,  ///< a range that only raw I/O rights give; never recorded, inherited by children
    Registers, ///< a register window or a whole HBM
    HostChunk,
    DeviceChunk
};

/// What a granted MapRequest maps: a range of a file of this process, which stays the kernel's.
struct MapGrant {
    int file = -1;
    std::uint64_t offset = 0;
    Bytes length;
    bool writable = false; ///< false although asked for: somebody else's chunk
    MapKind kind = MapKind::RawRange;
    std::uint64_t pa = 0;    ///< where what is mapped begins, as the driver records it
    Bytes alignment = kPage; ///< of the address, when the caller asked for none

    friend bool operator==(const MapGrant&, const MapGrant&) = default;
};

/// The front mapped what it was granted: the driver's records need to know where.
struct MappedRequest {
    std::int64_t file;
    std::uint64_t address;
    MapGrant grant;

    friend bool operator==(const MappedRequest&, const MappedRequest&) = default;
};

/// munmap(2), or anything else that takes addresses away, of the caller's memory of any kind.
struct UnmapRequest {
    std::uint64_t address;
    Bytes length;

    friend bool operator==(const UnmapRequest&, const UnmapRequest&) = default;
};

/// mremap(2) of a whole range to another place.
struct MoveRequest {
    std::uint64_t address;
    Bytes length;
    std::uint64_t to;

    friend bool operator==(const MoveRequest&, const MoveRequest&) = default;
};

/// close(2) of a descriptor that the caller holds: a flush, and a release if it was the last that
/// any process held.
struct CloseRequest {
    std::int64_t file;

    friend bool operator==(const CloseRequest&, const CloseRequest&) = default;
};

/// dup(2). The answer is another number of the same file, which exec() keeps.
struct DuplicateRequest {
    std::int64_t file;

    friend bool operator==(const DuplicateRequest&, const DuplicateRequest&) = default;
};

/// What the driver sees of a close(2): once for any descriptor of the file, duplicates and
/// inherited ones included. Who holds what does not change.
struct FlushRequest {
    std::int64_t file;

    friend bool operator==(const FlushRequest&, const FlushRequest&) = default;
};

/// What the driver sees when the last reference to the file is gone, whoever held one; a flush for
/// every descriptor came before.
struct ReleaseRequest {
    std::int64_t file;

    friend bool operator==(const ReleaseRequest&, const ReleaseRequest&) = default;
};

/// One request. `ticket` is 0, or what an Answer that waits gave.
struct Request {
    std::variant<OpenRequest, IoctlRequest, MapRequest, MappedRequest, UnmapRequest, MoveRequest,
                 CloseRequest, DuplicateRequest, FlushRequest, ReleaseRequest>
        what;
    std::uint64_t ticket = 0;
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

/// How far a request got before it waited, as its handler says.
struct Progress {
    std::uint64_t done = 0; ///< parts that are not to be done again
    bool outwaited = false; ///< it waited as long as the driver does for an engine that never ends
    bool lost = false;      ///< it did so because its ring was gone, whatever is there now

    friend bool operator==(const Progress&, const Progress&) = default;
};

/// Whether a request comes back from a wait, when it came first, how far it got.
struct Resumed {
    bool again = false;
    Nanoseconds since{};
    Progress progress{};
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
