// SPDX-License-Identifier: Apache-2.0
//
// What do a tree and a runtime take of the host's memory? Counters in bytes; the times say nothing.
#include <malloc.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include "neuronbook/neuronbook.hpp"
#include "parked.hpp"

namespace {

std::int64_t held = 0; // bytes that this program holds, as malloc rounds them
bool counting = true;  // off inside the simulated kernel, whose memory is not the library's

void* take(std::size_t size, std::size_t align) {
    void* bytes = std::aligned_alloc(align, (size + align - 1) / align * align);
    if (!bytes) throw std::bad_alloc();
    if (counting) held += static_cast<std::int64_t>(::malloc_usable_size(bytes));
    return bytes;
}

void give_back(void* bytes) {
    if (counting) held -= static_cast<std::int64_t>(::malloc_usable_size(bytes));
    std::free(bytes);
}

} // namespace

void* operator new(std::size_t size) { return take(size, 16); }
void* operator new(std::size_t size, std::align_val_t align) {
    return take(size, static_cast<std::size_t>(align));
}
void operator delete(void* bytes) noexcept { give_back(bytes); }
void operator delete(void* bytes, std::size_t) noexcept { give_back(bytes); }
void operator delete(void* bytes, std::align_val_t) noexcept { give_back(bytes); }
void operator delete(void* bytes, std::size_t, std::align_val_t) noexcept { give_back(bytes); }

namespace {

using namespace neuronbook;

struct NotCounted {
    template <class F>
    std::int64_t around(const PortEvent&, F call) {
        counting = false;
        const auto answer = call();
        counting = true;
        return answer;
    }
};
using QuietPort = DecoratedPort<SimPort, NotCounted>;
using QuietDriver = IoctlDriver<QuietPort>;

/// A tree in which nothing hangs.
void tree(benchmark::State& state) {
    for (auto _ : state) {}
    state.counters["bytes"] = sizeof(ContextTree<32, 8>);
}

/// A runtime that is up on one trn1.2xlarge, all that it made with it.
void runtime(benchmark::State& state) {
    const auto kernel = SimKernel::make({.instance = "trn1.2xlarge"}).value();
    for (auto _ : state) {
        const auto before = held;
        QuietDriver driver(QuietPort(SimPort(*kernel), {}));
        const auto up = Runtime<QuietDriver>::open(RuntimeOptions{}, std::move(driver));
        if (!up) return state.SkipWithError("the runtime did not come up");
        state.counters["bytes"] = static_cast<double>(held - before);
        state.counters["object"] = sizeof(**up); // of these, the object itself
    }
}

BENCHMARK(tree)->Iterations(1);
BENCHMARK(runtime)->Iterations(1);

} // namespace

BENCH_MAIN()
