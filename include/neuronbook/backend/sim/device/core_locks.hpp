// SPDX-License-Identifier: Apache-2.0
//
// The reader/writer lock of each core of one device: who says which model is loaded on it.
// Owns: the locks. Does not own: waiting for one, and how long (requests/locks.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 5.7 (measured)
#pragma once

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "neuronbook/backend/uapi.hpp"
#include "neuronbook/base/architecture.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// One lock. The process and the name that the last writer left stay when it is free: only with
/// both of them may anybody read. Not thread-safe.
class CoreLock {
public:
    /// Whether a writer would have to wait.
    [[nodiscard]] bool in_use() const { return written_ || readers_ != 0; }
    /// Whether a reader would.
    [[nodiscard]] bool written() const { return written_; }
    /// The process of the last writer, 0 for none.
    [[nodiscard]] std::int32_t pid() const { return pid_; }
    [[nodiscard]] const uapi::Uuid& name() const { return name_; }

    /// 0, or -EALREADY when the last writer was the same; the lock is held after both. Requires:
    /// nobody uses it.
    std::int64_t write(std::int32_t pid, const uapi::Uuid& name) {
        const bool same = is_of(pid, name);
        written_ = true;
        pid_ = pid;
        name_ = name;
        return same ? -EALREADY : 0;
    }

    std::int64_t downgrade(std::int32_t pid, const uapi::Uuid& name) {
        if (!written_) return -EINVAL;
        if (!is_of(pid, name)) return -ENOENT;
        written_ = false;
        readers_ = 1;
        return 0;
    }

    /// Requires: no writer holds it.
    std::int64_t read(std::int32_t pid, const uapi::Uuid& name) {
        if (!is_of(pid, name)) return -ENOENT;
        ++readers_;
        return 0;
    }

    std::int64_t leave(std::int32_t pid, const uapi::Uuid& name) {
        if (!is_of(pid, name)) return -ENOENT;
        if (readers_ == 0) return -EINVAL;
        --readers_;
        return 0;
    }

private:
    [[nodiscard]] bool is_of(std::int32_t pid, const uapi::Uuid& name) const {
        return pid == pid_ && std::memcmp(&name, &name_, sizeof name) == 0;
    }

    bool written_ = false;
    std::uint32_t readers_ = 0;
    std::int32_t pid_ = 0;
    uapi::Uuid name_{};
};

/// The locks of a device, as many as the driver's tables have, whatever the device has. A core
/// reset leaves them alone. Not thread-safe.
class CoreLocks {
public:
    [[nodiscard]] CoreLock& operator[](std::uint32_t core) { return locks_[core]; }
    [[nodiscard]] const CoreLock& operator[](std::uint32_t core) const { return locks_[core]; }

    /// The last close of a process: what it wrote last is free and forgotten.
    void drop(std::int32_t pid) {
        for (auto& lock : locks_)
            if (lock.pid() == pid) lock = CoreLock{};
    }

private:
    std::array<CoreLock, kMaxCoresPerDevice> locks_{};
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
