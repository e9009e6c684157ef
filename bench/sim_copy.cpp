// SPDX-License-Identifier: Apache-2.0
//
// How fast does the simulated kernel move a program's bytes? The yardstick is memcpy() between two
// buffers of the same sizes.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

#include "neuronbook/backend/sim/kernel.hpp"
#include "neuronbook/backend/uapi.hpp"
#include "parked.hpp"

namespace {

using namespace neuronbook;

constexpr std::uint64_t kLargest = std::uint64_t{64} << 20;

enum class Way { In, Out };

/// A chunk and two buffers, all of whose pages have been touched.
class Mover {
public:
    Mover() : from_(kLargest, std::byte{1}), to_(kLargest, std::byte{2}) {
        file_ = submit(OpenRequest{"/dev/neuron0", 2}, trusted_);
        uapi::MemAllocV2MemType64 ask;
        ask.size = kLargest;
        ask.mem_type = static_cast<std::uint32_t>(uapi::MemCategory::TensorsDevice);
        ask.mem_handle = &handle_;
        submit(IoctlRequest{file_, uapi::kMemAllocV2mt64, reinterpret_cast<std::uint64_t>(&ask)},
               trusted_);
        copy(trusted_, Way::In, kLargest);
    }

    void copy(UserMemory& memory, Way way, std::uint64_t size) {
        uapi::MemBufCopy64 ask{
            handle_, way == Way::In ? from_.data() : to_.data(), size, 0, way == Way::In ? 1u : 0u,
            0};
        submit(IoctlRequest{file_, uapi::kMemBufCopy64, reinterpret_cast<std::uint64_t>(&ask)},
               memory);
    }

    void plain(std::uint64_t size) {
        std::memcpy(to_.data(), from_.data(), size);
        benchmark::DoNotOptimize(to_.data());
        benchmark::ClobberMemory();
    }

    TrustedMemory trusted_;
    SelfMemory checked_;

private:
    template <class What>
    std::int64_t submit(const What& what, UserMemory& memory) {
        const auto answer = kernel_->submit({}, {what}, memory, {});
        if (answer.value < 0 || answer.waits) throw std::runtime_error("the kernel refused");
        return answer.value;
    }

    std::unique_ptr<SimKernel> kernel_ = SimKernel::make().value();
    std::vector<std::byte> from_, to_;
    std::int64_t file_ = -1;
    std::uint64_t handle_ = 0;
};

Mover& mover() {
    static Mover one;
    return one;
}

void done(benchmark::State& state) {
    state.SetItemsProcessed(state.iterations());
    state.SetBytesProcessed(state.iterations() * state.range(0));
}

void plain(benchmark::State& state) {
    auto& bytes = mover();
    for (auto _ : state) bytes.plain(static_cast<std::uint64_t>(state.range(0)));
    done(state);
}

template <Way kWay>
void trusted(benchmark::State& state) {
    auto& bytes = mover();
    for (auto _ : state)
        bytes.copy(bytes.trusted_, kWay, static_cast<std::uint64_t>(state.range(0)));
    done(state);
}

template <Way kWay>
void checked(benchmark::State& state) {
    auto& bytes = mover();
    for (auto _ : state)
        bytes.copy(bytes.checked_, kWay, static_cast<std::uint64_t>(state.range(0)));
    done(state);
}

BENCHMARK(plain)->Arg(2 << 20)->Arg(32 << 20);
BENCHMARK(trusted<Way::In>)->Name("trusted/in")->Arg(2 << 20)->Arg(32 << 20);
BENCHMARK(trusted<Way::Out>)->Name("trusted/out")->Arg(2 << 20)->Arg(32 << 20);
BENCHMARK(checked<Way::In>)->Name("checked/in")->Arg(2 << 20)->Arg(32 << 20);
BENCHMARK(checked<Way::Out>)->Name("checked/out")->Arg(2 << 20)->Arg(32 << 20);

} // namespace

BENCH_MAIN()
