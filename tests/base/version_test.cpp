// SPDX-License-Identifier: Apache-2.0
#include <type_traits>

#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/version.hpp"
#include "support/catch.hpp"

// The library lives in an inline namespace, so that two versions in one process stay apart.
static_assert(std::is_same_v<neuronbook::PhysicalCore, neuronbook::v0::PhysicalCore>);

TEST_CASE("the version macros and the version constant agree", "[base][version]") {
    CHECK(neuronbook::kVersion.major == NEURONBOOK_VERSION_MAJOR);
    CHECK(neuronbook::kVersion.minor == NEURONBOOK_VERSION_MINOR);
    CHECK(neuronbook::kVersion.patch == NEURONBOOK_VERSION_PATCH);
}
