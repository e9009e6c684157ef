// SPDX-License-Identifier: Apache-2.0
// Catch2 under one name: version 3 where it is installed, else the single header of version 2.
// Tests keep to what both have: TEST_CASE, SECTION, REQUIRE, CHECK, GENERATE, TEMPLATE_TEST_CASE.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
