// SPDX-License-Identifier: Apache-2.0
//
// What does it cost to get from a core to its logical core, and to read a list of cores? The size
// of a logical core is known at run time only, to both forms.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "neuronbook/topology/core_string.hpp"
#include "neuronbook/topology/lnc_size.hpp"
#include "parked.hpp"

namespace {

using namespace neuronbook;

constexpr std::uint32_t kBatch = 64;

std::uint32_t run_time_size() {
    std::uint32_t size = 2;
    benchmark::DoNotOptimize(size);
    return size;
}

struct ByShift {
    LncSize size = *LncSize::make(run_time_size(), 2, 8);

    [[nodiscard]] std::uint32_t operator()(std::uint32_t core) const {
        return size.logical_of(UserCore{core}).value();
    }
};

struct ByDivision {
    std::uint32_t size = run_time_size();

    [[nodiscard]] std::uint32_t operator()(std::uint32_t core) const { return core / size; }
};

/// Each translation waits for the one before.
template <class Form>
void translate(benchmark::State& state) {
    const Form form;
    std::uint32_t at = 0;
    for (auto _ : state) {
        for (std::uint32_t i = 0; i < kBatch; ++i) at = form(at + 0x1F3 + i);
        benchmark::DoNotOptimize(at);
    }
    state.SetItemsProcessed(state.iterations() * kBatch);
}

void parse(benchmark::State& state) {
    std::string list = "0";
    for (int i = 1; i < 128; ++i) list += "," + std::to_string(i);
    for (auto _ : state) {
        benchmark::DoNotOptimize(list);
        const auto range = parse_visible_cores(list);
        if (!range || range->count != 128) std::abort();
    }
    state.SetItemsProcessed(state.iterations());
}

BENCHMARK_TEMPLATE(translate, ByShift)->Name("translate/shift");
BENCHMARK_TEMPLATE(translate, ByDivision)->Name("translate/division");
BENCHMARK(parse)->Name("parse/128");

} // namespace

BENCH_MAIN()
