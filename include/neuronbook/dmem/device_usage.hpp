// SPDX-License-Identifier: Apache-2.0
//
// Everything a ledger knows of a device at one instant: counters, and who holds them.
// Owns: the figures. Does not own: how they are kept (ledger.hpp) or printed (dmem/report/).
// Layer: dmem.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/hint.hpp"
#include "neuronbook/dmem/ledger_snapshot.hpp"
#include "neuronbook/dmem/usage.hpp"

namespace neuronbook {
inline namespace v0 {

/// What one allocator holds. Plain data.
struct OwnerUsage {
    std::uint32_t id = 0;    ///< of the allocator, or of the model whose tier it is (from 1001)
    std::string_view tier{}; ///< static text, a tag's kName
    Hint label{};            ///< the model's name, or what its maker called the allocator
    CoreIndex core{};
    /// Device memory by usage, charged bytes; column 22 is the sum.
    std::array<std::uint64_t, kUsageColumns> used{};
    Bytes peak{};
    Bytes budget{}; ///< most it may hold; 0 where none is set
    std::uint64_t blocks = 0;
};

/// A device's ledger at one instant. Plain data: reports are made of it, outside all locks.
struct DeviceUsage {
    HostDeviceId device{};
    LedgerSnapshot counters{};
    std::vector<OwnerUsage> owners{};
    std::uint64_t ring_dropped = 0; ///< events that the rings have overwritten
};

} // namespace v0
} // namespace neuronbook
