// SPDX-License-Identifier: Apache-2.0
//
// Runs one form of lookup a given number of times and nothing else, for callgrind: instructions of
// two lengths, subtracted and divided, are exact where a clock is not. `loop` reads the query only.
// resolve_probe() is for objdump: what one resolve() compiles to.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "resolve_forms.hpp"

extern "C" [[gnu::noinline]] const bench::Payload* resolve_probe(bench::Forms& forms,
                                                                 neuronbook::PhysicalCore core) {
    return bench::Resolve::find(forms, core);
}

namespace {

using namespace bench;

struct Loop {
    static void* find(Forms&, PhysicalCore core) {
        asm volatile("" : : "r"(core.device.value()), "r"(core.core.value()));
        return nullptr;
    }
};

template <class Form>
void repeat(long times) {
    const auto forms = std::make_unique<Forms>();
    const auto queries = std::make_unique<Queries>();
    Forms& those = *forms;
    const auto& list = queries->list;
    for (long i = 0; i < times; ++i)
        use(Form::find(those, list[static_cast<unsigned>(i) % kQueries]));
}

} // namespace

int main(int count, char** words) {
    const std::string_view form = count == 3 ? words[1] : "";
    const long times = count == 3 ? std::atol(words[2]) : 0;
    if (form == "loop")
        repeat<Loop>(times);
    else if (form == "resolve")
        repeat<Resolve>(times);
    else if (form == "table")
        repeat<RawTable>(times);
    else
        return std::fprintf(stderr, "usage: resolve_count loop|resolve|table TIMES\n"), 2;
    return resolve_probe(*std::make_unique<Forms>(), core_of(0, 0)) != nullptr ? 0 : 1;
}
