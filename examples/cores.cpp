// SPDX-License-Identifier: Apache-2.0
// Choosing cores, as the README shows it; tests/lint/check_readme.py compares.
#include "neuronbook/neuronbook.hpp"
#include <cstdio>

int main() {
    using namespace neuronbook;
    auto kernel = SimKernel::make({.instance = "trn2.48xlarge"});
    if (!kernel) return 1;
    const RuntimeOptions options{.core_count = 2, .wait_for_cores = Nanoseconds{5'000'000'000}};
    const auto counts = count_cores(options, SimDriver(SimPort(**kernel)));
    auto runtime = Runtime<SimDriver>::open(options, SimDriver(SimPort(**kernel)));
    if (!counts) std::puts(describe(counts.error()).c_str());
    if (!counts || !runtime) return 1; // the log says how many are free, and who is there
    std::printf("%u of %u logical cores\n", counts->visible, counts->total);
    for (const auto& core : (*runtime)->logical_cores().owned())
        if (const auto memory = (*runtime)->memory(core.index))
            std::printf("core %u is %u on the host: %s\n", core.index.value(), core.id.value(),
                        human(memory->limit).c_str());
}
