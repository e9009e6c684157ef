// SPDX-License-Identifier: Apache-2.0
#include "neuronbook/topology/group_size.hpp"

#include "support/catch.hpp"

using namespace neuronbook;

TEST_CASE("C08: a group of 24 cores is legal on inf2 and not on trn1", "[topology][group_size]") {
    const auto& trn1 = *instance_named("trn1.32xlarge");
    for (const std::uint32_t legal : {1u, 2u, 8u, 16u, 32u, 64u, 96u})
        CHECK(is_group_size(trn1, legal));
    for (const std::uint32_t illegal : {0u, 3u, 4u, 7u, 12u, 24u, 31u, 33u, 48u})
        CHECK_FALSE(is_group_size(trn1, illegal));
    for (const std::uint32_t illegal : {34u, 40u, 100u}) CHECK_FALSE(is_group_size(trn1, illegal));
    const auto& small = *instance_named("trn1.2xlarge"); // one device, joined with no other
    for (std::uint32_t cores = 0; cores <= 96; ++cores)
        CHECK(is_group_size(small, cores) == (cores == 1 || cores == 2));
    const auto& inf2 = *instance_named("inf2.48xlarge");
    for (std::uint32_t cores = 1; cores <= 24; ++cores) CHECK(is_group_size(inf2, cores));
    CHECK_FALSE(is_group_size(inf2, 0));
    CHECK_FALSE(is_group_size(inf2, 25));
}

TEST_CASE("where no rule is published a group is a power of two that the machine has",
          "[topology][group_size]") {
    const auto& trn2 = *instance_named("trn2.48xlarge");
    CHECK(is_group_size(trn2, 64, 2));
    CHECK_FALSE(is_group_size(trn2, 128, 2));
    CHECK(is_group_size(trn2, 128, 1));
    CHECK_FALSE(is_group_size(trn2, 24, 2));
    CHECK_FALSE(is_group_size(*instance_named("inf1.24xlarge"), 4));
    CHECK_FALSE(is_group_size(trn2, 4, 0));
}
