// SPDX-License-Identifier: Apache-2.0
//
// The loops of models.cpp once more, for a shared object: a thread's own count costs more to find
// there.
#include <cstdint>
#include <vector>

#include "model_forms.hpp"

using namespace bench;

extern "C" [[gnu::visibility("default")]] void
pairs(const ModelDatabase<Model, ThreadCounts>& models, ModelHandle handle, std::uint32_t times) {
    for (std::uint32_t i = 0; i < times; ++i) {
        handle = anew(handle);
        const auto model = models.acquire(handle);
        use(model->get());
    }
}

extern "C" [[gnu::visibility("default")]] void
dependent_pairs(const ModelDatabase<Model, ThreadCounts>& models, ModelHandle handle,
                std::uint32_t times) {
    static const std::vector<ModelHandle> requests(64, handle);
    std::uint64_t at = 0;
    for (std::uint32_t i = 0; i < times; ++i) {
        const auto model = models.acquire(requests[at % 64]);
        at += 1 + (*model)->step;
    }
    use(at);
}
