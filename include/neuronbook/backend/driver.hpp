// SPDX-License-Identifier: Apache-2.0
//
// What the layers above need of a kernel driver: plain data, and one concept per capability.
// Owns: the contract of a backend. Does not own: ioctls, ports or the simulated kernel.
// Layer: backend; the only header of this folder that the layers above may include.
// libnrt: NDL
#pragma once

#include <array>
#include <bitset>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "neuronbook/backend/abilities.hpp" // IWYU pragma: export
#include "neuronbook/backend/chunk.hpp"     // IWYU pragma: export
#include "neuronbook/backend/copy_ops.hpp"  // IWYU pragma: export
#include "neuronbook/base/architecture.hpp"
#include "neuronbook/base/bus_address.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/instance.hpp"
#include "neuronbook/base/pod.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/strong.hpp"
#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {

/// The driver that talks to real devices; defined where the umbrella names it.
struct DefaultDriver;

// --- data ---------------------------------------------------------------------------------------

/// Release of the kernel driver, as /sys/module/neuron/version says.
struct DriverVersion {
    std::uint32_t major = 0;
    std::uint32_t minor = 0;
    std::uint32_t patch = 0;

    friend constexpr auto operator<=>(const DriverVersion&, const DriverVersion&) = default;
};

/// What a driver says of itself and of the machine; one value for all devices.
struct DriverFacts {
    DriverVersion version{};
    Architecture architecture = Architecture::Invalid;
    std::uint32_t revision = 0; ///< PCI revision; 240 is hardware emulation, 255 qemu
    std::uint64_t features = 0; ///< feature word, driver-abi.md 4.2
    InstanceFamily family = InstanceFamily::Unknown;
};

/// Host numbers of the device nodes present, ascending; gaps are allowed.
using DeviceList = std::vector<HostDeviceId>;

/// What one device says of itself.
struct DeviceFacts {
    BusAddress bus{};
    std::uint32_t neighbour_count = 0;
    std::array<HostDeviceId, 8> neighbours{};
};

/// Routing ids by host device number. `count` is the host's, not this process's.
struct RoutingIds {
    std::uint32_t count = 0;
    std::array<RoutingId, kMaxHostDevices> of{};
};

/// Physical core behind each user core, in order of user cores (8 a device, 128 at most).
struct CoreMapEntry {
    HostDeviceId device{};
    CoreIndex core{};
};
using CoreMapEntries = std::vector<CoreMapEntry>;

/// User cores that a host can have, and the driver's marks count: 0 to 511.
inline constexpr std::uint32_t kMaxUserCores = kMaxHostDevices * kMaxCoresPerDevice;
/// Some of them; bit u stands for user core u.
using CoreSet = std::bitset<kMaxUserCores>;

/// A process that has a device open. The driver cannot tell who marked a core, so none of them is
/// known to be an owner.
struct AttachedProcess {
    std::int32_t pid = 0; ///< as the host counts; a container counts otherwise
    ShortText command{};  ///< empty where it cannot be read
    /// The numbers are the host's and this process has another one for itself, so it may be this.
    bool host_number = false;
};

// --- rules --------------------------------------------------------------------------------------
// The kernel driver accepts odd alignments, unknown categories and cores that are not there, and
// answers a size of 0 as if it had no memory. Here they are errors, before any call; allocators ask
// the same rules as drivers.

[[nodiscard]] inline Result<void> check_hbm(const Geometry& geometry, std::uint32_t hbm,
                                            Operation operation) {
    if (hbm < geometry.hbms) return {};
    return fail({.status = Status::Invalid,
                 .operation = operation,
                 .detail = Detail::HbmOutOfRange,
                 .value = hbm,
                 .limit = geometry.hbms});
}

/// Errors: INVALID with HbmOutOfRange, ZeroSize, BadAlignment, CoreOutOfRange or UsageInvalid (a
/// category of 20 or more); RESOURCE with LargerThanHbm; FAIL_HOST_MEM_ALLOC for host memory of
/// more than 2^63 - 1 bytes. Value, limit and bytes asked are in the error.
[[nodiscard, gnu::always_inline]] inline Result<void> check_request(const Geometry& geometry,
                                                                    const ChunkRequest& ask) {
    if (auto there = check_hbm(geometry, ask.hbm, Operation::Allocate); !there) return there;
    const bool host = ask.location == MemoryLocation::Host;
    const std::uint64_t alignment = ask.alignment.count();
    const Bytes most_aligned = host ? kPage : kMaxAlignment;
    const Bytes most = host ? Bytes{~std::uint64_t{0} >> 1} : geometry.hbm_size;
    // Out of line, so that what passes is checked in line.
    const auto refuse = [&](Status status, Detail detail, std::uint64_t value, std::uint64_t limit)
        __attribute__((cold, noinline)) {
        return fail({.status = status,
                     .operation = Operation::Allocate,
                     .detail = detail,
                     .value = value,
                     .limit = limit,
                     .asked = ask.size.count(),
                     .text = std::string_view(host ? "host" : "device")});
    };
    if (ask.size == Bytes{0}) return refuse(Status::Invalid, Detail::ZeroSize, 0, 0);
    if (ask.alignment > most_aligned || (alignment & (alignment - 1)) != 0)
        return refuse(Status::Invalid, Detail::BadAlignment, alignment, most_aligned.count());
    if (ask.core.value() >= geometry.cores)
        return refuse(Status::Invalid, Detail::CoreOutOfRange, ask.core.value(), geometry.cores);
    if (ask.category >= kChunkCategories)
        return refuse(Status::Invalid, Detail::UsageInvalid, ask.category, kChunkCategories);
    // The kernel would follow a null pointer when such a chunk is freed (driver-abi.md 7.1).
    if (host && ask.category == kScratchpadCategory)
        return refuse(Status::Invalid, Detail::UsageNotHere, ask.category, 0);
    if (ask.size > most)
        return refuse(host ? Status::FailHostMemAlloc : Status::Resource,
                      host ? Detail::OutOfHostMemory : Detail::LargerThanHbm, ask.size.count(),
                      most.count());
    return {};
}

// --- capabilities -------------------------------------------------------------------------------
// Every operation answers UNINITIALIZED (Detail::Forked) in a child process without any system
// call, and leaves nothing half done when it fails. connect(), disconnect(), open_device() and
// close_device() belong to one thread; everything else may be called from several at once.

/// Knows whether it may speak to the kernel at all.
/// - `usable()`: false before connect(), after disconnect() and in a forked child.
template <class D>
concept Connectable = requires(D driver, const D& view) {
    { driver.connect() } -> std::same_as<Result<DriverFacts>>;
    { driver.disconnect() } noexcept -> std::same_as<void>;
    { view.usable() } noexcept -> std::same_as<bool>;
};

/// Reads the shape of the machine. Nothing here attaches to a device.
/// - `devices()`: also before connect(); an empty list where there are none.
/// - `routing_ids()`, `core_map()`, `pod()`: nothing where this driver or generation has none.
template <class D>
concept TopologyOps = requires(D driver) {
    { driver.devices() } -> std::same_as<Result<DeviceList>>;
    { driver.routing_ids() } -> std::same_as<Result<std::optional<RoutingIds>>>;
    { driver.core_map() } -> std::same_as<Result<std::optional<CoreMapEntries>>>;
    { driver.pod() } -> std::same_as<Result<std::optional<Pod>>>;
};

/// Marks cores as this process's, for all processes that ask.
/// - `claim(first, count)`: all or nothing. A core that this process holds already is shared.
///   Errors: LOAD_NOT_ENOUGH_NC where another process has one.
/// - `claim_free(first, count)`: the same, but what this process holds already is refused, too.
/// - `release(first, count)`: of what this driver object claimed.
/// - `free_cores(first, count)`: those of the run that no process has claimed, this one included;
///   takes none, so any of them may be gone when the answer arrives.
/// - `held(first, count)`: those of the run that this process has claimed by any driver object;
///   by what it knows, without asking.
template <class D>
concept ClaimOps = requires(D driver, UserCore first, std::uint32_t count) {
    { driver.claim(first, count) } -> std::same_as<Result<void>>;
    { driver.claim_free(first, count) } -> std::same_as<Result<void>>;
    { driver.release(first, count) } -> std::same_as<Result<void>>;
    { driver.free_cores(first, count) } -> std::same_as<Result<CoreSet>>;
    { driver.held(first, count) } -> std::same_as<Result<CoreSet>>;
};

/// The clock that waiting goes by, monotonic; virtual where the kernel is simulated.
template <class D>
concept ClockOps = requires(D driver, Nanoseconds duration) {
    { driver.now() } -> std::same_as<Nanoseconds>;
    { driver.sleep(duration) } -> std::same_as<void>;
};

/// Tells which other processes have a device open. Optional: not every driver knows.
/// - `attached(device)`: may open the device for the question; it is closed again.
template <class D>
concept ProcessOps = requires(D driver, HostDeviceId device) {
    { driver.attached(device) } -> std::same_as<Result<std::vector<AttachedProcess>>>;
};

/// Attaches to devices. One open per device and process, shared and counted.
template <class D>
concept DeviceOps = requires(D driver, HostDeviceId device, std::uint32_t core_mask) {
    { driver.open_device(device) } -> std::same_as<Result<DeviceFacts>>;
    { driver.close_device(device) } -> std::same_as<Result<void>>;
    { driver.reset_cores(device, core_mask) } -> std::same_as<Result<void>>;
};

/// Allocates and frees chunks.
template <class D>
concept MemoryOps = requires(D driver, const D& view, HostDeviceId device,
                             const ChunkRequest& request, const Chunk& chunk) {
    { driver.allocate(device, request) } -> std::same_as<Result<Chunk>>;
    { driver.free(device, chunk) } -> std::same_as<Result<void>>;
    { view.usable() } noexcept -> std::same_as<bool>;
};

/// Moves bytes between a caller's buffer and a chunk. Sizes of 0 and up to 2^64 are fine: what the
/// kernel cannot take in one call is split.
template <class D>
concept CopyOps = requires(D driver, HostDeviceId device, const Chunk& chunk, Bytes offset,
                           std::span<const std::byte> from, std::span<std::byte> to) {
    { driver.write(device, chunk, offset, from) } -> std::same_as<Result<void>>;
    { driver.read(device, chunk, offset, to) } -> std::same_as<Result<void>>;
};

/// Maps a whole chunk into the process.
template <class D>
concept MapOps = requires(D driver, HostDeviceId device, const Chunk& chunk, void* address) {
    { driver.map(device, chunk) } -> std::same_as<Result<void*>>;
    { driver.unmap(address, chunk) } -> std::same_as<Result<void>>;
};

/// Lists what the driver itself says is allocated on an HBM, by address.
template <class D>
concept AuditOps = requires(D driver, HostDeviceId device, std::uint32_t hbm) {
    { driver.chunks(device, hbm) } -> std::same_as<Result<std::vector<ChunkRecord>>>;
};

/// Everything a runtime needs. What is optional is used where it is there.
template <class D>
concept Driver =
    std::movable<D> && Connectable<D> && TopologyOps<D> && ClaimOps<D> && ClockOps<D> &&
    DeviceOps<D> && MemoryOps<D> && CopyOps<D> && MapOps<D> && AuditOps<D>;

} // namespace v0
} // namespace neuronbook
