// SPDX-License-Identifier: Apache-2.0
// Every requirement of every concept is missed by a type with exactly that defect: absent, of
// another type, or not noexcept. Types with nothing but what is required satisfy it. The concept of
// a port has port_concept_test.cpp, those of claims and copies have claim_ and
// copy_concepts_test.cpp.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "neuronbook/backend/driver.hpp"
#include "support/archetypes.hpp"
#include "support/catch.hpp"

using namespace neuronbook;
using namespace neuronbook::test;

namespace {

// --- Connectable
struct NoConnect : ConnectArchetype {
    Result<DriverFacts> connect() = delete;
};
struct ConnectSaysNothing : ConnectArchetype {
    Result<void> connect();
};
struct NoDisconnect : ConnectArchetype {
    void disconnect() noexcept = delete;
};
struct DisconnectThrows : ConnectArchetype {
    void disconnect();
};
struct DisconnectAnswers : ConnectArchetype {
    bool disconnect() noexcept;
};
struct NoUsable : ConnectArchetype {
    bool usable() const noexcept = delete;
};
struct UsableThrows : ConnectArchetype {
    bool usable() const;
};
struct UsableChanges : ConnectArchetype {
    bool usable() noexcept;
};
struct UsableIsANumber : ConnectArchetype {
    int usable() const noexcept;
};
static_assert(Connectable<ConnectArchetype>);
static_assert(!Connectable<NoConnect> && !Connectable<ConnectSaysNothing>);
static_assert(!Connectable<NoDisconnect> && !Connectable<DisconnectThrows> &&
              !Connectable<DisconnectAnswers>);
static_assert(!Connectable<NoUsable> && !Connectable<UsableThrows> && !Connectable<UsableChanges> &&
              !Connectable<UsableIsANumber>);

// --- TopologyOps
struct NoDevices : TopologyArchetype {
    Result<DeviceList> devices() = delete;
};
struct DevicesAreNumbers : TopologyArchetype {
    Result<std::vector<std::uint32_t>> devices();
};
struct NoRoutingIds : TopologyArchetype {
    Result<std::optional<RoutingIds>> routing_ids() = delete;
};
struct RoutingIdsAlways : TopologyArchetype {
    Result<RoutingIds> routing_ids();
};
struct NoCoreMap : TopologyArchetype {
    Result<std::optional<CoreMapEntries>> core_map() = delete;
};
struct CoreMapAlways : TopologyArchetype {
    Result<CoreMapEntries> core_map();
};
struct NoPod : TopologyArchetype {
    Result<std::optional<Pod>> pod() = delete;
};
struct PodAlways : TopologyArchetype {
    Result<Pod> pod();
};
static_assert(TopologyOps<TopologyArchetype>);
static_assert(!TopologyOps<NoDevices> && !TopologyOps<DevicesAreNumbers>);
static_assert(!TopologyOps<NoRoutingIds> && !TopologyOps<RoutingIdsAlways>);
static_assert(!TopologyOps<NoCoreMap> && !TopologyOps<CoreMapAlways>);
static_assert(!TopologyOps<NoPod> && !TopologyOps<PodAlways>);

// --- DeviceOps
struct NoOpen : DeviceArchetype {
    Result<DeviceFacts> open_device(HostDeviceId) = delete;
};
struct OpensASlot : DeviceArchetype {
    Result<DeviceFacts> open_device(DeviceIndex);
};
struct OpenTellsNoFacts : DeviceArchetype {
    Result<void> open_device(HostDeviceId);
};
struct NoClose : DeviceArchetype {
    Result<void> close_device(HostDeviceId) = delete;
};
struct CloseSaysNothing : DeviceArchetype {
    void close_device(HostDeviceId);
};
struct NoReset : DeviceArchetype {
    Result<void> reset_cores(HostDeviceId, std::uint32_t) = delete;
};
struct ResetsWholeDevices : DeviceArchetype {
    Result<void> reset_cores(HostDeviceId);
};
static_assert(DeviceOps<DeviceArchetype>);
static_assert(!DeviceOps<NoOpen> && !DeviceOps<OpensASlot> && !DeviceOps<OpenTellsNoFacts>);
static_assert(!DeviceOps<NoClose> && !DeviceOps<CloseSaysNothing>);
static_assert(!DeviceOps<NoReset> && !DeviceOps<ResetsWholeDevices>);

// --- MemoryOps
struct NoAllocate : MemoryArchetype {
    Result<Chunk> allocate(HostDeviceId, const ChunkRequest&) = delete;
};
struct AllocatesHandles : MemoryArchetype {
    Result<ChunkHandle> allocate(HostDeviceId, const ChunkRequest&);
};
struct NoFree : MemoryArchetype {
    Result<void> free(HostDeviceId, const Chunk&) = delete;
};
struct FreeSaysNothing : MemoryArchetype {
    void free(HostDeviceId, const Chunk&);
};
struct FreeChangesTheChunk : MemoryArchetype {
    Result<void> free(HostDeviceId, Chunk&);
};
struct MemoryNotUsable : MemoryArchetype {
    bool usable() const noexcept = delete;
};
struct MemoryUsableThrows : MemoryArchetype {
    bool usable() const;
};
static_assert(MemoryOps<MemoryArchetype>);
static_assert(!MemoryOps<NoAllocate> && !MemoryOps<AllocatesHandles>);
static_assert(!MemoryOps<NoFree> && !MemoryOps<FreeSaysNothing> && !MemoryOps<FreeChangesTheChunk>);
static_assert(!MemoryOps<MemoryNotUsable> && !MemoryOps<MemoryUsableThrows>);

// --- CopyOps
using Source = std::span<const std::byte>;
using Target = std::span<std::byte>;
struct NoWrite : CopyArchetype {
    Result<void> write(HostDeviceId, const Chunk&, Bytes, Source) = delete;
};
struct WritesFromMutable : CopyArchetype {
    Result<void> write(HostDeviceId, const Chunk&, Bytes, Target);
};
struct WriteCounts : CopyArchetype {
    Result<Bytes> write(HostDeviceId, const Chunk&, Bytes, Source);
};
struct NoRead : CopyArchetype {
    Result<void> read(HostDeviceId, const Chunk&, Bytes, Target) = delete;
};
struct ReadSaysNothing : CopyArchetype {
    void read(HostDeviceId, const Chunk&, Bytes, Target);
};
static_assert(CopyOps<CopyArchetype>);
static_assert(!CopyOps<MemoryArchetype>);
static_assert(!CopyOps<NoWrite> && !CopyOps<WritesFromMutable> && !CopyOps<WriteCounts>);
static_assert(!CopyOps<NoRead> && !CopyOps<ReadSaysNothing>);

// --- MapOps
struct NoMap : MapArchetype {
    Result<void*> map(HostDeviceId, const Chunk&) = delete;
};
struct MapsBytes : MapArchetype {
    Result<std::byte*> map(HostDeviceId, const Chunk&);
};
struct NoUnmap : MapArchetype {
    Result<void> unmap(void*, const Chunk&) = delete;
};
struct UnmapSaysNothing : MapArchetype {
    void unmap(void*, const Chunk&);
};
static_assert(MapOps<MapArchetype>);
static_assert(!MapOps<NoMap> && !MapOps<MapsBytes>);
static_assert(!MapOps<NoUnmap> && !MapOps<UnmapSaysNothing>);

// --- AuditOps
struct NoChunks : AuditArchetype {
    Result<std::vector<ChunkRecord>> chunks(HostDeviceId, std::uint32_t) = delete;
};
struct ChunksNeverFail : AuditArchetype {
    std::vector<ChunkRecord> chunks(HostDeviceId, std::uint32_t);
};
static_assert(AuditOps<AuditArchetype>);
static_assert(!AuditOps<NoChunks> && !AuditOps<ChunksNeverFail>);

// --- Driver: each part, and that it can be moved
struct Unchanged : DriverArchetype {};
struct CannotMove : DriverArchetype {
    CannotMove(CannotMove&&) = delete;
};
struct DriverNoConnect : DriverArchetype {
    Result<DriverFacts> connect() = delete;
};
struct DriverNoPod : DriverArchetype {
    Result<std::optional<Pod>> pod() = delete;
};
struct DriverNoClaim : DriverArchetype {
    Result<void> claim(UserCore, std::uint32_t) = delete;
};
struct DriverNoFreeCores : DriverArchetype {
    Result<CoreSet> free_cores(UserCore, std::uint32_t) = delete;
};
struct DriverNoSleep : DriverArchetype {
    void sleep(Nanoseconds) = delete;
};
struct DriverNoOpen : DriverArchetype {
    Result<DeviceFacts> open_device(HostDeviceId) = delete;
};
struct DriverNoFree : DriverArchetype {
    Result<void> free(HostDeviceId, const Chunk&) = delete;
};
struct DriverNoRead : DriverArchetype {
    Result<void> read(HostDeviceId, const Chunk&, Bytes, Target) = delete;
};
struct DriverNoMap : DriverArchetype {
    Result<void*> map(HostDeviceId, const Chunk&) = delete;
};
struct DriverNoChunks : DriverArchetype {
    Result<std::vector<ChunkRecord>> chunks(HostDeviceId, std::uint32_t) = delete;
};
static_assert(Driver<DriverArchetype> && Driver<Unchanged> && !ProcessOps<DriverArchetype>);
static_assert(!Driver<CannotMove> && !Driver<DriverNoConnect> && !Driver<DriverNoPod> &&
              !Driver<DriverNoClaim> && !Driver<DriverNoFreeCores> && !Driver<DriverNoSleep> &&
              !Driver<DriverNoOpen> && !Driver<DriverNoFree> && !Driver<DriverNoRead> &&
              !Driver<DriverNoMap> && !Driver<DriverNoChunks>);

} // namespace

TEST_CASE("the concepts accept their archetypes and refuse every single defect",
          "[backend][concepts]") {
    SUCCEED("checked when this file was compiled");
}
