// SPDX-License-Identifier: Apache-2.0
//
// The id spaces of a Neuron machine and the model handle, each a type of its own.
// Owns: the types. Does not own: any conversion between them; only topology/ converts.
// Layer: base.   libnrt: physical_core_t, virtual_core_t (their identity part), H_MODEL
#pragma once

#include <bit>
#include <compare>
#include <cstdint>

#include "neuronbook/base/strong.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

template <class Tag>
using Id = Strong<Tag, std::uint32_t>;

} // namespace detail

/// Number of a device on the host, the N of /dev/neuronN (0..63). A container keeps host numbers.
using HostDeviceId = detail::Id<struct HostDeviceIdTag>;
/// Dense slot of a device in this process's tree (0..NumMla-1). libnrt: mla_idx, device_id
using DeviceIndex = detail::Id<struct DeviceIndexTag>;
/// A NeuronCore within its device (0..7). libnrt: device_tpb_idx
using CoreIndex = detail::Id<struct CoreIndexTag>;
/// A core as users and the driver's marks count it: host device number x cores per device + k,
/// before the driver's logical-to-physical map.
using UserCore = detail::Id<struct UserCoreTag>;
/// One or more physical cores that a program sees as one. libnrt: vtpb, vnc, LNC
using LogicalCore = detail::Id<struct LogicalCoreTag>;
/// Fabric address of a device. libnrt: RID
using RoutingId = detail::Id<struct RoutingIdTag>;
/// Names a loaded model, process-wide; 0 is never a model. libnrt: H_MODEL
using ModelHandle = detail::Id<struct ModelHandleTag>;

/// One NeuronCore of the tree: device slot and core within it. These eight bytes are its whole
/// identity.
/// libnrt: physical_core_t
struct PhysicalCore {
    DeviceIndex device{};
    CoreIndex core{};

    friend constexpr auto operator<=>(PhysicalCore, PhysicalCore) noexcept = default;
    friend constexpr bool operator==(PhysicalCore a, PhysicalCore b) noexcept {
        return a.key() == b.key();
    }

    /// The identity as one word: two cores are the same exactly if their keys are.
    [[nodiscard]] constexpr std::uint64_t key() const noexcept {
        return std::bit_cast<std::uint64_t>(*this);
    }
};

static_assert(sizeof(DeviceIndex) == 4 && sizeof(PhysicalCore) == 8);

} // namespace v0
} // namespace neuronbook
