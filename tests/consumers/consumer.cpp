// SPDX-License-Identifier: Apache-2.0
// What a user's build compiles and runs against the installed headers, kept tiny.
#include <neuronbook/neuronbook.hpp>

#include <cstdio>

int main() {
    using namespace neuronbook;

    const auto kernel = SimKernel::make({.instance = "trn1.2xlarge"});
    if (!kernel) return 1;
    const auto runtime = Runtime<SimDriver>::open({}, SimDriver(SimPort(**kernel)));
    if (!runtime) return 2;

    std::printf("neuronbook %d.%d.%d: %u devices, %u cores\n", kVersion.major, kVersion.minor,
                kVersion.patch, (*runtime)->tree().device_count(), (*runtime)->tree().core_count());
}
