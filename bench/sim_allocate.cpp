// SPDX-License-Identifier: Apache-2.0
//
// How long does the simulated kernel take to answer an allocation, with many chunks alive and every
// hole before the free end too small? First fit by a list would walk them all.
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <vector>

#include "neuronbook/backend/sim/kernel.hpp"
#include "neuronbook/backend/uapi.hpp"
#include "parked.hpp"

namespace {

using namespace neuronbook;

/// One process on one device, all of whose chunks lie in the pool for small pieces.
class Crowd {
public:
    /// Two chunks of a page and a hole of a page in turn, `live` chunks in all.
    explicit Crowd(std::int64_t live) {
        file_ = submit(OpenRequest{"/dev/neuron0", 2});
        std::vector<std::uint64_t> holes;
        for (std::int64_t i = 0; i < live + live / 2; ++i) {
            const auto handle = allocate(kPage);
            if (i % 3 == 2) holes.push_back(handle);
        }
        for (const auto handle : holes) free(handle);
    }

    std::uint64_t allocate(std::uint64_t size) {
        std::uint64_t handle = 0;
        uapi::MemAllocV2MemType64 ask;
        ask.size = size;
        ask.mem_type = static_cast<std::uint32_t>(uapi::MemCategory::TensorsDevice);
        ask.mem_handle = &handle;
        ioctl(uapi::kMemAllocV2mt64, &ask);
        return handle;
    }

    void free(std::uint64_t handle) {
        uapi::MemFree ask{handle};
        ioctl(uapi::kMemFree, &ask);
    }

    static constexpr std::uint64_t kPage = 4096;

private:
    void ioctl(std::uint32_t word, void* argument) {
        submit(IoctlRequest{file_, word, reinterpret_cast<std::uint64_t>(argument)});
    }

    template <class What>
    std::int64_t submit(const What& what) {
        const auto answer = kernel_->submit({}, {what}, memory_, {});
        if (answer.value < 0 || answer.waits) throw std::runtime_error("the kernel refused");
        return answer.value;
    }

    std::unique_ptr<SimKernel> kernel_ = SimKernel::make().value();
    TrustedMemory memory_;
    std::int64_t file_ = -1;
};

/// Allocations of two pages, `state.range(0)` chunks alive. Their release is not timed.
void allocate(benchmark::State& state) {
    static std::map<std::int64_t, std::unique_ptr<Crowd>> crowds; // repetitions share one
    auto& crowd = crowds[state.range(0)];
    if (!crowd) crowd = std::make_unique<Crowd>(state.range(0));
    std::array<std::uint64_t, 64> handles;
    for (auto _ : state) {
        const auto begin = std::chrono::steady_clock::now();
        for (auto& handle : handles) handle = crowd->allocate(2 * Crowd::kPage);
        const auto end = std::chrono::steady_clock::now();
        state.SetIterationTime(std::chrono::duration<double>(end - begin).count());
        for (const auto handle : handles) crowd->free(handle);
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(handles.size()));
}

BENCHMARK(allocate)->Arg(0)->Arg(10'000)->Arg(100'000)->UseManualTime();

} // namespace

BENCH_MAIN()
