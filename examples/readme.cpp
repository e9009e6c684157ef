// SPDX-License-Identifier: Apache-2.0
// The program of the README, word for word; tests/lint/check_readme.py compares.
#include "neuronbook/neuronbook.hpp"
#include <cstdio>

int main() {
    using namespace neuronbook;
    auto kernel = SimKernel::make({.instance = "trn1.2xlarge"});
    if (!kernel) return 1;
    auto runtime = Runtime<SimDriver>::open({}, SimDriver(SimPort(**kernel)));
    if (!runtime) return 1; // the log has said why
    const PhysicalCore core{DeviceIndex{0}, CoreIndex{1}};
    auto model = (*runtime)->model_allocator(core);
    if (!model) return 1;
    auto weights = (*model)->allocate({.size = Bytes{5'000'000}, .usage = Usage::Weight});
    if (!weights) return std::puts(describe(weights.error()).c_str()), 1;
    const auto memory = (*runtime)->memory(core);
    std::printf("%s at 0x%llx, core uses %s of %s\n", human(weights->requested()).c_str(),
                static_cast<unsigned long long>(weights->address().value()),
                human(memory->used).c_str(), human(memory->limit).c_str());
}
