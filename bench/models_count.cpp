// SPDX-License-Identifier: Apache-2.0
//
// Runs one form of taking and giving back a reference a given number of times and nothing else, for
// callgrind. model_probe() is for objdump: what one pair compiles to.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "model_forms.hpp"

extern "C" [[gnu::noinline]] void
model_probe(const neuronbook::ModelDatabase<bench::Model, neuronbook::ThreadCounts>& models,
            neuronbook::ModelHandle handle) {
    const auto model = models.acquire(handle);
    bench::use(model->get());
}

namespace {

using namespace bench;

struct Loop {
    template <class Models>
    static void run(const Models&, ModelHandle handle) {
        use(handle.value());
    }
};
struct Pair {
    template <class Models>
    static void run(const Models& models, ModelHandle handle) {
        const auto model = models.acquire(handle);
        use(model->get());
    }
};
struct Lookup {
    template <class Models>
    static void run(const Models& models, ModelHandle handle) {
        use(models.find(handle));
    }
};

template <class Form, class Counts = ThreadCounts>
void repeat(long times) {
    const auto database = std::make_unique<Database<Counts>>(64);
    const auto& models = database->models;
    const auto handle = database->handles[5];
    for (long i = 0; i < times; ++i) Form::run(models, anew(handle));
}

} // namespace

int main(int count, char** words) {
    const std::string_view form = count == 3 ? words[1] : "";
    const long times = count == 3 ? std::atol(words[2]) : 0;
    if (form == "loop")
        repeat<Loop>(times);
    else if (form == "lookup")
        repeat<Lookup>(times);
    else if (form == "shared")
        repeat<Pair, SharedCount>(times);
    else if (form == "threads")
        repeat<Pair>(times);
    else
        return std::fprintf(stderr, "usage: models_count loop|lookup|shared|threads TIMES\n"), 2;
    const auto database = std::make_unique<Database<ThreadCounts>>(1);
    model_probe(database->models, database->handles[0]);
    return 0;
}
