// SPDX-License-Identifier: Apache-2.0
//
// What does it cost to keep a model while it is used, and to find and remove one? A pair is taking
// a reference by handle and giving it back; 64 models are loaded. `same`: all threads use one
// model; `own`: each its own.
#include <atomic>
#include <cstdint>
#include <dlfcn.h>
#include <memory>
#include <pthread.h>
#include <sched.h>
#include <thread>
#include <vector>

#include "model_forms.hpp"
#include "parked.hpp"

namespace {

using namespace bench;

constexpr std::uint32_t kModels = 64;
constexpr std::uint32_t kBatch = 64;

enum class Which { Same, Own };

template <Which W>
std::uint32_t pick(const benchmark::State& state) {
    return W == Which::Same ? 5u : 5u + 12u * static_cast<std::uint32_t>(state.thread_index());
}

template <class T>
T& shared(std::uint32_t count = kModels) {
    static const auto one = std::make_unique<T>(count);
    return *one;
}

/// Keeps each of two threads on a core of its own: on one they would take turns and never meet.
class Pinned {
public:
    explicit Pinned(const benchmark::State& state) {
        if (::pthread_getaffinity_np(::pthread_self(), sizeof before_, &before_) != 0) return;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(static_cast<unsigned>(state.thread_index()), &one);
        if (state.threads() != 1)
            (void)::pthread_setaffinity_np(::pthread_self(), sizeof one, &one);
    }
    Pinned(const Pinned&) = delete;
    Pinned& operator=(const Pinned&) = delete;
    ~Pinned() { (void)::pthread_setaffinity_np(::pthread_self(), sizeof before_, &before_); }

private:
    cpu_set_t before_{};
};

void count(benchmark::State& state) { state.SetItemsProcessed(state.iterations() * kBatch); }

template <class Counts, Which W>
void pair(benchmark::State& state) {
    const Pinned pinned(state);
    auto& database = shared<Database<Counts>>();
    auto handle = database.handles[pick<W>(state)];
    for (auto _ : state)
        for (std::uint32_t i = 0; i < kBatch; ++i) {
            handle = anew(handle);
            const auto model = database.models.acquire(handle);
            use(model->get());
        }
    count(state);
}

template <class Counts>
void lookup(benchmark::State& state) {
    auto& database = shared<Database<Counts>>();
    auto handle = database.handles[pick<Which::Same>(state)];
    for (auto _ : state)
        for (std::uint32_t i = 0; i < kBatch; ++i) {
            handle = anew(handle);
            use(database.models.find(handle));
        }
    count(state);
}

/// Which model comes next is known when the one before was looked at, as a thread's requests are.
template <class Form>
void dependent(benchmark::State& state, Form form) {
    auto& database = shared<Database<ThreadCounts>>();
    const std::vector<ModelHandle> requests(kModels, database.handles[pick<Which::Same>(state)]);
    std::uint64_t at = 0;
    for (auto _ : state)
        for (std::uint32_t i = 0; i < kBatch; ++i)
            at += 1 + form(database.models, requests[at % kModels]);
    use(at);
    count(state);
}
void dependent_pair(benchmark::State& state) {
    dependent(state, [](auto& models, ModelHandle handle) {
        const auto model = models.acquire(handle);
        return (*model)->step;
    });
}
void dependent_lookup(benchmark::State& state) {
    dependent(state, [](auto& models, ModelHandle handle) { return models.find(handle)->step; });
}

/// The loops of pair() and of dependent_pair(), in a shared object.
void object_pair(benchmark::State& state, const char* name) {
    static void* const object = ::dlopen(MODELS_OBJECT, RTLD_NOW | RTLD_LOCAL);
    const auto loop = object ? reinterpret_cast<ModelsLoop>(::dlsym(object, name)) : nullptr;
    if (!loop) return state.SkipWithError("no shared object");
    auto& database = shared<Database<ThreadCounts>>();
    const auto handle = database.handles[pick<Which::Same>(state)];
    for (auto _ : state) loop(database.models, handle, kBatch);
    count(state);
}

template <Which W>
void bare(benchmark::State& state) {
    const Pinned pinned(state);
    auto* cells = shared<Counters>().cells.get();
    auto which = pick<W>(state);
    for (auto _ : state)
        for (std::uint32_t i = 0; i < kBatch; ++i) {
            which = anew(which);
            auto& counted = cells[which & (kModels - 1)].count;
            counted.fetch_add(1, std::memory_order_acquire);
            use(&counted);
            counted.fetch_sub(1, std::memory_order_release);
        }
    count(state);
}

template <Which W>
void locked(benchmark::State& state) {
    const Pinned pinned(state);
    auto& table = shared<Locked>();
    auto handle = pick<W>(state) + 1;
    for (auto _ : state)
        for (std::uint32_t i = 0; i < kBatch; ++i) {
            handle = anew(handle);
            Locked::Node* node = nullptr;
            {
                const std::lock_guard lock(table.mutex);
                const auto at = table.set.find(handle);
                if (at != table.set.end()) {
                    node = &*at;
                    node->count.fetch_add(1, std::memory_order_relaxed);
                }
            }
            use(node);
            node->count.fetch_sub(1, std::memory_order_acq_rel);
        }
    count(state);
}

// --- finding ------------------------------------------------------------------------------------

constexpr std::uint32_t kQueries = 4096;

struct Finding {
    explicit Finding(std::uint32_t models) : ours(models) {
        std::uint64_t random = models;
        const auto next = [&] {
            return random = random * 6364136223846793005u + 1442695040888963407u;
        };
        for (const auto handle : ours.handles) map[handle.value()] = ours.models.find(handle);
        for (std::uint32_t i = 0; i < kQueries; ++i) {
            const auto handle = ours.handles[(next() >> 33) % models];
            hits.push_back(handle);
            misses.emplace_back(handle.value() + 0x100'0000u);
        }
    }
    Database<SharedCount> ours;
    absl::flat_hash_map<std::uint32_t, Model*> map;
    std::vector<ModelHandle> hits, misses;
};

Finding& finding(std::uint32_t models) {
    static std::vector<std::pair<std::uint32_t, std::unique_ptr<Finding>>> made;
    for (auto& [size, one] : made)
        if (size == models) return *one;
    return *made.emplace_back(models, std::make_unique<Finding>(models)).second;
}

template <bool Hit>
void find_ours(benchmark::State& state) {
    const auto& one = finding(static_cast<std::uint32_t>(state.range(0)));
    const auto& keys = Hit ? one.hits : one.misses;
    std::uint32_t at = 0;
    for (auto _ : state)
        for (std::uint32_t i = 0; i < kBatch; ++i) {
            use(one.ours.models.find(keys[at++ % kQueries]));
        }
    count(state);
}

template <bool Hit>
void find_map(benchmark::State& state) {
    const auto& one = finding(static_cast<std::uint32_t>(state.range(0)));
    const auto& keys = Hit ? one.hits : one.misses;
    std::uint32_t at = 0;
    for (auto _ : state)
        for (std::uint32_t i = 0; i < kBatch; ++i) {
            const auto found = one.map.find(keys[at++ % kQueries].value());
            use(found == one.map.end() ? nullptr : found->second);
        }
    count(state);
}

// --- removing -----------------------------------------------------------------------------------

/// Of models that nobody holds, beside 64 others; a model is made and added outside the time.
template <class Counts>
void remove_idle(benchmark::State& state) {
    auto& database = shared<Database<Counts>>();
    std::vector<ModelHandle> handles(kBatch);
    std::vector<std::unique_ptr<Model>> removed(kBatch);
    for (auto& model : removed)
        model = std::make_unique<Model>(*process_handles().mint(), "removed");
    for (auto _ : state) {
        state.PauseTiming();
        for (std::uint32_t i = 0; i < kBatch; ++i)
            handles[i] = *database.models.add(std::move(removed[i]));
        state.ResumeTiming();
        for (std::uint32_t i = 0; i < kBatch; ++i) removed[i] = *database.models.remove(handles[i]);
    }
    count(state);
}

/// Unlinked and drained while two other threads take and give back references to it all the time.
template <class Counts>
void remove_hammered(benchmark::State& state) {
    auto& database = shared<Database<Counts>>();
    auto model = std::make_unique<Model>(*process_handles().mint(), "hammered");
    const auto handle = model->handle();
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> pairs{0};
    std::vector<std::thread> readers;
    for (int i = 0; i < 2; ++i)
        readers.emplace_back([&] {
            while (!stop.load(std::memory_order_relaxed))
                for (std::uint32_t k = 0; k < kBatch; ++k)
                    if (const auto held = database.models.acquire(handle))
                        pairs.fetch_add(1, std::memory_order_relaxed);
        });
    for (auto _ : state) {
        state.PauseTiming();
        const auto before = pairs.load(std::memory_order_relaxed);
        (void)database.models.add(std::move(model));
        while (pairs.load(std::memory_order_relaxed) < before + 100) {}
        state.ResumeTiming();
        model = *database.models.remove(handle);
    }
    stop.store(true);
    for (auto& reader : readers) reader.join();
    state.SetItemsProcessed(state.iterations());
}

#define PAIRS(name, ...)                                                                           \
    BENCHMARK_TEMPLATE(__VA_ARGS__)->Name("pair/" name);                                           \
    BENCHMARK_TEMPLATE(__VA_ARGS__)->Name("two/" name)->UseRealTime()->Threads(2)
PAIRS("shared/same", pair, SharedCount, Which::Same);
PAIRS("shared/own", pair, SharedCount, Which::Own);
PAIRS("threads/same", pair, ThreadCounts, Which::Same);
PAIRS("threads/own", pair, ThreadCounts, Which::Own);
PAIRS("bare/same", bare, Which::Same);
PAIRS("bare/own", bare, Which::Own);
PAIRS("locked/same", locked, Which::Same);
PAIRS("locked/own", locked, Which::Own);
BENCHMARK_TEMPLATE(lookup, ThreadCounts)->Name("lookup");
BENCHMARK(dependent_pair)->Name("dependent/pair");
BENCHMARK(dependent_lookup)->Name("dependent/lookup");
BENCHMARK_CAPTURE(object_pair, pairs, "pairs")->Name("object/pair");
BENCHMARK_CAPTURE(object_pair, dependent, "dependent_pairs")->Name("object/dependent");

#define FINDS(name, ...)                                                                           \
    BENCHMARK_TEMPLATE(__VA_ARGS__)->Name("find/" name)->Arg(1)->Arg(64)->Arg(512)->Arg(4096)
FINDS("ours/hit", find_ours, true);
FINDS("ours/miss", find_ours, false);
FINDS("map/hit", find_map, true);
FINDS("map/miss", find_map, false);

BENCHMARK_TEMPLATE(remove_idle, SharedCount)->Name("remove/shared/idle");
BENCHMARK_TEMPLATE(remove_idle, ThreadCounts)->Name("remove/threads/idle");
BENCHMARK_TEMPLATE(remove_hammered, SharedCount)->Name("remove/shared/hammered")->UseRealTime();
BENCHMARK_TEMPLATE(remove_hammered, ThreadCounts)->Name("remove/threads/hammered")->UseRealTime();

} // namespace

BENCH_MAIN()
