// SPDX-License-Identifier: Apache-2.0
//
// Learning what a driver is, and whether it and this library understand each other.
// Owns: the first requests on the discovery lane. Does not own: the lane (door_lease.hpp).
// Layer: backend.   Source: driver-abi.md 4
#pragma once

#include <cstdint>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/backend/ioctl/channel.hpp"
#include "neuronbook/backend/ioctl/releases.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

[[nodiscard]] inline bool has_routing_map(const DriverFacts& facts) noexcept {
    return facts.version >= kRoutingMapSince;
}

/// Errors: a driver of another major release, before anything is opened.
[[nodiscard]] inline Result<void> check_major(const DriverVersion& version) {
    if (version.major == kDriverMajor) return {};
    const bool old = version.major < kDriverMajor;
    return fail({.operation = Operation::CheckCompatibility,
                 .detail = old ? Detail::DriverTooOld : Detail::DriverTooNew,
                 .value = version.major,
                 .limit = kDriverMajor,
                 .text = std::string_view("module version")});
}

/// Architecture, revision and feature word. Drivers before 2.12 have no feature word.
template <Port P>
Result<void> read_identity(P& port, int fd, DriverFacts& facts) {
    constexpr auto operation = Operation::CheckCompatibility;
    if (facts.version >= kFeatureWordSince) {
        uapi::DeviceDriverInfo info{};
        auto done = request(port, fd, uapi::kDriverInfoGet, info, operation);
        if (!done) return done;
        facts.architecture = static_cast<Architecture>(info.architecture);
        facts.revision = info.revision;
        facts.features = info.feature_flags1;
    } else {
        uapi::DeviceBasicInfo info{};
        auto done = request(port, fd, uapi::kDeviceBasicInfo, info, operation);
        if (!done) return done;
        facts.architecture = static_cast<Architecture>(info.architecture);
        facts.revision = info.revision;
    }
    if (geometry_of(facts.architecture)) return {};
    return fail({.status = Status::Invalid,
                 .operation = operation,
                 .detail = Detail::UnknownArchitecture,
                 .value = static_cast<std::uint64_t>(facts.architecture)});
}

/// The driver serves runtimes whose number lies in its range; ours is one per architecture.
template <Port P>
Result<void> check_runtime_number(P& port, int fd, const DriverFacts& facts) {
    uapi::CompatibleVersion range{};
    auto done = request(port, fd, uapi::kCompatibleVersion, range, Operation::CheckCompatibility);
    if (!done) return done;
    const std::uint32_t ours = geometry_of(facts.architecture)->runtime_version;
    if (range.min <= ours && ours <= range.max) return {};
    const bool old = ours > range.max;
    return fail({.operation = Operation::CheckCompatibility,
                 .detail = old ? Detail::DriverTooOld : Detail::DriverTooNew,
                 .value = old ? range.max : range.min,
                 .limit = ours,
                 .text = std::string_view("runtime number")});
}

/// Everything above in order, on the discovery lane.
template <Port P>
Result<DriverFacts> shake_hands(P& port, int fd, const DriverVersion& version) {
    DriverFacts facts{.version = version};
    if (auto known = read_identity(port, fd, facts); !known) return fail(known.error());
    if (auto known = check_runtime_number(port, fd, facts); !known) return fail(known.error());
    return facts;
}

} // namespace detail
} // namespace v0
} // namespace neuronbook
