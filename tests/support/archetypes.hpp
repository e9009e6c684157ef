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
#include "neuronbook/dmem/tags.hpp"
#include "neuronbook/dmem/usage_ledger.hpp"

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

struct ChunkCopyArchetype : Bare {
    using Bare::Bare;
    Result<void> copy(HostDeviceId, const Chunk&, Bytes, const Chunk&, Bytes, Bytes) {
        return fail({});
    }
};

struct FillArchetype : Bare {
    using Bare::Bare;
    Result<void> fill(HostDeviceId, const Chunk&, Bytes, Bytes, std::byte) {
        return neuronbook::fail({});
    }
};

/// Movable, not copyable.
struct CopyChainArchetype {
    explicit CopyChainArchetype(int) {}
    CopyChainArchetype(CopyChainArchetype&&) noexcept = default;
    CopyChainArchetype& operator=(CopyChainArchetype&&) noexcept = default;
    Result<void> start(const Chunk&, Bytes, const Chunk&, Bytes, Bytes) { return fail({}); }
    Result<void> finish() { return fail({}); }
};

struct AsyncCopyArchetype : Bare {
    using Bare::Bare;
    using CopyChain = CopyChainArchetype;
    Result<CopyChain> begin_copies(HostDeviceId, CoreIndex) { return fail({}); }
    [[nodiscard]] bool copies_run_aside() const noexcept { return false; }
};

struct BatchCopyArchetype : Bare {
    using Bare::Bare;
    Result<void> write_batch(HostDeviceId, CoreIndex, std::span<const WritePiece>) {
        return fail({});
    }
    Result<void> read_batch(HostDeviceId, CoreIndex, std::span<const ReadPiece>) {
        return fail({});
    }
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

/// All of a UsageLedger, and nothing else.
struct LedgerArchetype {
    struct Lock {
        Lock(const Lock&) = delete;
        void unlock() noexcept {}
        ~Lock() {}

    private:
        friend LedgerArchetype;
        Lock() {}
    };
    explicit LedgerArchetype(int) {}
    LedgerArchetype(const LedgerArchetype&) = delete;
    LedgerArchetype& operator=(const LedgerArchetype&) = delete;
    Lock lock(CoreIndex, std::uint32_t) { return {}; }
    Lock lock_all() { return {}; }
    void prepare(std::uint32_t) {}
    Result<std::uint64_t> add(OwnerAccount&, const Booking&, std::uint64_t, Bytes,
                              MemoryEvent*) noexcept {
        return 0;
    }
    Result<void> remove(OwnerAccount&, const Booking&, std::uint64_t, MemoryEvent*) noexcept {
        return {};
    }
    Result<void> add(const Charge&) { return {}; }
    Result<void> remove(const Charge&) { return {}; }
    void lose(const Charge&) noexcept {}
    void enroll(OwnerAccount&) noexcept {}
    void dismiss(OwnerAccount&) noexcept {}
    [[nodiscard]] bool limited(const OwnerAccount&) const noexcept { return false; }
    Result<void> reserve(OwnerAccount&, Bytes) { return {}; }
    void unreserve(OwnerAccount&, Bytes) noexcept {}
    [[nodiscard]] Bytes used_on_channel(std::uint32_t) const noexcept { return Bytes{}; }
    [[nodiscard]] const MemoryOptions& options() const noexcept { return options_; }
    [[nodiscard]] const detail::StampClock& clock() const noexcept { return clock_; }
    [[nodiscard]] NullObserver& observer() noexcept { return observer_; }

private:
    MemoryOptions options_;
    detail::StampClock clock_{Stamps::None};
    NullObserver observer_;
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
