// SPDX-License-Identifier: Apache-2.0
// Precompiled for every test executable: only what is outside this repository and slow to read.
// Compiled as a main file, so it has no include guard.
#include "../catch.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>
