// SPDX-License-Identifier: Apache-2.0
//
// What does a copy between a program and a device cost beside memcpy()? By each plan, over the
// simulated kernel, whose engine is one more memcpy() in the calling thread, or in its own. All
// buffers have been touched before. Wall time counts: a second thread's is not free.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

#include "neuronbook/backend/ioctl_driver.hpp"
#include "neuronbook/backend/sim/kernel.hpp"
#include "neuronbook/backend/sim/port.hpp"
#include "neuronbook/dmem/copy/copy_engine.hpp"
#include "parked.hpp"

namespace {

using namespace neuronbook;

constexpr std::uint64_t kSize = std::uint64_t{64} << 20;
constexpr HostDeviceId kDevice{0};
using Driver = IoctlDriver<SimPort>;

enum class Way { In, Out };

/// A program's two buffers, the same for all: from where in memory a copy comes counts, too.
struct Buffers {
    std::vector<std::byte> from = std::vector<std::byte>(kSize, std::byte{1});
    std::vector<std::byte> to = std::vector<std::byte>(kSize, std::byte{2});
};
Buffers& buffers() {
    static Buffers both;
    return both;
}

/// A device and a chunk of it, all of whose pages have been touched.
struct Ends {
    explicit Ends(bool dma_thread)
        : kernel(SimKernel::make({.driver_version = "2.24.7", .dma_thread = dma_thread}).value()),
          driver(SimPort(*kernel)) {
        if (!driver.connect() || !driver.open_device(kDevice))
            throw std::runtime_error("the simulated driver does not come up");
        const auto made = driver.allocate(kDevice, {.size = Bytes{kSize}, .category = 12});
        if (!made || !driver.write(kDevice, *made, Bytes{0}, buffers().from))
            throw std::runtime_error("no chunk");
        chunk = *made;
    }

    std::unique_ptr<SimKernel> kernel;
    Driver driver;
    Chunk chunk{};
};

enum class Engine { InTheCall, OnAThread };

template <Engine kEngine>
Ends& ends() {
    static Ends one(kEngine == Engine::OnAThread);
    return one;
}

void done(benchmark::State& state) {
    state.SetItemsProcessed(state.iterations());
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kSize));
}

void plain(benchmark::State& state) {
    auto& bytes = buffers();
    for (auto _ : state) {
        std::memcpy(bytes.to.data(), bytes.from.data(), kSize);
        benchmark::DoNotOptimize(bytes.to.data());
        benchmark::ClobberMemory();
    }
    done(state);
}

template <class Plan, Way kWay, Engine kEngine = Engine::InTheCall>
void by(benchmark::State& state) {
    auto& there = ends<kEngine>();
    auto& here = buffers();
    CopyEngine<Driver, Plan> engine(there.driver, kDevice, CoreIndex{0});
    for (auto _ : state) {
        const auto moved = kWay == Way::In ? engine.write(there.chunk, Bytes{0}, here.from)
                                           : engine.read(there.chunk, Bytes{0}, here.to);
        if (!moved) state.SkipWithError("refused");
        benchmark::ClobberMemory();
    }
    done(state);
}

BENCHMARK(plain)->UseRealTime();
BENCHMARK(by<SynchronousPlan, Way::In>)->Name("synchronous/in")->UseRealTime();
BENCHMARK(by<SynchronousPlan, Way::Out>)->Name("synchronous/out")->UseRealTime();
BENCHMARK(by<OneBufferPlan, Way::In>)->Name("one_buffer/in")->UseRealTime();
BENCHMARK(by<OneBufferPlan, Way::Out>)->Name("one_buffer/out")->UseRealTime();
BENCHMARK(by<StagedPlan, Way::In>)->Name("staged/in")->UseRealTime();
BENCHMARK(by<StagedPlan, Way::Out>)->Name("staged/out")->UseRealTime();
BENCHMARK(by<PipelinedPlan, Way::In, Engine::OnAThread>)->Name("aside/in")->UseRealTime();
BENCHMARK(by<PipelinedPlan, Way::Out, Engine::OnAThread>)->Name("aside/out")->UseRealTime();
BENCHMARK(by<StagedPlan, Way::In, Engine::OnAThread>)->Name("staged_aside/in")->UseRealTime();
BENCHMARK(by<StagedPlan, Way::Out, Engine::OnAThread>)->Name("staged_aside/out")->UseRealTime();

} // namespace

BENCH_MAIN()
