// SPDX-License-Identifier: Apache-2.0
//
// What does it cost to get from a core's numbers to its payload? Throughput: lookups that do not
// wait for each other. Latency: each waits for a field read through the one before.
#include <cstdint>
#include <memory>

#include "parked.hpp"
#include "resolve_forms.hpp"

namespace {

using namespace bench;

constexpr std::uint32_t kBatch = 64;

struct Setup {
    Forms forms;
    Queries queries;
};

Setup& setup() {
    // shared, so that every form meets the same addresses and the same order
    static const auto one = std::make_unique<Setup>();
    return *one;
}

template <class Form>
void throughput(benchmark::State& state) {
    auto& [forms, queries] = setup();
    std::uint32_t at = 0;
    for (auto _ : state)
        for (std::uint32_t i = 0; i < kBatch; ++i)
            use(Form::find(forms, queries.list[at++ % kQueries]));
    state.SetItemsProcessed(state.iterations() * kBatch);
}

template <class Form>
void latency(benchmark::State& state) {
    auto& [forms, queries] = setup();
    std::uint32_t at = 0;
    for (auto _ : state)
        for (std::uint32_t i = 0; i < kBatch; ++i)
            at += 1 +
                  static_cast<std::uint32_t>(Form::find(forms, queries.list[at % kQueries])->step);
    benchmark::DoNotOptimize(at);
    state.SetItemsProcessed(state.iterations() * kBatch);
}

BENCHMARK_TEMPLATE(throughput, Resolve)->Name("throughput/resolve");
BENCHMARK_TEMPLATE(throughput, RawTable)->Name("throughput/table");
BENCHMARK_TEMPLATE(throughput, HashMap)->Name("throughput/map");
BENCHMARK_TEMPLATE(latency, Resolve)->Name("latency/resolve");
BENCHMARK_TEMPLATE(latency, RawTable)->Name("latency/table");
BENCHMARK_TEMPLATE(latency, HashMap)->Name("latency/map");

} // namespace

BENCH_MAIN()
