// SPDX-License-Identifier: Apache-2.0
//
// One runtime's share of its process's door.
// Owns: which nodes and cores this lease uses, and their return. Does not own: the book (door.hpp).
// Layer: backend.   Source: driver-abi.md 2.4, 5.6; tables.md 22
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <utility>

#include "neuronbook/backend/door/door.hpp"
#include "neuronbook/backend/ioctl/channel.hpp"
#include "neuronbook/backend/ioctl/device_node.hpp"
#include "neuronbook/backend/ioctl/mark_requests.hpp"
#include "neuronbook/backend/uapi.hpp"
#include "neuronbook/base/log.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// Whether a core that another lease of the process holds may be claimed, too.
enum class Sharing : std::uint8_t { WithinProcess, None };

/// Gives back, when it goes, exactly what it took: its claims, its nodes, its place in the door.
/// The last lease closes the descriptors. In a forked child nothing is given back and nothing
/// called. Thread-safe but for moving and destroying.
template <Port P>
class DoorLease {
public:
    /// Errors: UNINITIALIZED in a child forked while a door was open, before any call; FAILURE
    /// where the kernel cannot tell about forks.
    static Result<DoorRegistry*> registry() {
        int error = 0;
        if (auto* found = DoorRegistry::instance(error)) return found;
        if (error == 0)
            return fail({.status = Status::Uninitialized,
                         .operation = Operation::OpenDoor,
                         .detail = Detail::Forked});
        Error refusal = refused(Operation::OpenDoor, CallKind::Other, -error);
        refusal.text = std::string_view("madvise(MADV_WIPEONFORK)");
        return fail(refusal);
    }

    /// Effects: opens the discovery lane through `lowest`, the lowest node present, unless the
    /// process has it open already.
    static Result<DoorLease> enter(P port, HostDeviceId lowest) {
        const auto found = registry();
        if (!found) return fail(found.error());
        Door& place = (*found)->enter(port.identity());
        DoorLease lease(std::move(port), *found, &place);
        Door& door = *lease.door_;
        const std::lock_guard lock(door.mutex);
        if (door.misc_fd < 0) {
            auto fd = open_node(lease.port_, node_path(lowest).data(), Access::WriteOnly,
                                Operation::OpenDoor);
            if (!fd) return fail(fd.error());
            door.misc_fd = *fd;
            door.misc_device = lowest;
        }
        return lease;
    }

    DoorLease(DoorLease&& other) noexcept
        : port_(std::move(other.port_)), registry_(other.registry_),
          door_(std::exchange(other.door_, nullptr)), nodes_(other.nodes_), cores_(other.cores_),
          cores_per_device_(other.cores_per_device_), big_maps_(other.big_maps_) {}
    DoorLease& operator=(DoorLease&&) = delete;

    ~DoorLease() {
        if (!door_ || !alive()) return;
        logged(release(UserCore{0}, kMaxUserCores));
        for (std::uint32_t i = 0; i < kMaxHostDevices; ++i)
            if (nodes_[i]) logged(close_device(HostDeviceId{i}));
        registry_->leave(*door_, port_.identity(), [&](Door& door) {
            if (door.misc_fd >= 0) (void)port_.close(std::exchange(door.misc_fd, -1));
        });
    }

    /// False in a forked child: then nothing may be called.
    [[nodiscard]] bool alive() const noexcept { return registry_->alive(); }
    [[nodiscard]] P& port() noexcept { return port_; }
    /// The descriptor of the discovery lane, for this lease's life.
    [[nodiscard]] int misc_fd() const noexcept { return door_->misc_fd; }
    /// The node it was opened on; relative requests count from there.
    [[nodiscard]] HostDeviceId misc_device() const noexcept { return door_->misc_device; }

    /// Effects: attaches to a device, once a process. The descriptor is good until close_device().
    Result<int> open_device(HostDeviceId device) {
        const std::lock_guard lock(door_->mutex);
        auto& node = door_->nodes[device.value()];
        if (nodes_[device.value()]) return node.fd;
        if (node.users == 0) {
            auto fd = open_node(port_, node_path(device).data(), Access::ReadWrite,
                                Operation::OpenDevice);
            if (!fd) {
                fd.error().device = static_cast<std::int32_t>(device.value());
                return fail(fd.error());
            }
            node.fd = *fd;
        }
        ++node.users;
        nodes_.set(device.value());
        return node.fd;
    }

    /// Effects: detaches when this was the last lease that used the device.
    Result<void> close_device(HostDeviceId device) {
        const std::lock_guard lock(door_->mutex);
        auto& node = door_->nodes[device.value()];
        if (!nodes_[device.value()]) return {};
        nodes_.reset(device.value());
        if (--node.users != 0) return {};
        const std::int64_t answer = port_.close(std::exchange(node.fd, -1));
        if (answer == 0) return {};
        return fail(refused(Operation::OpenDevice, CallKind::Other, answer));
    }

    /// Says how the driver counts cores: needed before the first claim. Before 2.14 a driver knew
    /// only maps of 64 cores.
    void count_cores(std::uint32_t per_device, bool big_maps) noexcept {
        cores_per_device_ = per_device;
        big_maps_ = big_maps;
    }

    /// Effects: marks [first, first + count), all or nothing. Errors: as check_marks(), and of the
    /// marks: LOAD_NOT_ENOUGH_NC with CoresBusy.
    Result<void> claim(UserCore first, std::uint32_t count, Sharing sharing) {
        const std::lock_guard lock(door_->mutex);
        if (auto whole = check_marks(); !whole) return whole;
        const std::uint32_t end = first.value() + count;
        for (std::uint32_t i = first.value(); i < end && sharing == Sharing::None; ++i)
            if (marked(i))
                return fail({.status = Status::LoadNotEnoughNc,
                             .operation = Operation::ClaimCores,
                             .detail = Detail::CoresBusy,
                             .value = first.value(),
                             .asked = count});
        CoreSet taken;
        for (std::uint32_t i = first.value(); i < end;) {
            std::uint32_t stop = i + 1;
            if (!marked(i)) {
                while (stop < end && !marked(stop)) ++stop;
                if (auto done = mark_cores(port_, lane(), i, stop); !done) {
                    logged(unmark(taken));
                    return done;
                }
            }
            for (; i < stop; ++i) {
                door_->lost[i] = false;
                if (cores_[i]) continue;
                taken.set(i);
                cores_.set(i);
                ++door_->claims[i];
            }
        }
        return {};
    }

    /// The cores of [first, first + count) that nobody has marked. Errors: as claim().
    Result<CoreSet> free_cores(UserCore first, std::uint32_t count) {
        const std::lock_guard lock(door_->mutex);
        if (auto whole = check_marks(); !whole) return fail(whole.error());
        CoreSet found;
        auto done = add_free(port_, lane(), first.value(), first.value() + count, found);
        if (!done) return fail(done.error());
        return found;
    }

    /// Effects: gives up [first, first + count), as far as this lease holds it.
    Result<void> release(UserCore first, std::uint32_t count) {
        const std::lock_guard lock(door_->mutex);
        CoreSet given;
        for (std::uint32_t i = 0; i < count; ++i) given.set(first.value() + i);
        return unmark(given);
    }

private:
    DoorLease(P port, DoorRegistry* registry, Door* door)
        : port_(std::move(port)), registry_(registry), door_(door) {}

    static void logged(const Result<void>& result) {
        if (result) return;
        Log::write(LogLevel::Warn, "closing: the driver answered %d to a release",
                   static_cast<int>(result.error().os_error));
    }

    [[nodiscard]] MarkLane lane() const noexcept {
        return {door_->misc_fd, door_->misc_device.value() * cores_per_device_, big_maps_};
    }

    /// Whether the process has the mark of a core, as far as the book knows.
    [[nodiscard]] bool marked(std::uint32_t core) const noexcept {
        return door_->claims[core] != 0 && !door_->lost[core];
    }

    /// Effects: looks whether the process still has its marks, by one request for each run of
    /// cores. When the program closed a descriptor of its own of the discovery lane, the kernel
    /// dropped all of them: says so in the log and marks again. That they are gone shows as long as
    /// one of them is still free. Errors: LOAD_NOT_ENOUGH_NC with MarkTaken (value: the core) when
    /// another process was faster; later operations work again, and do not count that core as ours.
    Result<void> check_marks() {
        bool dropped = false;
        for (std::uint32_t i = 0; i < kMaxUserCores && !dropped; ++i) {
            const std::uint32_t begin = i;
            while (i < kMaxUserCores && marked(i)) ++i;
            if (i == begin) continue;
            const auto longest = longest_free(port_, lane(), begin, i);
            if (!longest) return fail(longest.error());
            dropped = *longest != 0;
        }
        for (std::uint32_t i = 0; i < kMaxUserCores && dropped; ++i)
            door_->lost[i] = door_->claims[i] != 0;
        return mark_again(dropped);
    }

    /// Takes back first what may have been marked since, so that a busy core is surely another's.
    Result<void> mark_again(bool dropped) {
        CoreSet gone;
        for (std::uint32_t i = 0; i < kMaxUserCores; ++i) gone.set(i, door_->lost[i]);
        if (gone.none()) return {};
        if (auto cleared = unmark_cores(port_, lane(), gone); !cleared) return cleared;
        CoreRunText again;
        std::optional<Error> taken;
        for (std::uint32_t i = 0; i < kMaxUserCores; ++i) {
            if (!gone[i]) continue;
            const auto done = mark_cores(port_, lane(), i, i + 1);
            if (!done && done.error().detail != Detail::CoresBusy) return done;
            door_->lost[i] = !done;
            if (done) again.add(i);
            if (!done && dropped && !taken) taken = done.error();
        }
        if (!again.empty())
            Log::write(LogLevel::Error,
                       "the marks of cores %s were lost and are made again: the program closed a "
                       "descriptor of /dev/neuron* that it had opened O_WRONLY itself",
                       again.text());
        if (!taken) return {};
        taken->detail = Detail::MarkTaken;
        return fail(*taken);
    }

    /// Gives up the cores of the set that this lease holds. A core whose mark the driver does not
    /// take back stays booked to the process, as it is in the kernel.
    Result<void> unmark(const CoreSet& given) {
        CoreSet last;
        for (std::uint32_t i = 0; i < kMaxUserCores; ++i) {
            if (!given[i] || !cores_[i]) continue;
            cores_.reset(i);
            if (--door_->claims[i] != 0) continue;
            door_->lost[i] = false;
            last.set(i);
        }
        if (last.none()) return {};
        auto done = unmark_cores(port_, lane(), last);
        if (done) return done;
        for (std::uint32_t i = 0; i < kMaxUserCores; ++i)
            if (last[i]) ++door_->claims[i];
        return done;
    }

    P port_;
    DoorRegistry* registry_;
    Door* door_;
    std::bitset<kMaxHostDevices> nodes_;
    CoreSet cores_;
    std::uint32_t cores_per_device_ = 0;
    bool big_maps_ = true;
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
