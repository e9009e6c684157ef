// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include "neuronbook/backend/ioctl/copy_path.hpp"

using namespace neuronbook;
using detail::CopyPath;

TEST_CASE("pinned pages are used where release, generation and feature word all allow it",
          "[backend][copy]") {
    const struct {
        DriverVersion version;
        std::uint64_t features, features_v2;
        CopyPath large, large_v2;
    } rows[] = {
        {{2, 19, 64}, 0x3F, 0x3F, CopyPath::Bounce32, CopyPath::Bounce32},
        {{2, 24, 7}, 0xFF, 0xFF, CopyPath::Bounce64, CopyPath::Bounce64},
        {{2, 24, 7}, 0x1FF, 0x1FF, CopyPath::Bounce64, CopyPath::Bounce64},
        {{2, 26, 5}, 0x1FF, 0x1FF, CopyPath::Pinned48, CopyPath::Bounce64},
        {{2, 26, 5}, 0xFF, 0xFF, CopyPath::Bounce64, CopyPath::Bounce64},
        {{2, 28, 0}, 0x7FF, 0x7FF, CopyPath::Pinned48, CopyPath::Bounce64},
        {{2, 30, 2}, 0x1FFF, 0x7FF, CopyPath::Pinned64, CopyPath::Bounce64},
        // the module was told to let the second generation do it
        {{2, 30, 2}, 0x1FFF, 0x1FFF, CopyPath::Pinned64, CopyPath::Pinned64},
    };
    for (const auto& row : rows)
        for (const auto architecture :
             {Architecture::Sunda, Architecture::Cayman, Architecture::Mariana}) {
            INFO(row.version.minor << " " << static_cast<int>(architecture));
            const bool second = architecture == Architecture::Sunda;
            DriverFacts facts{.version = row.version, .architecture = architecture};
            facts.features = second ? row.features_v2 : row.features;
            const auto bounce = facts.features & 0x40 ? CopyPath::Bounce64 : CopyPath::Bounce32;
            const auto large = second ? row.large_v2 : row.large;
            constexpr auto device = MemoryLocation::Device;
            CHECK(detail::copy_path(facts, device, Bytes{65537}) == large);
            CHECK(detail::copy_path(facts, device, Bytes{1ull << 40}) == large);
            CHECK(detail::copy_path(facts, device, Bytes{65536}) == bounce);
            CHECK(detail::copy_path(facts, device, Bytes{0}) == bounce);
            CHECK(detail::copy_path(facts, MemoryLocation::Host, Bytes{1ull << 30}) == bounce);
        }
}
