// SPDX-License-Identifier: Apache-2.0
//
// Which logical core size is in force: the machine's rules against what was configured.
// Owns: the rules. Does not own: where a wish comes from (runtime_options.hpp), the arithmetic
// (lnc_size.hpp). Layer: topology.   Source: tables.md 12 and 22, nrt-surface.md 7.1
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "neuronbook/base/architecture.hpp"
#include "neuronbook/base/instance.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/topology/lnc_size.hpp"

namespace neuronbook {
inline namespace v0 {

/// Whether every instance type of a family takes no other size than 2. False for a family that the
/// table does not have: the driver does not always tell.
[[nodiscard]] constexpr bool takes_only_lnc2(InstanceFamily family,
                                             std::span<const Instance> table = kInstances) {
    bool known = false;
    for (const Instance& row : table) {
        if (row.family != family) continue;
        if (!row.only_lnc2) return false;
        known = true;
    }
    return known;
}

/// The size that is wished for, or the generation's own. `most` is the largest the program was
/// built for; no generation takes more than its own bound, second-generation devices only 1.
/// Errors: INVALID with LncSizeInvalid (value: the size, limit: the bound), or LncOnlyTwo on an
/// instance that takes no other. libnrt: parse_vnc_config.
/// Differs: a size of 2 on a second-generation device is refused, the original takes 1 silently.
[[nodiscard]] constexpr Result<LncSize> choose_lnc_size(const Geometry& geometry,
                                                        std::uint32_t most, bool only_lnc2,
                                                        std::optional<std::uint32_t> wish) {
    const std::uint32_t limit = std::min(most, geometry.max_lnc_size);
    const std::uint32_t size = wish ? *wish : std::min(geometry.default_lnc_size, limit);
    auto made = LncSize::make(size, limit, geometry.cores);
    if (made && only_lnc2 && size != 2)
        return fail({.status = Status::Invalid,
                     .operation = Operation::BringUp,
                     .detail = Detail::LncOnlyTwo,
                     .value = size,
                     .limit = 2});
    return made;
}

} // namespace v0
} // namespace neuronbook
