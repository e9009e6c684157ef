// SPDX-License-Identifier: Apache-2.0
//
// Requests that read the shape of the machine, on either lane.
// Owns: encoding and decoding. Does not own: what the answers mean to the tree (topology/).
// Layer: backend.   Source: driver-abi.md 4.3, 5.2, 5.5, 5.10, 5.12
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>

#include "neuronbook/backend/ioctl/handshake.hpp"
#include "neuronbook/backend/ioctl/releases.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

template <Port P>
Result<std::optional<RoutingIds>> read_routing_ids(P& port, int fd, const DriverFacts& facts) {
    if (!has_routing_map(facts)) return std::nullopt;
    uapi::HostDeviceIdToRidMap map{};
    auto done = request(port, fd, uapi::kHostDeviceIdToRidMap, map, Operation::ReadTopology);
    if (!done) return fail(done.error());
    RoutingIds ids{.count = map.count};
    for (std::uint32_t i = 0; i < kMaxHostDevices; ++i)
        ids.of[i] = RoutingId{map.host_did_to_rid_map[i]};
    return ids;
}

/// Second-generation devices have no such map, and answer 524.
template <Port P>
Result<std::optional<CoreMapEntries>> read_core_map(P& port, int fd, const DriverFacts& facts) {
    if (facts.architecture == Architecture::Sunda || facts.version < kCoreMapSince)
        return std::nullopt;
    struct {
        uapi::NcMap head;
        uapi::NcMapEntry entries[uapi::kNcMapMaxEntries];
    } map{};
    uapi::GetLogicalToPhysicalNcMap ask{.map = &map.head,
                                        .max_map_entries = uapi::kNcMapMaxEntries};
    auto done = request(port, fd, uapi::kGetLogicalToPhysicalNcMap, ask, Operation::ReadTopology);
    if (!done) return fail(done.error());
    CoreMapEntries entries;
    const std::uint32_t count = std::min(map.head.num_entries, uapi::kNcMapMaxEntries);
    for (std::uint32_t i = 0; i < count; ++i)
        entries.push_back(
            {HostDeviceId{map.entries[i].device_id}, CoreIndex{map.entries[i].device_nc_idx}});
    return entries;
}

/// A pod whose members have not all reported is busy, and says so in the structure too.
template <Port P>
Result<std::optional<Pod>> read_pod(P& port, int fd, const DriverFacts& facts) {
    if (facts.version < kPodStatusSince) return std::nullopt;
    const bool has_mode = facts.version >= kPodModeSince;
    uapi::PodStatusV2 status{};
    status.v1.sz = static_cast<std::uint16_t>(has_mode ? sizeof status : sizeof status.v1);
    const auto done = has_mode
                          ? request(port, fd, uapi::kPodStatusV2, status, Operation::ReadTopology)
                          : request(port, fd, uapi::kPodStatus, status.v1, Operation::ReadTopology);
    if (!done && done.error().os_error != EBUSY) return fail(done.error());
    Pod pod{.type = static_cast<Pod::Type>(status.v1.pod_type),
            .state = static_cast<Pod::State>(status.v1.state),
            .mode = static_cast<Pod::Mode>(status.mode),
            .size = status.v1.pod_sz,
            .node = status.v1.node_id};
    std::memcpy(&pod.reservation, status.v1.pod_id, sizeof pod.reservation);
    return pod;
}

/// Neighbours and bus address, through the device's own descriptor.
template <Port P>
Result<DeviceFacts> read_device(P& port, int fd) {
    uapi::DeviceInfo info{};
    if (auto done = request(port, fd, uapi::kDeviceInfo, info, Operation::OpenDevice); !done)
        return fail(done.error());
    uapi::DeviceBdfExt bus{};
    if (auto done = request(port, fd, uapi::kDeviceBdfExt, bus, Operation::OpenDevice); !done)
        return fail(done.error());
    DeviceFacts facts{.bus = {bus.domain, bus.bus_number, bus.slot, bus.func}};
    facts.neighbour_count = std::min(info.connected_device_count, uapi::kMaxConnectedDevices);
    for (std::uint32_t i = 0; i < facts.neighbour_count; ++i)
        facts.neighbours[i] = HostDeviceId{info.connected_devices[i]};
    return facts;
}

} // namespace detail
} // namespace v0
} // namespace neuronbook
