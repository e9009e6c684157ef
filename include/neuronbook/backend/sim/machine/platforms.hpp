// SPDX-License-Identifier: Apache-2.0
//
// Which platform the driver takes a server for, by the product name of its DMI table.
// Owns: the names each release knows. Does not own: what follows from a platform.
// Layer: backend (simulated kernel).   Source: driver-abi.md 5.11
#pragma once

#include <array>
#include <string_view>

#include "neuronbook/backend/sim/machine/release.hpp"
#include "neuronbook/base/architecture.hpp"
#include "neuronbook/base/instance.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// A name that a product name begins with.
struct PlatformName {
    std::string_view front;
    Architecture architecture;
    Platform platform;
    Release since = Release::V2_24_7;
    Release until = Release::V2_30_2;
};

inline constexpr auto kPlatformNames = [] {
    using enum Platform;
    constexpr auto kTrn2 = Architecture::Cayman;
    constexpr auto kTrn3 = Architecture::Mariana;
    constexpr auto k26 = Release::V2_26_5;
    constexpr auto k30 = Release::V2_30_2;
    return std::array{
        PlatformName{"trn2p.48xlarge", kTrn2, UltraServer},
        PlatformName{"trn2eu.48xlarge", kTrn2, UltraServer},
        PlatformName{"trn2u.48xlarge", kTrn2, UltraServer},
        PlatformName{"trn2u-ac.24xlarge", kTrn2, UltraServer},
        PlatformName{"trn2es.48xlarge", kTrn2, Pds, k26},
        PlatformName{"trn2en.24xlarge", kTrn2, Max, k30},
        PlatformName{"trn3p.48xlarge", kTrn3, UltraServer, k26},
        PlatformName{"trn3s.48xlarge", kTrn3, Pds, k26, k26}, // 2.30 calls it standard
        PlatformName{"trn3-dev0.48xl", kTrn3, Pds, k26, k26}, // compared by 14 characters
        PlatformName{"trn3.48xlarge", kTrn3, Pds, k30},
        PlatformName{"trn3-dev0.48xlarge", kTrn3, Pds, k30},
        PlatformName{"trn3-dev1.48xlarge", kTrn3, Pds, k30},
        PlatformName{"trn3s-es.48xlarge", kTrn3, Pds, k30},
        PlatformName{"trn3sn.48xlarge", kTrn3, Pds, k30},
        PlatformName{"trn3sn-es.48xlarge", kTrn3, Pds, k30},
        PlatformName{"trn3e.24xlarge", kTrn3, Max, k30},
        PlatformName{"trn3e-dev0.24xlarge", kTrn3, Max, k30},
    };
}();

/// The platform of a product name; Standard for every other name, and for the second generation.
/// `forced`: force_userver, which only the third generation looks at.
[[nodiscard]] constexpr Platform platform_of(std::string_view product, Architecture architecture,
                                             Release release, bool forced) {
    if (architecture == Architecture::Cayman && forced) return Platform::UltraServer;
    for (const auto& row : kPlatformNames)
        if (row.architecture == architecture && row.since <= release && release <= row.until &&
            product.substr(0, row.front.size()) == row.front)
            return row.platform;
    return Platform::Standard;
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
