// SPDX-License-Identifier: Apache-2.0
//
// What does the library add to a driver's allocation and free? Here the driver does nothing, so
// all that is left is the front: record, counters, peaks, event, budget, locks. A pair of lock and
// unlock is the measure.
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "neuronbook/base/architecture.hpp"
#include "neuronbook/dmem/allocator.hpp"
#include "parked.hpp"

namespace {

using namespace neuronbook;

struct NoDriver {
    std::uint32_t hbm = 0;

    Result<Chunk> allocate(HostDeviceId, const ChunkRequest&) {
        return Chunk{ChunkHandle{1}, DeviceAddress{4096}, Bytes{4096}, MemoryLocation::Device, hbm};
    }
    Result<void> free(HostDeviceId, const Chunk&) { return {}; }
    [[nodiscard]] bool usable() const noexcept { return true; }
};

constexpr std::uint32_t kBatch = 256;

/// A device of a generation, and the allocators of its cores.
struct Device {
    explicit Device(Architecture generation, const MemoryOptions& options)
        : geometry(*geometry_of(generation)),
          ledger(std::make_shared<Ledger>(HostDeviceId{0}, options, geometry.cores_per_hbm)) {
        for (std::uint32_t c = 0; c < geometry.cores; ++c) {
            drivers[c].hbm = geometry.default_hbm(CoreIndex{c});
            cores[c].emplace(drivers[c], HostDeviceId{0},
                             PhysicalCore{DeviceIndex{0}, CoreIndex{c}}, geometry, ledger);
        }
    }

    std::array<NoDriver, 8> drivers;
    const Geometry& geometry;
    std::shared_ptr<Ledger> ledger;
    std::array<std::optional<Allocator<GlobalTag, NoDriver>>, 8> cores;
};

void work(benchmark::State& state, Device& device, std::uint32_t core) {
    auto& allocator = *device.cores[core];
    // One block in the middle of many, as in a program that holds some.
    std::array<Block, 64> held;
    for (auto& block : held) block = *allocator.allocate({.size = Bytes{1}});
    for (auto _ : state)
        for (std::uint32_t i = 0; i < kBatch; ++i) {
            auto block = allocator.allocate(
                {.size = Bytes{4096}, .usage = Usage::Tensor, .hint = "layer.12/weights.0000:00"});
            if (!block) std::abort();
            held[i % held.size()] = *std::move(block);
        }
    state.SetItemsProcessed(state.iterations() * kBatch * 2);
}

void lock_pair(benchmark::State& state) {
    std::mutex mutex;
    for (auto _ : state)
        for (std::uint32_t i = 0; i < 2 * kBatch; ++i) {
            mutex.lock();
            benchmark::DoNotOptimize(mutex);
            mutex.unlock();
        }
    state.SetItemsProcessed(state.iterations() * kBatch * 2);
}

void front(benchmark::State& state, const MemoryOptions& options) {
    Device device(Architecture::Sunda, options);
    work(state, device, 0);
}

/// Threads on the given cores of one device.
void together(benchmark::State& state, Architecture generation, std::uint32_t step) {
    static Device* device = nullptr;
    if (state.thread_index() == 0) device = new Device(generation, {});
    static std::atomic<int> ready{0};
    ++ready;
    while (ready < state.threads()) {}
    work(state, *device, static_cast<std::uint32_t>(state.thread_index()) * step);
    if (--ready == 0) delete std::exchange(device, nullptr);
    while (ready != 0) {}
}

BENCHMARK(lock_pair);
BENCHMARK_CAPTURE(front, no_budget, MemoryOptions{});
BENCHMARK_CAPTURE(front, budget, MemoryOptions{.core_budget = Bytes{1u << 30}});
BENCHMARK_CAPTURE(front, untimed, MemoryOptions{.stamps = Stamps::None});
BENCHMARK_CAPTURE(front, untimed_budget,
                  MemoryOptions{.stamps = Stamps::None, .core_budget = Bytes{1u << 30}});
BENCHMARK_CAPTURE(front, ticks, MemoryOptions{.stamps = Stamps::Ticks});
BENCHMARK_CAPTURE(together, other_hbm, Architecture::Sunda, 1)
    ->Threads(1)
    ->Threads(2)
    ->UseRealTime();
BENCHMARK_CAPTURE(together, same_hbm, Architecture::Cayman, 1)->Threads(2)->UseRealTime();

} // namespace

BENCH_MAIN()
