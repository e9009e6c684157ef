// SPDX-License-Identifier: Apache-2.0
//
// A second thread, asleep for good. While a process has one thread, glibc drops the mutex's atomics
// and libstdc++ the shared_ptr's, which flatters locks 2.5 times and counts 9 times. Every figure
// here is to be that of a program with threads.
#pragma once

#include <benchmark/benchmark.h>
#include <pthread.h>
#include <unistd.h>

namespace bench {

inline bool park_a_thread() {
    pthread_t thread;
    const auto asleep = [](void*) -> void* {
        for (;;) ::pause();
    };
    return ::pthread_create(&thread, nullptr, asleep, nullptr) == 0;
}

} // namespace bench

/// In place of BENCHMARK_MAIN().
#define BENCH_MAIN()                                                                               \
    int main(int argc, char** argv) {                                                              \
        if (!bench::park_a_thread()) return 1;                                                     \
        benchmark::Initialize(&argc, argv);                                                        \
        if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;                          \
        benchmark::RunSpecifiedBenchmarks();                                                       \
        return 0;                                                                                  \
    }
