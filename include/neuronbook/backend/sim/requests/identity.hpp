// SPDX-License-Identifier: Apache-2.0
//
// Requests that say what the machine is, and those that do nothing.
// Owns: their handlers. Does not own: the facts (machine_spec.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 3, 4, 5 (measured on Trn1)
#pragma once

#include <cerrno>
#include <cstdint>

#include "neuronbook/backend/sim/requests/call.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

inline std::int64_t basic_info(Call& call) {
    return call.copy_out(
        uapi::DeviceBasicInfo{call.machine().architecture_number(), call.machine().revision()});
}

/// By number: any size from 24 bytes on is answered with 24.
inline std::int64_t driver_info(Call& call) {
    const auto direction = call.word >> 30;
    if (direction == 1) { // the setting form: checked for attachment, then refused
        const bool checked = call.word == uapi::kDriverInfoSet && !call.file.restricted();
        return checked && call.slot() == AttachSlots::kNone ? -EACCES : -kNotSupported;
    }
    if (direction != 2 || call.encoded_size() < sizeof(uapi::DeviceDriverInfo)) return -EINVAL;
    return call.copy_out(
        uapi::DeviceDriverInfo{call.machine().architecture_number(), call.machine().revision(),
                               uapi::kDeviceDriverInfoVersion0, sizeof(uapi::DeviceDriverInfo),
                               call.machine().features()});
}

inline std::int64_t compatible_version(Call& call) {
    return call.copy_out(call.machine().compatible());
}

inline std::int64_t device_info(Call& call) {
    constexpr std::uint32_t kStackLeftOver = 0xA5A5A5A5u; // unused slots are not initialised
    uapi::DeviceInfo info;
    info.architecture = call.machine().architecture_number();
    info.revision = call.machine().revision();
    const auto neighbours = call.machine().neighbours(call.device.index());
    info.connected_device_count = neighbours.count;
    for (std::uint32_t i = 0; i < uapi::kMaxConnectedDevices; ++i)
        info.connected_devices[i] = i < neighbours.count ? neighbours.devices[i] : kStackLeftOver;
    info.bar_address[0] = call.device.registers.bar().address;
    info.bar_size[0] = call.device.registers.bar().size;
    return call.copy_out(info);
}

inline std::int64_t device_bdf(Call& call) {
    const auto place = call.machine().bus_address(call.device.index());
    return call.copy_out(uapi::DeviceBdf{place.bus, static_cast<std::uint8_t>(place.slot),
                                         static_cast<std::uint8_t>(place.function), 0});
}

inline std::int64_t device_bdf_ext(Call& call) {
    uapi::DeviceBdfExt ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    const auto device = std::uint64_t{call.device.index()} + ask.nd_index; // relative
    if (device >= call.machine().devices()) return -EINVAL;
    const auto place = call.machine().bus_address(static_cast<std::uint32_t>(device));
    return call.copy_out(uapi::DeviceBdfExt{
        ask.nd_index, place.domain, place.bus, static_cast<std::uint8_t>(place.slot),
        static_cast<std::uint8_t>(place.function), ask.reserved0});
}

inline std::int64_t host_device_id(Call& call) {
    return call.copy_out(uapi::HostDeviceId{call.device.index()});
}

/// By number; only the exact size. Counts every device of the host, shown or not.
inline std::int64_t routing_map(Call& call) {
    if (call.encoded_size() != sizeof(uapi::HostDeviceIdToRidMap)) return -EINVAL;
    uapi::HostDeviceIdToRidMap map;
    map.count = call.machine().devices();
    for (std::uint32_t i = 0; i < map.count; ++i)
        map.host_did_to_rid_map[i] = call.machine().routing_id(i);
    return call.copy_out(map);
}

inline std::int64_t logical_to_physical(Call& call) {
    if (call.machine().is(Architecture::Sunda)) return -kNotSupported;
    uapi::GetLogicalToPhysicalNcMap ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    if (ask.max_map_entries > uapi::kNcMapMaxEntries) return -EINVAL;
    if (ask.mapping_version >= call.machine().core_numberings()) return -EINVAL;
    // only the older of the two numberings turns with the dies
    const bool flipped = ask.mapping_version == 0 && (call.state.parameters.force_die_flip != 0 ||
                                                      call.state.pod.flips_dies(call.now));
    struct {
        std::uint32_t count;
        uapi::NcMapEntry entries[uapi::kNcMapMaxEntries];
    } map{ask.max_map_entries, {}};
    for (std::uint32_t i = 0; i < ask.max_map_entries; ++i)
        map.entries[i] = {
            i / kMaxCoresPerDevice,
            call.machine().physical_core(i / kMaxCoresPerDevice, i % kMaxCoresPerDevice, flipped)};
    const auto size = sizeof(std::uint32_t) + ask.max_map_entries * sizeof(uapi::NcMapEntry);
    const auto to = Call::address_of(ask.map);
    return static_cast<std::int64_t>(size - call.user.write(to, &map, size));
}

inline std::int64_t nothing(Call&) { return 0; }

inline std::int64_t quiesce_queues(Call&) { return -ENOTTY; }

inline std::int64_t notifications_queue_info(Call&) { return -EPERM; }

inline std::int64_t device_reset_status(Call& call) { return call.copy_out(std::uint8_t{1}); }

} // namespace sim
} // namespace v0
} // namespace neuronbook
