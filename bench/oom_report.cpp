// SPDX-License-Identifier: Apache-2.0
//
// How long does the report of a failed allocation keep its thread? On a machine of 32 devices with
// 8 cores each, every core with 64 owners, each of which holds something of every kind.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "neuronbook/base/architecture.hpp"
#include "neuronbook/dmem/device_usage.hpp"
#include "neuronbook/dmem/report/diagnosis.hpp"
#include "neuronbook/dmem/report/oom_report.hpp"
#include "parked.hpp"

namespace {

using namespace neuronbook;

constexpr std::uint32_t kDevices = 32;
constexpr std::uint32_t kCores = 8;
constexpr std::uint32_t kOwners = 64;

std::vector<DeviceUsage> machine() {
    std::vector<DeviceUsage> all;
    std::uint64_t seed = 1;
    for (std::uint32_t d = 0; d < kDevices; ++d) {
        DeviceUsage device{.device = HostDeviceId{d}};
        for (std::uint32_t c = 0; c < kCores; ++c)
            for (std::uint32_t o = 0; o < kOwners; ++o) {
                OwnerUsage owner{.id = 1001 + o, .tier = "model", .label = Hint("a_model")};
                owner.core = CoreIndex{c};
                owner.blocks = kUsages;
                for (std::uint32_t u = 0; u < kUsages; ++u) {
                    seed = seed * 6364136223846793005u + 1442695040888963407u;
                    const std::uint64_t bytes = (seed >> 40) & ~std::uint64_t{4095};
                    owner.used[u] = bytes;
                    owner.used[kUsages] += bytes;
                    device.counters.by_core[c][u] += bytes;
                    device.counters.by_core[c][kUsages] += bytes;
                    device.counters.on_channel[c / 2] += bytes;
                }
                device.owners.push_back(owner);
            }
        all.push_back(std::move(device));
    }
    return all;
}

void report(benchmark::State& state) {
    const auto devices = machine();
    const Geometry& geometry = *geometry_of(Architecture::Cayman);
    const FailedRequest request{.requested = Bytes{1u << 30}, .asked = Bytes{1u << 30}};
    const Diagnosis said = diagnose(request, geometry, devices.front(), nullptr);
    std::size_t bytes = 0;
    for (auto _ : state) {
        const std::string text = oom_report(said, geometry, 2, std::span(devices), nullptr);
        bytes = text.size();
        benchmark::DoNotOptimize(text.data());
    }
    state.SetItemsProcessed(state.iterations());
    state.counters["bytes"] = static_cast<double>(bytes);
}

BENCHMARK(report)->Unit(benchmark::kMillisecond);

} // namespace

BENCH_MAIN()
