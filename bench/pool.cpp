// SPDX-License-Identifier: Apache-2.0
//
// What does it cost to cut blocks from a large range, against best fit over a tree, against what
// the kernel driver searches, and against the same technique with nothing around it? How many
// requests does fragmentation refuse, and how much host memory does a block take?
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "neuronbook/base/architecture.hpp"
#include "neuronbook/dmem/pool.hpp"
#include "parked.hpp"
#include "pool_forms.hpp"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace {

using namespace neuronbook;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    std::size_t below(std::size_t n) { return next() % n; }
    /// 256 bytes to 64 MiB, as many of each power of two; multiples of 256.
    std::uint64_t size() {
        const double power = 8 + static_cast<double>(next() >> 11) * 0x1p-53 * 18;
        return (static_cast<std::uint64_t>(std::exp2(power)) + 255) & ~std::uint64_t{255};
    }

private:
    std::uint64_t state_;
};

/// A step of a program that keeps a share of the range occupied, with random lifetimes.
struct Step {
    std::uint32_t slot;
    std::uint64_t size; ///< 0: free the slot
};

class Program {
public:
    Program(std::uint64_t target, std::uint64_t seed) : random_(seed), target_(target) {}
    Step next() {
        if (bytes_ < target_) {
            std::uint32_t slot = static_cast<std::uint32_t>(size_.size());
            if (spare_.empty()) {
                size_.push_back(0);
            } else {
                slot = spare_.back();
                spare_.pop_back();
            }
            size_[slot] = random_.size();
            bytes_ += size_[slot];
            live_.push_back(slot);
            return {slot, size_[slot]};
        }
        full_ = true;
        std::swap(live_[random_.below(live_.size())], live_.back());
        const std::uint32_t slot = live_.back();
        live_.pop_back();
        spare_.push_back(slot);
        bytes_ -= size_[slot];
        return {slot, 0};
    }
    [[nodiscard]] bool full() const { return full_; }
    [[nodiscard]] std::size_t live() const { return live_.size(); }

private:
    Random random_;
    std::uint64_t target_, bytes_ = 0;
    bool full_ = false;
    std::vector<std::uint64_t> size_;
    std::vector<std::uint32_t> live_, spare_;
};

struct Driver {
    Result<Chunk> allocate(HostDeviceId, const ChunkRequest& ask) {
        const Chunk chunk{ChunkHandle{1}, DeviceAddress{next}, ask.size, ask.location, ask.hbm};
        next += ask.size.count();
        return chunk;
    }
    Result<void> free(HostDeviceId, const Chunk&) { return {}; }
    [[nodiscard]] bool usable() const noexcept { return true; }
    std::uint64_t next = 4096;
};

/// The whole pool: a handle with its facts for each block, checks, and a lock.
template <class Mutex>
class Front {
public:
    using Handle = Block;
    explicit Front(std::uint64_t range) {
        for (std::uint64_t done = 0; done < range; done += 16 * kGiB)
            if (!pool_.reserve(Bytes{16 * kGiB})) std::abort();
    }
    bool take(std::uint64_t size, Handle& handle) {
        auto block = pool_.allocate({.size = Bytes{size}, .usage = Usage::Tensor, .hint = "layer"});
        if (!block) return false;
        handle = *std::move(block);
        return true;
    }
    void give(Handle& handle) { (void)handle.reset(); }

private:
    Driver driver_;
    Pool<GlobalTag, Driver, PoolTraits<Ledger, Mutex>> pool_{
        driver_, HostDeviceId{0}, PhysicalCore{}, *geometry_of(Architecture::Cayman),
        std::make_shared<Ledger>(HostDeviceId{0},
                                 MemoryOptions{.events = 0, .report_out_of_memory = false}, 2)};
};

std::size_t host_memory() {
    const auto now = ::mallinfo2();
    return now.uordblks + now.hblkhd;
}

std::uint64_t ticks() {
#if defined(__x86_64__)
    _mm_lfence();
    const std::uint64_t now = __rdtsc();
    _mm_lfence();
    return now;
#else
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

/// A form in use: filled to a share, and for a while afterwards.
template <class Form>
class Scene {
public:
    Scene(std::uint64_t range, double share, std::uint64_t seed)
        : program_(static_cast<std::uint64_t>(static_cast<double>(range) * share), seed),
          form_(range) {
        while (!program_.full()) run(program_.next());
        for (int i = 0; i < 40'000; ++i) run(program_.next());
    }
    Step plan() {
        const Step step = program_.next();
        if (step.slot >= slots_.size()) {
            slots_.resize(step.slot + 1);
            there_.resize(step.slot + 1);
        }
        return step;
    }
    /// Requires: planned.
    bool replay(const Step& step) {
        if (step.size != 0) {
            there_[step.slot] = form_.take(step.size, slots_[step.slot]);
            return there_[step.slot] != 0;
        }
        if (there_[step.slot]) form_.give(slots_[step.slot]);
        there_[step.slot] = false;
        return true;
    }
    bool run(const Step& step) {
        if (step.slot >= slots_.size()) {
            slots_.resize(2 * step.slot + 1);
            there_.resize(2 * step.slot + 1);
        }
        return replay(step);
    }
    [[nodiscard]] std::size_t live() const { return program_.live(); }
    /// What the list of slots takes, which is the bench's own.
    [[nodiscard]] std::size_t own() const {
        return slots_.capacity() * sizeof(typename Form::Handle) + there_.capacity();
    }

private:
    Program program_;
    Form form_;
    std::vector<typename Form::Handle> slots_;
    std::vector<char> there_;
};

template <class Form>
Scene<Form>& scene(std::uint64_t range) {
    static std::unique_ptr<Scene<Form>> small, large; // repetitions share one
    auto& there = range == 16 * kGiB ? small : large;
    if (!there) there = std::make_unique<Scene<Form>>(range, 0.80, 7);
    return *there;
}

/// An allocation or a free, 80 % of `state.range(0)` GiB occupied.
template <class Form>
void churn(benchmark::State& state, std::size_t batch) {
    auto& at = scene<Form>(static_cast<std::uint64_t>(state.range(0)) * kGiB);
    std::vector<Step> steps(batch);
    std::size_t refused = 0;
    for (auto _ : state) {
        for (auto& step : steps) step = at.plan();
        const auto begin = std::chrono::steady_clock::now();
        for (const auto& step : steps) refused += at.replay(step) ? 0 : 1;
        const auto end = std::chrono::steady_clock::now();
        state.SetIterationTime(std::chrono::duration<double>(end - begin).count());
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(batch));
    state.counters["refused"] = static_cast<double>(refused);
}

/// Each operation by itself, with the clock's own 20 ns or so: how far the slowest of a hundred is
/// from the middle one, at worst of taking and giving.
template <class Form>
void tail(benchmark::State& state) {
    auto& at = scene<Form>(static_cast<std::uint64_t>(state.range(0)) * kGiB);
    std::vector<double> found;
    for (auto _ : state)
        for (int round = 0; round < 5; ++round) {
            std::vector<std::uint64_t> times[2];
            for (auto& some : times) some.reserve(40'000);
            std::vector<Step> steps(80'000);
            for (auto& step : steps) step = at.plan();
            const auto timed = steps.begin() + 40'000; // the others bring it back into the caches
            for (auto step = steps.begin(); step != timed; ++step) at.replay(*step);
            for (auto step = timed; step != steps.end(); ++step) {
                const std::uint64_t begin = ticks();
                at.replay(*step);
                times[step->size != 0].push_back(ticks() - begin);
            }
            double worst = 0;
            for (auto& some : times) {
                std::sort(some.begin(), some.end());
                worst = std::max(worst, static_cast<double>(some[some.size() * 99 / 100]) /
                                            static_cast<double>(some[some.size() / 2]));
            }
            found.push_back(worst);
        }
    std::sort(found.begin(), found.end());
    state.counters["p99_over_p50"] = found[found.size() / 2];
}

/// Per cent of requests refused while a share of the range stays occupied, over several programs.
template <class Form>
double refusals(std::uint64_t range, double share) {
    std::size_t asked = 0, refused = 0;
    for (std::uint64_t seed = 500; seed < 505; ++seed) {
        Form form(range);
        Random random(seed);
        struct Held {
            typename Form::Handle handle;
            std::uint64_t size;
        };
        std::vector<Held> held;
        std::uint64_t bytes = 0;
        const std::size_t rounds = range / (16 * kGiB) * 20'000;
        for (std::size_t i = 0; i < rounds; ++i) {
            if (static_cast<double>(bytes) < share * static_cast<double>(range)) {
                Held one{{}, random.size()};
                const bool met = form.take(one.size, one.handle);
                asked += i > rounds / 4;
                refused += !met && i > rounds / 4;
                if (met) {
                    bytes += one.size;
                    held.push_back(one);
                    continue;
                }
            }
            std::swap(held[random.below(held.size())], held.back());
            form.give(held.back().handle);
            bytes -= held.back().size;
            held.pop_back();
        }
    }
    return 100.0 * static_cast<double>(refused) / static_cast<double>(asked);
}

void fragmentation(benchmark::State& state) {
    for (auto _ : state) {
        const double ours = refusals<bench::Segregated>(16 * kGiB, 0.90);
        state.counters["at_90"] = ours;
        state.counters["points_over_best_fit"] = ours - refusals<bench::BestFit>(16 * kGiB, 0.90);
        state.counters["at_80"] = refusals<bench::Segregated>(16 * kGiB, 0.80) +
                                  refusals<bench::Segregated>(96 * kGiB, 0.80);
    }
}

template <class Form>
void memory(benchmark::State& state) {
    for (auto _ : state) {
        const auto range = static_cast<std::uint64_t>(state.range(0)) * kGiB;
        // The program's own lists grow at the same steps whatever the form is.
        struct Nothing {
            using Handle = typename Form::Handle;
            explicit Nothing(std::uint64_t) {}
            bool take(std::uint64_t, Handle&) { return false; }
            void give(Handle&) {}
        };
        const std::size_t before = host_memory();
        auto without = std::make_unique<Scene<Nothing>>(range, 0.80, 7);
        const std::size_t own = host_memory() - before;
        without.reset();
        const std::size_t between = host_memory();
        auto with = std::make_unique<Scene<Form>>(range, 0.80, 7);
        const std::size_t all = host_memory() - between;
        state.counters["bytes_a_block"] =
            static_cast<double>(all - own) / static_cast<double>(with->live());
    }
}

#define FORM(name, form, batch)                                                                    \
    void name(benchmark::State& state) { churn<form>(state, batch); }                              \
    BENCHMARK(name)->Arg(16)->Arg(96)->UseManualTime()
FORM(segregated, bench::Segregated, 8192);
FORM(plain, bench::PlainFit, 8192);
FORM(best_fit, bench::BestFit, 8192);
FORM(first_fit, bench::FirstFit, 512);
FORM(front_locked, Front<std::mutex>, 8192);
FORM(front_unlocked, Front<NoLock>, 8192);
BENCHMARK(tail<bench::Segregated>)->Name("tail/segregated")->Arg(16)->Arg(96)->Iterations(1);
BENCHMARK(tail<bench::PlainFit>)->Name("tail/plain")->Arg(16)->Arg(96)->Iterations(1);
BENCHMARK(fragmentation)->Iterations(1);
BENCHMARK(memory<bench::Segregated>)->Name("memory/fit")->Arg(16)->Arg(96)->Iterations(1);
BENCHMARK(memory<Front<std::mutex>>)->Name("memory/front")->Arg(16)->Arg(96)->Iterations(1);

} // namespace

BENCH_MAIN()
