// SPDX-License-Identifier: Apache-2.0
// Types with only what a concept lists: class templates are instantiated with them, so that a body
// that uses more than its concept asks for does not compile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/backend/port.hpp"
#include "neuronbook/dmem/ledger.hpp"
#include "neuronbook/dmem/tags.hpp"

namespace neuronbook::test {

/// Cannot be copied, moved or made from nothing.
struct Bare {
    explicit Bare(int) {}
    Bare(const Bare&) = delete;
    Bare& operator=(const Bare&) = delete;
};

struct ConnectArchetype : Bare {
    using Bare::Bare;
    Result<DriverFacts> connect() { return fail({}); }
    void disconnect() noexcept {}
    [[nodiscard]] bool usable() const noexcept { return false; }
};

struct TopologyArchetype : Bare {
    using Bare::Bare;
    Result<DeviceList> devices() { return fail({}); }
    Result<std::optional<RoutingIds>> routing_ids() { return fail({}); }
    Result<std::optional<CoreMapEntries>> core_map() { return fail({}); }
    Result<std::optional<Pod>> pod() { return fail({}); }
};

struct ClaimArchetype : Bare {
    using Bare::Bare;
    Result<void> claim(UserCore, std::uint32_t) { return fail({}); }
    Result<void> claim_free(UserCore, std::uint32_t) { return fail({}); }
    Result<void> release(UserCore, std::uint32_t) { return fail({}); }
    Result<CoreSet> free_cores(UserCore, std::uint32_t) { return fail({}); }
    Result<CoreSet> held(UserCore, std::uint32_t) { return fail({}); }
};

struct ClockArchetype : Bare {
    using Bare::Bare;
    Nanoseconds now() { return {}; }
    void sleep(Nanoseconds) {}
};

struct ProcessArchetype : Bare {
    using Bare::Bare;
    Result<std::vector<AttachedProcess>> attached(HostDeviceId) { return fail({}); }
};

struct DeviceArchetype : Bare {
    using Bare::Bare;
    Result<DeviceFacts> open_device(HostDeviceId) { return fail({}); }
    Result<void> close_device(HostDeviceId) { return fail({}); }
    Result<void> reset_cores(HostDeviceId, std::uint32_t) { return fail({}); }
};

struct MemoryArchetype : Bare {
    using Bare::Bare;
    Result<Chunk> allocate(HostDeviceId, const ChunkRequest&) { return fail({}); }
    Result<void> free(HostDeviceId, const Chunk&) { return fail({}); }
    [[nodiscard]] bool usable() const noexcept { return false; }
};

struct CopyArchetype : MemoryArchetype {
    using MemoryArchetype::MemoryArchetype;
    Result<void> write(HostDeviceId, const Chunk&, Bytes, std::span<const std::byte>) {
        return fail({});
    }
    Result<void> read(HostDeviceId, const Chunk&, Bytes, std::span<std::byte>) { return fail({}); }
};

struct MapArchetype : Bare {
    using Bare::Bare;
    Result<void*> map(HostDeviceId, const Chunk&) { return fail({}); }
    Result<void> unmap(void*, const Chunk&) { return fail({}); }
};

struct AuditArchetype : Bare {
    using Bare::Bare;
    Result<std::vector<ChunkRecord>> chunks(HostDeviceId, std::uint32_t) { return fail({}); }
};

/// All of a Driver, and nothing else: movable, not copyable.
struct DriverArchetype {
    explicit DriverArchetype(int) {}
    DriverArchetype(DriverArchetype&&) noexcept = default;
    DriverArchetype& operator=(DriverArchetype&&) noexcept = default;

    Result<DriverFacts> connect() { return fail({}); }
    void disconnect() noexcept {}
    [[nodiscard]] bool usable() const noexcept { return false; }
    Result<DeviceList> devices() { return fail({}); }
    Result<std::optional<RoutingIds>> routing_ids() { return fail({}); }
    Result<std::optional<CoreMapEntries>> core_map() { return fail({}); }
    Result<std::optional<Pod>> pod() { return fail({}); }
    Result<void> claim(UserCore, std::uint32_t) { return fail({}); }
    Result<void> claim_free(UserCore, std::uint32_t) { return fail({}); }
    Result<void> release(UserCore, std::uint32_t) { return fail({}); }
    Result<CoreSet> free_cores(UserCore, std::uint32_t) { return fail({}); }
    Result<CoreSet> held(UserCore, std::uint32_t) { return fail({}); }
    Nanoseconds now() { return {}; }
    void sleep(Nanoseconds) {}
    Result<DeviceFacts> open_device(HostDeviceId) { return fail({}); }
    Result<void> close_device(HostDeviceId) { return fail({}); }
    Result<void> reset_cores(HostDeviceId, std::uint32_t) { return fail({}); }
    Result<Chunk> allocate(HostDeviceId, const ChunkRequest&) { return fail({}); }
    Result<void> free(HostDeviceId, const Chunk&) { return fail({}); }
    Result<void> write(HostDeviceId, const Chunk&, Bytes, std::span<const std::byte>) {
        return fail({});
    }
    Result<void> read(HostDeviceId, const Chunk&, Bytes, std::span<std::byte>) { return fail({}); }
    Result<void*> map(HostDeviceId, const Chunk&) { return fail({}); }
    Result<void> unmap(void*, const Chunk&) { return fail({}); }
    Result<std::vector<ChunkRecord>> chunks(HostDeviceId, std::uint32_t) { return fail({}); }
};

struct LedgerArchetype : Bare {
    using Bare::Bare;
    Result<void> add(const Charge&) { return {}; }
    Result<void> remove(const Charge&) { return {}; }
    void lose(const Charge&) noexcept {}
    [[nodiscard]] Bytes used_on_channel(std::uint32_t) const noexcept { return Bytes{}; }
};

struct PortArchetype {
    explicit PortArchetype(int) {}
    std::int64_t open(const char*, Access) { return -1; }
    std::int64_t close(int) { return -1; }
    std::int64_t ioctl(int, std::uint32_t, void*) { return -1; }
    Mapping map(int, Bytes, bool, std::uint64_t) { return {}; }
    std::int64_t unmap(void*, Bytes) { return -1; }
    std::int64_t read_file(const char*, std::span<char>) { return -1; }
    bool exists(const char*) { return false; }
    Nanoseconds now() { return {}; }
    void sleep(Nanoseconds) {}
    [[nodiscard]] PortIdentity identity() const { return {"archetype", 0}; }
};

} // namespace neuronbook::test
