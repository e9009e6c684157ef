// SPDX-License-Identifier: Apache-2.0
// The libFuzzer target: operations on a pool over a driver with little memory.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "fuzz/pool_run.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        fuzz::PoolRun({data, size}).go();
    } catch (const fuzz::WrongPool& wrong) {
        std::fprintf(stderr, "wrong: %s\n", wrong.what());
        std::abort();
    }
    return 0;
}
