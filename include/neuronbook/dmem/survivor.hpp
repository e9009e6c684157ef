// SPDX-License-Identifier: Apache-2.0
//
// A block that is still there when somebody looks: a row of the leak report.
// Owns: a copy of what is known of the block. Does not own: the block.
// Layer: dmem.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/hint.hpp"
#include "neuronbook/dmem/usage.hpp"

namespace neuronbook {
inline namespace v0 {

/// Plain data.
struct Survivor {
    HostDeviceId device{};
    CoreIndex core{};
    MemoryLocation location = MemoryLocation::Device;
    std::uint32_t hbm = 0;
    Usage usage = Usage::Generic;
    Bytes requested{};
    Bytes charged{};
    DeviceAddress address{};
    Hint hint{};
    std::uint32_t owner = 0;          ///< id of its allocator, as OwnerUsage has it
    std::string_view tier{};          ///< static text, a tag's kName
    Hint label{};                     ///< of the owner
    std::uint64_t number = 0;         ///< of the event that made it; a lower one is older
    std::optional<Nanoseconds> age{}; ///< nothing when time stamps are off
    std::uint32_t handles = 1;        ///< handles that keep it alive
    bool mapped = false;
    std::uint32_t exported = 0; ///< descriptors handed out that are not closed
};

} // namespace v0
} // namespace neuronbook
