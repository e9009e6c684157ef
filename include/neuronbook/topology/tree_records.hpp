// SPDX-License-Identifier: Apache-2.0
//
// What the tree stores: a device, a core, and the facts all devices share.
// Owns: the records. Does not own: their slots (context_tree.hpp) or where the facts come from
// (backend/driver.hpp). Layer: topology.   libnrt: mla_t, tpb_t
#pragma once

#include <cstdint>

#include "neuronbook/base/architecture.hpp"
#include "neuronbook/base/bus_address.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/pod.hpp"

namespace neuronbook {
inline namespace v0 {

/// Most cores next to one HBM, of any generation (tables.md 12).
inline constexpr std::uint32_t kMaxCoresPerHbm = 2;

/// What holds for all devices of a tree alike.
struct Machine {
    Architecture architecture = Architecture::Invalid; ///< libnrt: target
    Pod pod{};
    std::uint32_t routing_map_size = 0; ///< libnrt: host_did_to_rid_map_size
};

/// What add_device() is told of a device. `geometry` must outlive the tree: geometry_of() does.
struct DeviceEntry {
    HostDeviceId host{};
    RoutingId routing{};
    BusAddress bus{};
    const Geometry* geometry = nullptr;
};

template <std::uint32_t, std::uint32_t, class, class>
class ContextTree;

/// A device of the tree. Read only, except by its tree; as thread-safe as that.
/// libnrt: mla_t, mla.
/// Differs: holds what identifies a device; registers, TopSPs, the interrupt controller and the
/// ledger are other layers' or not modelled.
class TreeDevice {
public:
    /// Whether the slot holds a device. libnrt: is_used
    [[nodiscard]] constexpr bool in_use() const noexcept { return index_ != kFree; }
    /// The slot's own number, kept beside its position so that a lookup can check itself.
    /// libnrt: device_id, mla_idx
    [[nodiscard]] constexpr DeviceIndex index() const noexcept { return index_; }
    /// libnrt: host_device_id
    [[nodiscard]] constexpr HostDeviceId host() const noexcept { return entry_.host; }
    /// libnrt: routing_id
    [[nodiscard]] constexpr RoutingId routing() const noexcept { return entry_.routing; }
    [[nodiscard]] constexpr const BusAddress& bus() const noexcept { return entry_.bus; }
    /// Requires: in_use().
    [[nodiscard]] constexpr const Geometry& geometry() const noexcept { return *entry_.geometry; }
    /// Bit c is set if this process owns core c. libnrt: tpb_map
    [[nodiscard]] constexpr std::uint32_t owned_mask() const noexcept { return owned_; }
    [[nodiscard]] constexpr bool owns(CoreIndex core) const noexcept {
        return core.value() < kMaxCoresPerDevice && (owned_ >> core.value() & 1u) != 0;
    }

private:
    template <std::uint32_t, std::uint32_t, class, class>
    friend class ContextTree;

    static constexpr DeviceIndex kFree{~0u};

    DeviceEntry entry_;
    DeviceIndex index_ = kFree;
    std::uint32_t owned_ = 0;
};

/// Nothing hangs in the cores.
struct NoPayload {};

/// A core of the tree and what hangs in it. `payload` belongs to whoever instantiates the tree.
/// libnrt: tpb_t, tpb, ptpb.
/// Differs: the original's core is one struct with all its subsystems in it; here they are the
/// payload, so that this layer knows none of them.
template <class Payload>
class TreeCore {
public:
    [[nodiscard]] constexpr PhysicalCore id() const noexcept { return id_; }
    /// The number users give the core. See UserCore.
    [[nodiscard]] constexpr UserCore user() const noexcept { return user_; }
    /// The device the core is on. Null for a core that was never owned.
    [[nodiscard]] constexpr const TreeDevice* device() const noexcept { return device_; }

    [[no_unique_address]] Payload payload{};

private:
    template <std::uint32_t, std::uint32_t, class, class>
    friend class ContextTree;

    PhysicalCore id_{};
    UserCore user_{};
    const TreeDevice* device_ = nullptr;
};

} // namespace v0
} // namespace neuronbook
