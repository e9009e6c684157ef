// SPDX-License-Identifier: Apache-2.0
//
// The other servers of a simulated machine, as far as the driver can tell.
// Owns: the options. Does not own: the election (pod_election.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 5.11, 5.12
#pragma once

#include <cstdint>
#include <optional>

namespace neuronbook {
inline namespace v0 {

/// Servers that may be joined with this one. The first four say something on an UltraServer, whose
/// servers elect a pod over two links each; the others where a switch joins them (PDS and MAX).
struct SimPod {
    /// Links with a server at the other end. One makes a pod of two, both one of four.
    enum class Links : std::uint8_t { None, Right, Left, Both };
    /// Whether the election at load is over when the kernel starts, or begins then.
    enum class Election : std::uint8_t { Over, AtLoad };

    Links links = Links::None;
    Election election = Election::Over;
    std::uint32_t node = 0; ///< number of this server among those of the pod
    std::uint64_t serial = 0x0000fa4e005e0001;

    /// Number of this server as its firmware says it, 15 bits; nothing: not valid, and then no
    /// device appears.
    std::optional<std::uint32_t> server = 0;
    std::uint32_t servers = 0;     ///< as the firmware says, for 2.30; 0: it does not know
    std::uint64_t reservation = 0; ///< as the firmware says, for 2.30; 0: it does not know
};

} // namespace v0
} // namespace neuronbook
