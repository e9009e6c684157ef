// SPDX-License-Identifier: Apache-2.0
//
// EC2 instance types: how many devices of which generation.
// Owns: the instance table. Does not own: per-device geometry (architecture.hpp).
// Layer: base.   libnrt: nrt_instance_info. Source: nrt-surface.md 2 and 7, driver-abi.md 5.11
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "neuronbook/base/architecture.hpp"

namespace neuronbook {
inline namespace v0 {

/// Family numbers of the official header.
enum class InstanceFamily : std::uint32_t {
    Unknown = 0,
    Inf1 = 1,
    Trn1 = 2,
    Trn1n = 3,
    Inf2 = 4,
    Trn2 = 5,
    Trn2n = 6,
    Inf2e = 7,
    Trn2p = 8,
    Trn2u = 9,
    Trn2e = 10,
    Trn2eu = 11,
    Trn2ac = 12,
    Trn2uac = 13,
    Trn3 = 14,
    Trn3pds98 = 15,
};

/// How the servers of a machine are joined, as the driver tells platforms apart. The numbers are
/// the driver's of 2.27 and newer.
enum class Platform : std::uint32_t { Standard = 0, UltraServer = 1, Pds = 2, Max = 3 };

/// One instance type.
struct Instance {
    std::string_view name;
    InstanceFamily family;
    Architecture architecture; ///< Invalid: known, but of a generation that is not supported
    std::uint32_t devices;
    Platform platform = Platform::Standard; ///< as driver 2.30 sees it; older ones know fewer
    bool only_lnc2 = false; ///< accepts no other logical core size; no type is known that does
};

inline constexpr std::array kInstances{
    Instance{"inf1.xlarge", InstanceFamily::Inf1, Architecture::Invalid, 1},
    Instance{"inf1.2xlarge", InstanceFamily::Inf1, Architecture::Invalid, 1},
    Instance{"inf1.6xlarge", InstanceFamily::Inf1, Architecture::Invalid, 4},
    Instance{"inf1.24xlarge", InstanceFamily::Inf1, Architecture::Invalid, 16},
    Instance{"inf2.xlarge", InstanceFamily::Inf2, Architecture::Sunda, 1},
    Instance{"inf2.8xlarge", InstanceFamily::Inf2, Architecture::Sunda, 1},
    Instance{"inf2.24xlarge", InstanceFamily::Inf2, Architecture::Sunda, 6},
    Instance{"inf2.48xlarge", InstanceFamily::Inf2, Architecture::Sunda, 12},
    Instance{"trn1.2xlarge", InstanceFamily::Trn1, Architecture::Sunda, 1},
    Instance{"trn1.32xlarge", InstanceFamily::Trn1, Architecture::Sunda, 16},
    Instance{"trn1n.32xlarge", InstanceFamily::Trn1n, Architecture::Sunda, 16},
    Instance{"trn2.3xlarge", InstanceFamily::Trn2, Architecture::Cayman, 1},
    Instance{"trn2.48xlarge", InstanceFamily::Trn2, Architecture::Cayman, 16},
    Instance{"trn2n.48xlarge", InstanceFamily::Trn2n, Architecture::Cayman, 16},
    Instance{"trn2e.48xlarge", InstanceFamily::Trn2e, Architecture::Cayman, 16},
    Instance{"trn2p.48xlarge", InstanceFamily::Trn2p, Architecture::Cayman, 16,
             Platform::UltraServer},
    Instance{"trn2u.48xlarge", InstanceFamily::Trn2u, Architecture::Cayman, 16,
             Platform::UltraServer},
    Instance{"trn2eu.48xlarge", InstanceFamily::Trn2eu, Architecture::Cayman, 16,
             Platform::UltraServer},
    // 16 devices are inferred: the election of an UltraServer waits for that many
    Instance{"trn2u-ac.24xlarge", InstanceFamily::Trn2uac, Architecture::Cayman, 16,
             Platform::UltraServer},
    Instance{"trn2es.48xlarge", InstanceFamily::Trn2e, Architecture::Cayman, 16, Platform::Pds},
    Instance{"trn2en.24xlarge", InstanceFamily::Trn2e, Architecture::Cayman, 4, Platform::Max},
    Instance{"trn3.48xlarge", InstanceFamily::Trn3, Architecture::Mariana, 16, Platform::Pds},
    Instance{"trn3-dev0.48xlarge", InstanceFamily::Trn3, Architecture::Mariana, 16, Platform::Pds},
    Instance{"trn3-dev1.48xlarge", InstanceFamily::Trn3, Architecture::Mariana, 16, Platform::Pds},
    Instance{"trn3s.48xlarge", InstanceFamily::Trn3, Architecture::Mariana, 16},
    Instance{"trn3s-es.48xlarge", InstanceFamily::Trn3, Architecture::Mariana, 16, Platform::Pds},
    Instance{"trn3sn.48xlarge", InstanceFamily::Trn3, Architecture::Mariana, 16, Platform::Pds},
    Instance{"trn3sn-es.48xlarge", InstanceFamily::Trn3, Architecture::Mariana, 16, Platform::Pds},
    Instance{"trn3e.24xlarge", InstanceFamily::Trn3, Architecture::Mariana, 4, Platform::Max},
    Instance{"trn3e-dev0.24xlarge", InstanceFamily::Trn3, Architecture::Mariana, 4, Platform::Max},
    Instance{"trn3s-es.3xlarge", InstanceFamily::Trn3, Architecture::Mariana, 1},
    Instance{"trn3sn.3xlarge", InstanceFamily::Trn3, Architecture::Mariana, 1},
    Instance{"trn3sn-es.3xlarge", InstanceFamily::Trn3, Architecture::Mariana, 1},
    Instance{"trn3p.48xlarge", InstanceFamily::Trn3, Architecture::Mariana, 16,
             Platform::UltraServer},
    Instance{"trn3pd98.3xlarge", InstanceFamily::Trn3pds98, Architecture::Mariana, 1},
};

/// The table's row for a name, or null.
[[nodiscard]] constexpr const Instance* instance_named(std::string_view name) noexcept {
    for (const auto& row : kInstances)
        if (row.name == name) return &row;
    return nullptr;
}

} // namespace v0
} // namespace neuronbook
