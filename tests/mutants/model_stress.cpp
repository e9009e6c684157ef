// SPDX-License-Identifier: Apache-2.0
// One model that is removed, marked dead and added again while another thread takes and gives back
// references to it. run.py builds it against headers with a bug in them, and
// then it must find the bug; against the headers as they are it must find nothing.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <pthread.h>
#include <sched.h>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "neuronbook/model/model_database.hpp"

using namespace neuronbook;

namespace {

constexpr std::uint64_t kAlive = 0xA11FE;
constexpr std::uint64_t kCold = std::uint64_t{1} << 22; ///< 32 MiB
constexpr Nanoseconds kForEver{5'000'000'000};          ///< for a wait that takes microseconds

struct Model : ModelRecord {
    using ModelRecord::ModelRecord;
    std::atomic<std::uint64_t> alive{kAlive};
};

/// Two threads on one core take turns and never meet. Where there is one core, so be it.
struct Pinned {
    explicit Pinned(unsigned core) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(core, &one);
        (void)::pthread_setaffinity_np(::pthread_self(), sizeof one, &one);
    }
};

void pass_time(std::uint64_t rounds) {
    static std::atomic<std::uint64_t> nothing{0};
    for (; rounds != 0; --rounds) nothing.store(rounds, std::memory_order_relaxed);
}

/// 0: nothing found; 1: a bug.
template <class Counts>
int stress(std::uint64_t seconds) {
    ModelDatabase<Model, Counts> models({});
    auto model = std::make_unique<Model>(*process_handles().mint(), "stressed");
    const auto handle = model->handle();
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> used{0}, dead{0};
    const Pinned first(0);
    std::thread reader([&] {
        const Pinned second(1);
        // What a processor stores waits behind what it stored before; cold lines make it wait long.
        std::vector<std::uint64_t> cold(kCold);
        std::uint64_t mine = 0, found = 0, random = 1;
        while (!stop.load(std::memory_order_relaxed)) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            for (std::uint64_t i = 0; i < (random >> 58); ++i)
                cold[((random >> 20) + i * 4099) % kCold] = random;
            const auto held = models.acquire(handle);
            if (!held) continue;
            // Held as briefly as can be, or for longer than a removal takes.
            const std::uint64_t looks = (random >> 52) % 512 << ((random >> 32) % 8 == 0 ? 5 : 0);
            for (std::uint64_t look = 0; look < looks; ++look)
                found += (*held)->alive.load(std::memory_order_relaxed) != kAlive;
            ++mine;
        }
        used = mine;
        dead = found;
    });
    std::uint64_t removed = 0;
    const char* what = nullptr;
    const Deadline end(Nanoseconds{seconds * 1'000'000'000});
    for (; !what && !end.passed(); ++removed) {
        if (!models.add(std::move(model))) {
            what = "a model could not be added again";
            break;
        }
        pass_time(removed % 256);
        const Deadline patience(kForEver);
        auto out = models.remove(handle, kForEver);
        if (!out || patience.passed()) {
            // The reader runs on and holds nothing for long: nobody woke this thread.
            what = "a removal slept on though every reference was given back";
            break;
        }
        model = *std::move(out);
        model->alive.store(0xDEAD, std::memory_order_relaxed);
        pass_time(256);
        model->alive.store(kAlive, std::memory_order_relaxed);
    }
    stop = true;
    reader.join();
    if (!what && dead != 0) what = "a model was used after its removal";
    std::printf("%llu uses, %llu removals, %llu dead: %s\n",
                static_cast<unsigned long long>(used.load()),
                static_cast<unsigned long long>(removed),
                static_cast<unsigned long long>(dead.load()), what ? what : "nothing wrong");
    return what ? 1 : 0;
}

} // namespace

/// model_stress shared|threads SECONDS
int main(int argc, char** argv) {
    if (argc != 3) return 2;
    const auto seconds = std::strtoull(argv[2], nullptr, 10);
    if (std::string_view(argv[1]) == "shared") return stress<SharedCount>(seconds);
    if (const auto there = ThreadCounts::available(); !there) {
        std::puts("membarrier() cannot be had here");
        return 77;
    }
    return stress<ThreadCounts>(seconds);
}
