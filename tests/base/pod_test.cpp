// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "neuronbook/base/pod.hpp"
#include "support/catch.hpp"

using namespace neuronbook;

TEST_CASE("a server is in no pod until the driver says so", "[base][pod]") {
    constexpr Pod pod;
    CHECK(pod.node == -1);
    CHECK(pod.size == 0);
    CHECK(pod.type == Pod::Type::None);
    CHECK(static_cast<std::uint32_t>(Pod::Mode::X4) == 1);
    CHECK(static_cast<std::uint32_t>(Pod::Mode::X2H) == 2);
    CHECK(static_cast<std::uint32_t>(Pod::Mode::X2V) == 3);
    CHECK(static_cast<std::uint32_t>(Pod::Mode::X1) == 4);
}
