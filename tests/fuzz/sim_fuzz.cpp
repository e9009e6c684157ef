// SPDX-License-Identifier: Apache-2.0
// The libFuzzer target: requests of all kinds on a simulated kernel.
#include <cstdio>
#include <cstdlib>

#include "fuzz/run.hpp"

// libFuzzer takes a pair reached for the first time for new coverage
__attribute__((section("__libfuzzer_extra_counters"))) static std::uint8_t pairs[fuzz::kPairs];

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        fuzz::Run({data, size}, pairs).go();
    } catch (const fuzz::Broken& broken) {
        std::fprintf(stderr, "broken: %s\n", broken.what());
        std::abort();
    }
    return 0;
}
