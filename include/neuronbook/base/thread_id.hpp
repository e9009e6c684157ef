// SPDX-License-Identifier: Apache-2.0
//
// The kernel's number of a thread, and whether it still runs.
// Owns: the number. Does not own: the thread.
// Layer: base.
#pragma once

#include <cerrno>
#include <sys/syscall.h>
#include <unistd.h>

namespace neuronbook {
inline namespace v0 {

/// A thread of this process. The kernel gives a number again, but not before the thread that had it
/// has executed its last instruction.
class ThreadId {
public:
    constexpr ThreadId() noexcept = default;

    [[nodiscard]] static ThreadId self() noexcept {
        ThreadId id;
        id.number_ = ::syscall(SYS_gettid);
        return id;
    }

    /// False once the thread has ended and none has its number. True if the kernel does not tell (a
    /// filter of system calls).
    [[nodiscard]] bool runs() const noexcept {
        const int before = errno;
        const bool gone = ::syscall(SYS_tgkill, static_cast<long>(::getpid()), number_, 0L) != 0 &&
                          errno == ESRCH;
        errno = before;
        return !gone;
    }

    friend constexpr bool operator==(ThreadId, ThreadId) noexcept = default;

private:
    long number_ = 0;
};

} // namespace v0
} // namespace neuronbook
