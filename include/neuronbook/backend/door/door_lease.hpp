// SPDX-License-Identifier: Apache-2.0
//
// One runtime's share of its process's door.
// Owns: which nodes and cores this lease uses, and their return. Does not own: the book (door.hpp).
// Layer: backend.   Source: driver-abi.md 2.4, 5.6; tables.md 22
#pragma once

#include <bitset>
#include <cstdint>
#include <mutex>
#include <utility>

#include "neuronbook/backend/door/door.hpp"
#include "neuronbook/backend/door/door_marks.hpp"
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
        lease.told_ = door.losses;
        return lease;
    }

    DoorLease(DoorLease&& other) noexcept
        : port_(std::move(other.port_)), registry_(other.registry_),
          door_(std::exchange(other.door_, nullptr)), nodes_(other.nodes_), cores_(other.cores_),
          told_(other.told_), cores_per_device_(other.cores_per_device_),
          big_maps_(other.big_maps_) {}
    DoorLease& operator=(DoorLease&&) = delete;

    ~DoorLease() {
        if (!door_ || !alive()) return;
        // The devices first: whoever gets a core next must not find this process still at work.
        for (std::uint32_t i = 0; i < kMaxHostDevices; ++i)
            if (nodes_[i]) logged(close_device(HostDeviceId{i}));
        logged(release(UserCore{0}, kMaxUserCores));
        logged(release(UserCore{0}, 0)); // what could not be given back, once more
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

    /// What all leases of the process take for asynchronous copies of a core.
    [[nodiscard]] std::mutex& copies(HostDeviceId device, CoreIndex core) noexcept {
        return door_->copies[device.value()][core.value()];
    }

    /// Effects: attaches to a device, once a process. The descriptor is good until close_device().
    Result<int> open_device(HostDeviceId device) {
        const std::lock_guard lock(door_->mutex);
        if (nodes_[device.value()]) return door_->nodes[device.value()].fd;
        const auto fd = attach(device);
        if (fd) nodes_.set(device.value());
        return fd;
    }

    /// Effects: detaches when this was the last lease that used the device.
    Result<void> close_device(HostDeviceId device) {
        const std::lock_guard lock(door_->mutex);
        if (!nodes_[device.value()]) return {};
        nodes_.reset(device.value());
        return detach(device);
    }

    /// Whether some lease of the process has the device open.
    [[nodiscard]] bool is_open(HostDeviceId device) const {
        const std::lock_guard lock(door_->mutex);
        return door_->nodes[device.value()].users != 0;
    }

    /// Effects: `use(fd)` with the device attached meanwhile, whoever else opens or closes it.
    template <class F>
    auto borrow_device(HostDeviceId device, F use) -> decltype(use(0)) {
        const auto fd = [&] {
            const std::lock_guard lock(door_->mutex);
            return attach(device);
        }();
        if (!fd) return fail(fd.error());
        struct Return { // `use` may throw
            DoorLease& lease;
            HostDeviceId device;
            ~Return() {
                const std::lock_guard lock(lease.door_->mutex);
                (void)lease.detach(device); // the answer is good all the same
            }
        } const back{*this, device};
        return use(*fd);
    }

    /// Says how the driver counts cores: needed before the first claim. Before 2.14 a driver knew
    /// only maps of 64 cores.
    void count_cores(std::uint32_t per_device, bool big_maps) noexcept {
        cores_per_device_ = per_device;
        big_maps_ = big_maps;
    }

    /// Effects: marks [first, first + count), all or nothing. Errors: as DoorMarks::check(), about
    /// these cores and this lease's, and of the marks: LOAD_NOT_ENOUGH_NC with CoresBusy.
    Result<void> claim(UserCore first, std::uint32_t count, Sharing sharing) {
        const std::lock_guard lock(door_->mutex);
        auto book = marks();
        const std::uint32_t end = first.value() + count;
        CoreSet concerned = cores_;
        for (std::uint32_t i = first.value(); i < end; ++i) concerned.set(i);
        if (auto whole = book.check(concerned, told_); !whole) return whole;
        for (std::uint32_t i = first.value(); i < end && sharing == Sharing::None; ++i)
            if (book.marked(i))
                return fail({.status = Status::LoadNotEnoughNc,
                             .operation = Operation::ClaimCores,
                             .detail = Detail::CoresBusy,
                             .value = first.value(),
                             .asked = count});
        CoreSet taken;
        for (std::uint32_t i = first.value(); i < end;) {
            std::uint32_t stop = i + 1;
            if (!book.marked(i)) {
                while (stop < end && !book.marked(stop)) ++stop;
                if (auto done = mark_cores(port_, book.lane(), i, stop); !done) {
                    logged(unmark(taken));
                    return done;
                }
            }
            for (; i < stop; ++i) {
                door_->lost[i] = 0;
                door_->taken[i] = false;
                if (cores_[i]) continue;
                taken.set(i);
                cores_.set(i);
                ++door_->claims[i];
            }
        }
        return {};
    }

    /// The cores of [first, first + count) that nobody has marked. Errors: as DoorMarks::check(),
    /// about this lease's cores.
    Result<CoreSet> free_cores(UserCore first, std::uint32_t count) {
        const std::lock_guard lock(door_->mutex);
        auto book = marks();
        if (auto whole = book.check(cores_, told_); !whole) return fail(whole.error());
        CoreSet found;
        auto done = add_free(port_, book.lane(), first.value(), first.value() + count, found);
        if (!done) return fail(done.error());
        return found;
    }

    /// Those of [first, first + count) that the process has, as far as its book says.
    [[nodiscard]] CoreSet held(UserCore first, std::uint32_t count) {
        const std::lock_guard lock(door_->mutex);
        CoreSet found;
        for (std::uint32_t i = first.value(); i < first.value() + count; ++i)
            found.set(i, marks().marked(i));
        return found;
    }

    /// Effects: gives up [first, first + count), as far as this lease holds it, and what the door
    /// could not give back before.
    Result<void> release(UserCore first, std::uint32_t count) {
        const std::lock_guard lock(door_->mutex);
        marks().give_back_owed();
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

    /// One user more of a device. Requires: the door's mutex is held.
    Result<int> attach(HostDeviceId device) {
        auto& node = door_->nodes[device.value()];
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
        return node.fd;
    }

    /// One user less, and the last one closes. Requires: the door's mutex is held.
    Result<void> detach(HostDeviceId device) {
        auto& node = door_->nodes[device.value()];
        if (--node.users != 0) return {};
        const std::int64_t answer = port_.close(std::exchange(node.fd, -1));
        if (answer == 0) return {};
        return fail(refused(Operation::OpenDevice, CallKind::Other, answer));
    }

    [[nodiscard]] DoorMarks<P> marks() noexcept {
        return {port_, *door_, cores_per_device_, big_maps_};
    }

    /// Gives up the cores of the set that this lease holds, and the mark where it was the last.
    Result<void> unmark(const CoreSet& given) {
        CoreSet last;
        for (std::uint32_t i = 0; i < kMaxUserCores; ++i) {
            if (!given[i] || !cores_[i]) continue;
            cores_.reset(i);
            if (--door_->claims[i] != 0) continue;
            // One that is surely another's is not asked for.
            last.set(i, !door_->taken[i]);
            door_->lost[i] = 0;
            door_->taken[i] = false;
        }
        return marks().give_back(last);
    }

    P port_;
    DoorRegistry* registry_;
    Door* door_;
    std::bitset<kMaxHostDevices> nodes_;
    CoreSet cores_;
    std::uint32_t told_ = 0; ///< number of the last loss of marks that this lease has heard of
    std::uint32_t cores_per_device_ = 0;
    bool big_maps_ = true;
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
