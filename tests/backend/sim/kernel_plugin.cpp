// SPDX-License-Identifier: Apache-2.0
// A shared object that makes kernels of its own: built twice, each with everything hidden.
#include "neuronbook/backend/sim/kernel.hpp"

extern "C" [[gnu::visibility("default")]] neuronbook::SimKernel* make_kernel() {
    auto made = neuronbook::SimKernel::make();
    return made ? made->release() : nullptr;
}
