// SPDX-License-Identifier: Apache-2.0
//
// The driver implementation: every request exactly as the kernel driver expects it.
// Owns: the order of rule, request and undo. Does not own: descriptors (door_lease.hpp), rules
// (driver_rules.hpp) or encodings (*_requests.hpp). Layer: backend.   libnrt: NDL
#pragma once

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "neuronbook/backend/door/door_lease.hpp"
#include "neuronbook/backend/driver.hpp"
#include "neuronbook/backend/ioctl/chunk_forms.hpp"
#include "neuronbook/backend/ioctl/copy_calls.hpp"
#include "neuronbook/backend/ioctl/discovery.hpp"
#include "neuronbook/backend/ioctl/driver_abilities.hpp"
#include "neuronbook/backend/ioctl/driver_rules.hpp"
#include "neuronbook/backend/ioctl/handshake.hpp"
#include "neuronbook/backend/ioctl/memory_counters.hpp"
#include "neuronbook/backend/ioctl/memory_requests.hpp"
#include "neuronbook/backend/ioctl/process_requests.hpp"
#include "neuronbook/backend/ioctl/reset_requests.hpp"
#include "neuronbook/backend/ioctl/sharing.hpp"
#include "neuronbook/backend/ioctl/topology_requests.hpp"

namespace neuronbook {
inline namespace v0 {

/// Speaks to the kernel driver through a port; models Driver. Arguments are checked before any
/// call; forms follow from feature word, version and architecture. Thread-safe once connect() and
/// open_device() have returned; those, disconnect() and moving belong to one thread.
template <Port P>
class IoctlDriver : public detail::CopyOperations<IoctlDriver<P>, P>,
                    public detail::AbilityOperations<IoctlDriver<P>>,
                    public detail::ShareOperations<IoctlDriver<P>>,
                    public detail::CounterOperations<IoctlDriver<P>> {
public:
    explicit IoctlDriver(P port) : port_(std::move(port)) { fds_.fill(-1); }

    /// Effects: finds driver and nodes, opens the process's door, checks that the driver and this
    /// library understand each other. Errors: Detail says which of these failed.
    Result<DriverFacts> connect() {
        if (lease_) return fail({.operation = Operation::BringUp, .detail = Detail::AlreadyUp});
        if (const auto door = detail::DoorLease<P>::registry(); !door) return fail(door.error());
        const auto lowest = detail::lowest_device(port_);
        if (!lowest) return fail(lowest.error());
        const auto version = detail::read_version(port_);
        if (!version) return fail(version.error());
        if (auto known = detail::check_major(*version); !known) return fail(known.error());
        auto lease = detail::DoorLease<P>::enter(port_, *lowest);
        if (!lease) return fail(lease.error());
        auto facts = detail::shake_hands(port_, lease->misc_fd(), *version);
        if (!facts) return fail(facts.error());
        geometry_ = geometry_of(facts->architecture);
        if (!detail::has_routing_map(*facts) || geometry_->max_lnc_size > 1)
            facts->family = detail::read_family(port_, *lowest);
        fds_.fill(-1); // a driver that was moved from may connect again
        facts_ = *facts;
        form_ = detail::chunk_form(facts_);
        lease->count_cores(geometry_->cores, facts_.features & uapi::kFeatureBigCoreMaps);
        lease_ = std::make_unique<detail::DoorLease<P>>(*std::move(lease));
        return facts_;
    }

    /// Effects: returns what this driver object took, closing what nobody else uses.
    void disconnect() noexcept {
        lease_.reset();
        fds_.fill(-1);
    }

    /// Whether calls can be made: connected, and not a forked child.
    [[nodiscard]] bool usable() const noexcept { return lease_ && lease_->alive(); }

    /// Looks, and opens nothing: works before connect() too, and without a driver the list is
    /// empty.
    Result<DeviceList> devices() {
        if (lease_ && !usable()) return fail(barred(Operation::ReadTopology));
        return detail::present_devices(port_);
    }

    Result<std::optional<RoutingIds>> routing_ids() {
        if (!usable()) return fail(barred(Operation::ReadTopology));
        return detail::read_routing_ids(port_, lease_->misc_fd(), facts_);
    }
    Result<std::optional<CoreMapEntries>> core_map() {
        if (!usable()) return fail(barred(Operation::ReadTopology));
        return detail::read_core_map(port_, lease_->misc_fd(), facts_);
    }
    Result<std::optional<Pod>> pod() {
        if (!usable()) return fail(barred(Operation::ReadTopology));
        return detail::read_pod(port_, lease_->misc_fd(), facts_);
    }

    Result<void> claim(UserCore first, std::uint32_t count) {
        if (auto legal = check_cores(Operation::ClaimCores, first, count); !legal) return legal;
        return lease_->claim(first, count, detail::Sharing::WithinProcess);
    }
    Result<void> claim_free(UserCore first, std::uint32_t count) {
        if (auto legal = check_cores(Operation::ClaimCores, first, count); !legal) return legal;
        return lease_->claim(first, count, detail::Sharing::None);
    }

    Result<void> release(UserCore first, std::uint32_t count) {
        if (auto legal = check_cores(Operation::ReleaseCores, first, count); !legal) return legal;
        return lease_->release(first, count);
    }

    Result<CoreSet> free_cores(UserCore first, std::uint32_t count) {
        const auto legal = check_cores(Operation::ClaimCores, first, count);
        if (!legal) return fail(legal.error());
        return lease_->free_cores(first, count);
    }
    Result<CoreSet> held(UserCore first, std::uint32_t count) {
        const auto legal = check_cores(Operation::Query, first, count);
        if (!legal) return fail(legal.error());
        return lease_->held(first, count);
    }

    [[nodiscard]] Nanoseconds now() { return port_.now(); }
    /// Requires: no lock of this library is held.
    void sleep(Nanoseconds duration) { port_.sleep(duration); }

    /// The other processes that have the device open. Only an attached process may ask, so the
    /// device is opened for the question where this process has not done so, if it is known to be
    /// ready: an open waits as long as a reset takes. Errors: too, as detail::check_ready().
    Result<std::vector<AttachedProcess>> attached(HostDeviceId device) {
        constexpr auto operation = Operation::Query;
        if (!usable()) return fail(barred(operation));
        if (device.value() >= kMaxHostDevices) return fail(detail::no_device(operation, device));
        Result<void> ready;
        if (!lease_->is_open(device)) ready = detail::check_ready(port_, device);
        if (!ready) return fail(on(device, ready.error()));
        auto found = lease_->borrow_device(
            device, [&](int fd) { return detail::list_processes(port_, fd); });
        if (!found) return fail(on(device, found.error()));
        return found;
    }

    /// Effects: attaches to the device; one that this object has open is only described again.
    Result<DeviceFacts> open_device(HostDeviceId device) {
        constexpr auto operation = Operation::OpenDevice;
        if (!usable()) return fail(barred(operation));
        if (device.value() >= kMaxHostDevices) return fail(detail::no_device(operation, device));
        const bool opened_before = fds_[device.value()] >= 0;
        const auto fd = lease_->open_device(device);
        if (!fd) return fail(fd.error());
        auto facts = detail::read_device(port_, *fd);
        if (!facts) {
            if (!opened_before) (void)lease_->close_device(device);
            return fail(on(device, facts.error()));
        }
        fds_[device.value()] = *fd;
        return facts;
    }

    Result<void> close_device(HostDeviceId device) {
        if (auto fd = opened(Operation::OpenDevice, device); !fd) return fail(fd.error());
        fds_[device.value()] = -1;
        return lease_->close_device(device);
    }

    /// Effects: resets the cores of the mask (bit i is core i) and waits. Kills the work of whoever
    /// uses them: the driver does not ask who owns a core.
    Result<void> reset_cores(HostDeviceId device, std::uint32_t core_mask) {
        const auto fd = opened(Operation::ResetCores, device);
        if (!fd) return fail(fd.error());
        auto done = detail::reset_cores(port_, *fd, core_mask);
        if (!done) return fail(on(device, done.error()));
        return done;
    }

    Result<Chunk> allocate(HostDeviceId device, const ChunkRequest& ask) {
        const auto fd = opened(Operation::Allocate, device);
        if (!fd) return fail(fd.error());
        auto legal = check_request(*geometry_, ask);
        if (legal) legal = detail::check_form(facts_, ask);
        if (!legal) return fail(on(device, legal.error()));
        ChunkRequest sent = ask;
        // Up to a page the driver aligns anyway, and for host memory it refuses any alignment.
        if (sent.alignment <= kPage) sent.alignment = Bytes{0};
        auto made = detail::send_chunk_request(port_, *fd, form_, sent);
        if (!made) return fail(on(device, detail::allocation_error(*geometry_, ask, made.error())));
        Chunk chunk{.handle = ChunkHandle{made->handle},
                    .address = DeviceAddress{made->address},
                    .size = *whole_pages(ask.size),
                    .location = ask.location,
                    .hbm = ask.hbm};
        if (form_ == detail::ChunkForm::WithAddress) return chunk;
        uapi::MemGetPa query{.mem_handle = made->handle, .pa = &made->address};
        auto found = detail::request(port_, *fd, uapi::kMemGetPa, query, Operation::Allocate,
                                     detail::CallKind::UseHandle);
        if (!found) {
            if (auto freed = free(device, chunk); !freed)
                Log::write(LogLevel::Error, "lost %llu bytes of device %u: the driver answered %d",
                           static_cast<unsigned long long>(chunk.size.count()), device.value(),
                           freed.error().os_error);
            return fail(on_handle(device, chunk, found.error()));
        }
        chunk.address = DeviceAddress{made->address};
        return chunk;
    }

    Result<void> free(HostDeviceId device, const Chunk& chunk) {
        const auto fd = opened(Operation::Free, device);
        if (!fd) return fail(fd.error());
        uapi::MemFree ask{.mem_handle = chunk.handle.value()};
        auto done = detail::request(port_, *fd, uapi::kMemFree, ask, Operation::Free,
                                    detail::CallKind::UseHandle);
        if (!done) return fail(on_handle(device, chunk, done.error()));
        return done;
    }

    /// Effects: maps the whole chunk, readable and writable.
    Result<void*> map(HostDeviceId device, const Chunk& chunk) {
        const auto fd = opened(Operation::Map, device);
        if (!fd) return fail(fd.error());
        if (auto safe = detail::check_mappable(*geometry_, facts_.version, chunk); !safe)
            return fail(on(device, safe.error()));
        const Mapping mapping = port_.map(*fd, chunk.size, true, chunk.address.value());
        if (mapping.error == 0) return mapping.address;
        return fail(on(device, detail::refused(Operation::Map, detail::CallKind::Other,
                                               -static_cast<std::int64_t>(mapping.error))));
    }

    Result<void> unmap(void* address, const Chunk& chunk) {
        if (!usable()) return fail(barred(Operation::Map));
        const std::int64_t answer = port_.unmap(address, chunk.size);
        if (answer == 0) return {};
        return fail(detail::refused(Operation::Map, detail::CallKind::Other, answer));
    }

    Result<std::vector<ChunkRecord>> chunks(HostDeviceId device, std::uint32_t hbm) {
        const auto fd = opened(Operation::Query, device);
        if (!fd) return fail(fd.error());
        if (auto there = check_hbm(*geometry_, hbm, Operation::Query); !there)
            return fail(on(device, there.error()));
        auto records = detail::list_chunks(port_, *fd, hbm);
        if (!records) return fail(on(device, records.error()));
        return records;
    }

private:
    friend detail::AbilityOperations<IoctlDriver>;
    friend detail::ShareOperations<IoctlDriver>;
    friend detail::CounterOperations<IoctlDriver>;
    friend detail::CopyOperations<IoctlDriver, P>;

    Result<void> check_cores(Operation operation, UserCore first, std::uint32_t count) const {
        if (!usable()) return fail(barred(operation));
        return detail::check_cores(*geometry_, lease_->misc_device(), first, count, operation);
    }

    Result<int> opened(Operation operation, HostDeviceId device) const {
        if (!usable()) return fail(barred(operation));
        if (device.value() < kMaxHostDevices && fds_[device.value()] >= 0)
            return fds_[device.value()];
        return fail(detail::no_device(operation, device));
    }

    [[nodiscard]] Error barred(Operation operation) const {
        return {.status = Status::Uninitialized,
                .operation = operation,
                .detail = lease_ ? Detail::Forked : Detail::NotUp};
    }

    static Error on(HostDeviceId device, Error error) {
        error.device = static_cast<std::int32_t>(device.value());
        return error;
    }

    static Error on_handle(HostDeviceId device, const Chunk& chunk, Error error) {
        if (error.detail == Detail::UnknownHandle) error.value = chunk.handle.value();
        return on(device, error);
    }

    P port_;
    DriverFacts facts_{};
    const Geometry* geometry_ = nullptr;
    detail::ChunkForm form_ = detail::ChunkForm::Plain;
    std::array<int, kMaxHostDevices> fds_{};
    std::unique_ptr<detail::DoorLease<P>> lease_;
};

} // namespace v0
} // namespace neuronbook
