// SPDX-License-Identifier: Apache-2.0
// The libFuzzer target: memory operations of a runtime over a simulated kernel.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "fuzz/memory_run.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        fuzz::MemoryRun({data, size}).go();
    } catch (const fuzz::Wrong& wrong) {
        std::fprintf(stderr, "wrong: %s\n", wrong.what());
        std::abort();
    }
    return 0;
}
