// SPDX-License-Identifier: Apache-2.0
//
// The pod that joins several servers to one machine.
// Owns: the plain data. Does not own: where it comes from (backend/) or hangs (topology/).
// Layer: base.   Source: tables.md 4, driver-abi.md 5.12
#pragma once

#include <cstdint>

namespace neuronbook {
inline namespace v0 {

/// The pod a server belongs to, as the driver elected it. The numbers are the driver's.
struct Pod {
    enum class Type : std::uint32_t { None = 0, PeerToPeer = 1, Switch = 2 };
    enum class State : std::uint32_t { NotStarted, InProgress, UltraServer, Failed, SingleNode };
    enum class Mode : std::uint32_t { Unset = 0, X4 = 1, X2H = 2, X2V = 3, X1 = 4 };

    Type type = Type::None; ///< libnrt: pod_type
    State state = State::NotStarted;
    Mode mode = Mode::Unset;       ///< libnrt: pod_mode
    std::uint32_t size = 0;        ///< servers; 0 outside a pod. libnrt: pod_sz
    std::int32_t node = -1;        ///< -1 outside a pod. libnrt: pod_node_id
    std::uint64_t reservation = 0; ///< first eight bytes of the pod's id. libnrt: reservation_id
};

} // namespace v0
} // namespace neuronbook
