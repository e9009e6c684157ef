// SPDX-License-Identifier: Apache-2.0
// The libFuzzer target: descriptor counts against maps by padded keys.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "fuzz/descriptor_run.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        fuzz::DescriptorRun({data, size}).go();
    } catch (const fuzz::WrongCount& wrong) {
        std::fprintf(stderr, "wrong: %s\n", wrong.what());
        std::abort();
    }
    return 0;
}
