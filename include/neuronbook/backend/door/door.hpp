// SPDX-License-Identifier: Apache-2.0
//
// The one door of a process to a kernel: descriptors and core claims that all runtimes share.
// Owns: the book of open nodes and of marks. Does not own: when they are wanted (door_lease.hpp).
// Layer: backend.   Source: driver-abi.md 2.1, 2.4, 5.6; tables.md 22
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "neuronbook/backend/door/door_slot.hpp"
#include "neuronbook/backend/door/lane_users.hpp"
#include "neuronbook/backend/door/life_page.hpp"
#include "neuronbook/backend/port.hpp"
#include "neuronbook/backend/uapi.hpp"
#include "neuronbook/base/architecture.hpp"
#include "neuronbook/base/ids.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

static_assert(kMaxHostDevices == uapi::kMaxDevices);

/// State of one door. Shared objects that were built apart share it, so it holds nothing whose
/// layout depends on how the standard library is configured. All members but `copies` are guarded
/// by `mutex`, which is held over the driver calls that open, close, mark and unmark, so that book
/// and kernel never disagree. Takes no other lock.
struct Door {
    struct Node {
        int fd = -1;
        std::uint32_t users = 0;
    };

    explicit Door(const PortIdentity& port) : instance(port.instance), process(port.process) {
        port.kind.copy(kind, sizeof kind - 1);
    }

    [[nodiscard]] bool is_of(const PortIdentity& port) const {
        return instance == port.instance && process == port.process &&
               port.kind.substr(0, sizeof kind - 1) == kind;
    }

    std::mutex mutex;
    char kind[16]{}; ///< a copy: the literal may lie in another shared object
    std::uint64_t instance;
    std::uint64_t process;
    std::uint32_t leases = 0; ///< guarded by the registry
    bool counted = false;     ///< among the lane's users of all versions
    int misc_fd = -1; ///< O_WRONLY, open from first to last lease: closing it drops all marks
    HostDeviceId misc_device; ///< marks are relative to this node
    std::array<Node, kMaxHostDevices> nodes{};
    std::array<std::uint16_t, uapi::kCoreSlots> claims{}; ///< leases that claim each user core
    std::uint32_t losses = 0; ///< how often it was noticed that the kernel dropped the marks
    /// Claimed, but the mark is gone: the number of the loss. 0: not lost.
    std::array<std::uint32_t, uapi::kCoreSlots> lost{};
    std::array<bool, uapi::kCoreSlots> taken{}; ///< lost, and surely another process's
    std::array<bool, uapi::kCoreSlots> owed{};  ///< no lease's, but the driver did not take it back
    /// Held by whoever has asynchronous copies under way on the queue of a core; taken while no
    /// other lock is held but the turn of a core's bounce buffer. Every core has a queue of its
    /// own, also where two share an engine, and the driver's two places for copies that are waited
    /// for belong to the queue (driver-abi.md 8.3).
    std::array<std::array<std::mutex, kMaxCoresPerDevice>, kMaxHostDevices> copies;
    Door* next = nullptr; ///< guarded by the registry
};

/// All doors of the process, and whether it is still that process.
class DoorRegistry {
public:
    /// The registry of this process; null if the kernel cannot tell us about forks (errno in
    /// `error`) or if this is a child forked while a door was open.
    static DoorRegistry* instance(int& error) {
        auto& slot = door_slot;
        auto* registry = static_cast<DoorRegistry*>(slot.load(std::memory_order_acquire));
        // A child of a process whose doors were all shut starts afresh. The parent's registry is
        // left alone: its lock may have been held by a thread that does not exist here.
        if (registry && registry->alive()) return registry;
        if (registry && registry->open_.load(std::memory_order_relaxed) != 0) return nullptr;
        auto fresh = std::make_unique<DoorRegistry>();
        error = fresh->life_.error();
        if (error != 0) return nullptr;
        void* expected = registry;
        if (slot.compare_exchange_strong(expected, fresh.get(), std::memory_order_acq_rel))
            return fresh.release();
        return static_cast<DoorRegistry*>(expected);
    }

    [[nodiscard]] bool alive() const noexcept { return life_.alive(); }

    /// The door of a port, made if there is none, with one lease more.
    Door& enter(const PortIdentity& port) {
        const std::lock_guard lock(mutex_);
        Door* door = first_;
        while (door && !door->is_of(port)) door = door->next;
        if (!door) {
            door = new Door(port);
            door->next = std::exchange(first_, door);
        }
        if (door->leases++ == 0) {
            open_.fetch_add(1, std::memory_order_relaxed);
            door->counted = LaneUsers::join(LaneUsers::key_of(port));
        }
        return *door;
    }

    /// One lease less. After the last one `close` shuts the door and it is removed, unless another
    /// version of the library is up at this kernel: closing would drop that version's marks, so the
    /// lane stays open for whoever comes next.
    template <class F>
    void leave(Door& door, const PortIdentity& port, F close) {
        const std::lock_guard lock(mutex_);
        if (--door.leases != 0) return;
        open_.fetch_sub(1, std::memory_order_relaxed);
        // What the driver did not take back it may drop at any time from now on.
        door.claims.fill(0);
        door.lost.fill(0);
        door.taken.fill(false);
        door.owed.fill(false);
        const bool closed = door.counted && LaneUsers::leave(LaneUsers::key_of(port), [&] {
                                const std::lock_guard inner(door.mutex);
                                close(door);
                            });
        if (!closed) return;
        Door** link = &first_;
        while (*link != &door) link = &(*link)->next;
        *link = door.next;
        delete &door;
    }

private:
    LifePage life_;
    std::mutex mutex_; ///< guards the list and the lease counts; taken before a door's own
    Door* first_ = nullptr;
    std::atomic<std::uint32_t> open_{0}; ///< doors with a lease
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
