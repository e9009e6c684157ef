// SPDX-License-Identifier: Apache-2.0
//
// SimPort: a process of this program at the door of a simulated kernel.
// Owns: waiting on the virtual clock, mapping in this process. Does not own: the kernel, or what a
// process holds of it (host/files.hpp, host/mappings.hpp).
// Layer: backend.   Source: driver-abi.md 2.4, 2.5, 9
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>
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

namespace sim {

/// Submits a request until it is answered, sleeping on the virtual clock meanwhile.
inline Answer complete(SimKernel& kernel, const Caller& caller, Request request, UserMemory& user) {
    for (;;) {
        const auto now = kernel.now();
        const auto answer = kernel.submit(caller, request, user, now);
        if (!answer.waits) return answer;
        request.ticket = answer.ticket;
        if (answer.until > now) kernel.sleep({answer.until.count - now.count});
    }
}

/// Address space of a multiple of `alignment`, reserved; null for none.
[[nodiscard]] inline void* reserve(std::uint64_t length, std::uint64_t alignment) {
    if (length > ~std::uint64_t{0} - alignment) return nullptr;
    void* wide = ::mmap(nullptr, length + alignment, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (wide == MAP_FAILED) return nullptr;
    auto* start = static_cast<char*>(wide);
    const auto before =
        (alignment - reinterpret_cast<std::uintptr_t>(start) % alignment) % alignment;
    if (before != 0) ::munmap(start, before);
    ::munmap(start + before + length, alignment - before);
    return start + before;
}

/// Maps a grant in this process, whose `file` is a descriptor here.
[[nodiscard]] inline Mapping map_here(const MapGrant& grant, bool shared) {
    const auto length = grant.length.count();
    void* where = nullptr;
    if (grant.alignment > kPage) where = reserve(length, grant.alignment.count());
    void* address = ::mmap(where, length, PROT_READ | (grant.writable ? PROT_WRITE : 0),
                           (shared ? MAP_SHARED : MAP_PRIVATE) | (where != nullptr ? MAP_FIXED : 0),
                           grant.file, static_cast<std::int64_t>(grant.offset));
    if (address == MAP_FAILED) {
        const int error = errno;
        if (where != nullptr) ::munmap(where, length);
        return {nullptr, error};
    }
    // as with the driver's own mappings, a child has nothing at this address
    if (grant.kind == MapKind::RawRange || ::madvise(address, length, MADV_DONTFORK) == 0)
        return {address, 0};
    const int error = errno;
    ::munmap(address, length);
    return {nullptr, error};
}

} // namespace sim

/// A handle, cheap to copy; the kernel must outlive it. Descriptors are numbers from 2^20 up, never
/// real ones but for those of exported buffers; mappings are real, outlive the kernel and are not
/// inherited over fork(). Several ports with different callers are several processes. Every member
/// may be called from any thread.
class SimPort {
public:
    explicit SimPort(SimKernel& kernel, Caller caller = {},
                     Pointers pointers = Pointers::Trusted) noexcept
        : kernel_(&kernel), life_(kernel.life()), caller_(caller), pointers_(pointers) {}

    std::int64_t open(const char* path, Access access) {
        return call(OpenRequest{path, static_cast<std::uint32_t>(access)});
    }

    /// Closes a descriptor this process holds. The file goes with the last one of any process. An
    /// exported buffer's is a real one, the only kind that is closed for real.
    std::int64_t close(int fd) {
        const auto answer = call(CloseRequest{fd});
        if (answer != 0 || fd >= sim::FileTable::kFirst) return answer;
        return ::close(fd) == 0 ? 0 : -errno;
    }

    /// What the driver sees when a further descriptor of the file, which duplicate() or child() did
    /// not make, is closed: the file stays open.
    std::int64_t close_duplicate(int fd) { return call(FlushRequest{fd}); }

    /// dup(): another number of the same file.
    std::int64_t duplicate(int fd) { return call(DuplicateRequest{fd}); }

    /// fork(): a process that holds the same descriptors and is attached to nothing.
    [[nodiscard]] SimPort child(std::int32_t pid) const {
        kernel_->fork_process(caller_.pid, pid);
        return SimPort(*kernel_, {pid, caller_.raw_io}, pointers_);
    }

    /// exec(): what this process mapped is gone, and its descriptors but for those that dup() or a
    /// socket gave. The mappings in this program stay, since it goes on.
    void exec() { kernel_->exec_process(caller_.pid); }

    /// SCM_RIGHTS: the descriptor's number in another process.
    std::int64_t send(int fd, const SimPort& to) {
        return kernel_->send_descriptor(caller_.pid, fd, to.caller_.pid);
    }

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
        const auto mapping = sim::map_here(answer.map, ask.shared);
        if (mapping.error == 0) call(MappedRequest{ask.file, address_of(mapping), answer.map});
        return mapping;
    }

    /// Any munmap, of a part or of more than was mapped. The only call that may come after the
    /// kernel's end.
    std::int64_t unmap(void* address, Bytes length) {
        const auto pages = whole_pages(length);
        const auto start = reinterpret_cast<std::uint64_t>(address);
        if (pages && pages->count() != 0 && start % kPage.count() == 0 && !life_.expired())
            call(UnmapRequest{start, *pages}); // first: the range may be somebody else's afterwards
        return ::munmap(address, length.count()) == 0 ? 0 : -errno;
    }

    /// mremap to another place: the driver keeps no record of it there. Nothing can be made longer.
    Mapping move(void* address, Bytes length, void* to) {
        void* moved =
            ::mremap(address, length.count(), length.count(), MREMAP_MAYMOVE | MREMAP_FIXED, to);
        if (moved == MAP_FAILED) return {nullptr, errno};
        const auto pages = whole_pages(length); // mremap() rounds as well, so there are some
        call(MoveRequest{reinterpret_cast<std::uint64_t>(address), pages ? *pages : length,
                         reinterpret_cast<std::uint64_t>(to)});
        return {moved, 0};
    }

    std::int64_t read_file(const char* path, std::span<char> buffer) {
        return kernel_->read_file(path, buffer);
    }

    bool exists(const char* path) { return kernel_->exists(path); }

    Nanoseconds now() { return kernel_->now(); }
    void sleep(Nanoseconds duration) { kernel_->sleep(duration); }

    [[nodiscard]] PortIdentity identity() const {
        return {"sim", reinterpret_cast<std::uintptr_t>(kernel_),
                std::uint64_t{kernel_->serial()} << 32 | static_cast<std::uint32_t>(caller_.pid),
                kernel_->copies_run_aside()};
    }

    [[nodiscard]] SimKernel& kernel() const noexcept { return *kernel_; }
    [[nodiscard]] const Caller& caller() const noexcept { return caller_; }

private:
    template <class What>
    std::int64_t call(const What& what) {
        return wait({what}).value;
    }

    Answer wait(const Request& request) {
        TrustedMemory trusted;
        SelfMemory checked;
        UserMemory& user = pointers_ == Pointers::Trusted ? static_cast<UserMemory&>(trusted)
                                                          : static_cast<UserMemory&>(checked);
        return sim::complete(*kernel_, caller_, request, user);
    }

    static std::uint64_t address_of(const Mapping& mapping) {
        return reinterpret_cast<std::uint64_t>(mapping.address);
    }

    SimKernel* kernel_;
    std::weak_ptr<const void> life_; ///< of the kernel
    Caller caller_;
    Pointers pointers_;
};

static_assert(Port<SimPort>);

} // namespace v0
} // namespace neuronbook
