// SPDX-License-Identifier: Apache-2.0
//
// One runtime's share of its process's door.
// Owns: which nodes and cores this lease uses, and their return. Does not own: the book (door.hpp).
// Layer: backend.   Source: driver-abi.md 2.4, 5.6; tables.md 22
#pragma once

#include <bitset>
#include <cstdint>
#include <utility>

#include "neuronbook/backend/door/door.hpp"
#include "neuronbook/backend/ioctl/channel.hpp"
#include "neuronbook/backend/ioctl/device_node.hpp"
#include "neuronbook/backend/uapi.hpp"
#include "neuronbook/base/log.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

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
        logged(release(UserCore{0}, uapi::kCoreSlots));
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

    /// Effects: marks [first, first + count), all or nothing. What another lease of this process
    /// holds already is shared.
    Result<void> claim(UserCore first, std::uint32_t count) {
        const std::lock_guard lock(door_->mutex);
        const std::uint32_t end = first.value() + count;
        Cores taken;
        for (std::uint32_t i = first.value(); i < end;) {
            std::uint32_t stop = i + 1;
            if (door_->claims[i] == 0) {
                while (stop < end && door_->claims[stop] == 0) ++stop;
                if (auto marked = mark(i, stop); !marked) {
                    logged(unmark(taken));
                    return marked;
                }
            }
            for (; i < stop; ++i) {
                if (cores_[i]) continue;
                taken.set(i);
                cores_.set(i);
                ++door_->claims[i];
            }
        }
        return {};
    }

    /// Effects: gives up [first, first + count), as far as this lease holds it.
    Result<void> release(UserCore first, std::uint32_t count) {
        const std::lock_guard lock(door_->mutex);
        Cores given;
        for (std::uint32_t i = 0; i < count; ++i) given.set(first.value() + i);
        return unmark(given);
    }

private:
    using Cores = std::bitset<uapi::kCoreSlots>;

    DoorLease(P port, DoorRegistry* registry, Door* door)
        : port_(std::move(port)), registry_(registry), door_(door) {}

    static void logged(const Result<void>& result) {
        if (result) return;
        Log::write(LogLevel::Warn, "closing: the driver answered %d to a release",
                   static_cast<int>(result.error().os_error));
    }

    /// Slot of the range map from which requests on the discovery lane count.
    [[nodiscard]] std::uint32_t base() const noexcept {
        return door_->misc_device.value() * cores_per_device_;
    }

    Result<void> mark(std::uint32_t begin, std::uint32_t end) {
        if (!big_maps_) return mark(begin, end, uapi::CrwlNcMap{}, uapi::kCrwlNcRangeMark);
        return mark(begin, end, uapi::CrwlNcMapExt{}, uapi::kCrwlNcRangeMarkExt0);
    }

    template <class Range>
    Result<void> mark(std::uint32_t begin, std::uint32_t end, Range range, std::uint32_t word) {
        range.nc_count = end - begin;
        range.start_nc_index = begin - base();
        range.end_nc_index = end - base() - 1;
        auto marked =
            request(port_, door_->misc_fd, word, range, Operation::ClaimCores, CallKind::Mark);
        if (marked) return marked;
        Error error = marked.error();
        error.value = begin;
        error.asked = range.nc_count;
        error.limit = range.max_nc_available;
        return fail(error);
    }

    /// Gives up the cores of the set that this lease holds. A core whose mark the driver does not
    /// take back stays booked to the process, as it is in the kernel.
    Result<void> unmark(const Cores& given) {
        Cores last;
        uapi::CrwlNcMapExt range{};
        for (std::uint32_t i = 0; i < uapi::kCoreSlots; ++i) {
            if (!given[i] || !cores_[i]) continue;
            cores_.reset(i);
            if (--door_->claims[i] != 0) continue;
            last.set(i);
            const std::uint32_t bit = i - base();
            range.bitmap[bit / 64] |= std::uint64_t{1} << (bit % 64);
        }
        if (last.none()) return {};
        auto done = send_unmark(range);
        if (done) return done;
        for (std::uint32_t i = 0; i < uapi::kCoreSlots; ++i)
            if (last[i]) ++door_->claims[i];
        return done;
    }

    Result<void> send_unmark(uapi::CrwlNcMapExt& range) {
        constexpr auto operation = Operation::ReleaseCores;
        if (big_maps_)
            return request(port_, door_->misc_fd, uapi::kCrwlNcRangeUnmarkExt0, range, operation,
                           CallKind::Mark);
        uapi::CrwlNcMap small{.bitmap = range.bitmap[0]};
        return request(port_, door_->misc_fd, uapi::kCrwlNcRangeUnmark, small, operation,
                       CallKind::Mark);
    }

    P port_;
    DoorRegistry* registry_;
    Door* door_;
    std::bitset<kMaxHostDevices> nodes_;
    Cores cores_;
    std::uint32_t cores_per_device_ = 0;
    bool big_maps_ = true;
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
