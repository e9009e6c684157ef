// SPDX-License-Identifier: Apache-2.0
//
// Finding a driver and its devices without attaching to any.
// Owns: the module's version, the nodes present, and the words for what is missing.
// Does not own: anything that needs a descriptor. Layer: backend.
// Source: driver-abi.md 2; tables.md 20
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/backend/ioctl/channel.hpp"
#include "neuronbook/backend/ioctl/device_node.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// Host numbers of the nodes present, 0..63, gaps allowed.
template <Port P>
DeviceList present_devices(P& port) {
    DeviceList devices;
    for (std::uint32_t i = 0; i < kMaxHostDevices; ++i)
        if (port.exists(node_path(HostDeviceId{i}).data())) devices.push_back(HostDeviceId{i});
    return devices;
}

/// The first three numbers of "2.24.7.0"; nothing for any other text.
[[nodiscard]] inline std::optional<DriverVersion> parse_version(std::string_view text) {
    DriverVersion version;
    std::uint32_t* const parts[] = {&version.major, &version.minor, &version.patch};
    const char* at = text.data();
    const char* const end = at + text.size();
    for (auto* part : parts) {
        if (part != &version.major && (at == end || *at++ != '.')) return std::nullopt;
        const auto [next, error] = std::from_chars(at, end, *part);
        if (error != std::errc{}) return std::nullopt;
        at = next;
    }
    return version;
}

/// A small text file without its trailing newline, in the caller's buffer.
template <Port P>
Result<std::string_view> read_text(P& port, const char* path, std::span<char> buffer,
                                   Operation operation) {
    const std::int64_t got = retried([&] { return port.read_file(path, buffer); });
    if (got < 0 || static_cast<std::uint64_t>(got) > buffer.size()) {
        Error error = refused(operation, CallKind::Other, got);
        error.text = std::string_view(path);
        return fail(error);
    }
    std::string_view text(buffer.data(), static_cast<std::size_t>(got));
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
    return text;
}

/// The module's version. Errors: Detail::VersionUnreadable with the path, whatever the reason.
template <Port P>
Result<DriverVersion> read_version(P& port) {
    char buffer[64];
    Error error{.operation = Operation::ReadVersion,
                .detail = Detail::VersionUnreadable,
                .text = std::string_view(kVersionPath)};
    auto text = read_text(port, kVersionPath, buffer, Operation::ReadVersion);
    if (!text) {
        error.os_error = text.error().os_error;
        return fail(error);
    }
    if (auto version = parse_version(*text)) return *version;
    return fail(error);
}

/// The lowest node present. Errors tell a machine without a driver from one without nodes.
template <Port P>
Result<HostDeviceId> lowest_device(P& port) {
    const DeviceList devices = present_devices(port);
    if (!devices.empty()) return devices.front();
    Error error{.operation = Operation::BringUp};
    const bool module = port.exists(kModulePath);
    error.detail = module ? Detail::NoDevices : Detail::NoDriver;
    error.text = std::string_view(module ? "/dev/neuron*" : kModulePath);
    return fail(error);
}

/// Whether a device can be opened without waiting. Errors: DeviceInReset while it is reset or not
/// to be used; FileUnreadable, with the path, where only root may know.
template <Port P>
Result<void> check_ready(P& port, HostDeviceId device) {
    char buffer[64];
    const auto path = sysfs_path(device, "reset");
    const auto text = read_text(port, path.data(), buffer, Operation::Query);
    if (text && *text == "1") return {};
    Error error{.operation = Operation::Query, .detail = Detail::DeviceInReset};
    if (!text) {
        error.detail = Detail::FileUnreadable;
        error.os_error = text.error().os_error;
        error.text = std::string_view(path.data());
    }
    return fail(error);
}

/// What sysfs calls the machine: Trn1, Inf2 and so on. Needed where there is no routing map, and
/// where the type of instance decides about logical cores.
template <Port P>
InstanceFamily read_family(P& port, HostDeviceId device) {
    char buffer[64];
    const auto path = sysfs_path(device, "info/architecture/instance_type");
    const auto text = read_text(port, path.data(), buffer, Operation::ReadTopology);
    if (!text) return InstanceFamily::Unknown;
    if (*text == "Trn1") return InstanceFamily::Trn1;
    if (*text == "Inf2") return InstanceFamily::Inf2;
    if (*text == "Trn2") return InstanceFamily::Trn2;
    if (*text == "Trn3") return InstanceFamily::Trn3;
    return InstanceFamily::Unknown;
}

} // namespace detail
} // namespace v0
} // namespace neuronbook
