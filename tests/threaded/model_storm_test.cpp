// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "model/models.hpp"
#include "threaded/together.hpp"

using namespace neuronbook;
using test::kCore;
using test::kLong;
using test::model;
using test::Overlaps;
using test::SmallModel;
using test::together;

namespace {

/// Places that threads exchange handles through; more models than places come and go.
constexpr std::size_t kPlaces = 6;
using Places = std::array<std::atomic<std::uint32_t>, kPlaces>;

struct Tally {
    std::atomic<std::uint64_t> used{0}, unknown{0}, removed{0}, wrong{0};
};

/// Looks at a model as somebody does who was told that it is alive.
void use(SmallModel& model, std::uint32_t handle, Tally& tally) {
    if (model.alive.load(std::memory_order_relaxed) != SmallModel::kAlive) ++tally.wrong;
    if (model.handle().value() != handle) ++tally.wrong;
    ++tally.used;
}

} // namespace

TEMPLATE_TEST_CASE("readers, adders and removers: alive or unknown, never freed", "[threaded]",
                   SharedCount, ThreadCounts) {
    ModelDatabase<SmallModel, TestType> models(kCore);
    Places places{};
    for (auto& place : places) place = models.add(model())->value();
    Tally tally;
    Overlaps overlaps;
    std::atomic<bool> stop{false};
    together(6, [&](int thread) {
        std::uint64_t random = static_cast<std::uint64_t>(thread) + 1;
        const auto next = [&] { return (random = random * 6364136223846793005u + 1) >> 33; };
        if (thread < 4) { // readers
            typename ModelDatabase<SmallModel, TestType>::Ref kept;
            while (!stop.load(std::memory_order_relaxed)) {
                const auto handle = places[next() % kPlaces].load(std::memory_order_relaxed);
                const Overlaps::Inside inside(overlaps);
                auto got = models.acquire(ModelHandle{handle});
                if (!got) {
                    if (got.error().detail != Detail::UnknownModel) ++tally.wrong;
                    ++tally.unknown;
                    continue;
                }
                use(**got, handle, tally);
                if (next() % 8 == 0)
                    kept = *std::move(got); // held for a while
                else if (next() % 8 == 0)
                    kept.release();
            }
            return;
        }
        for (int round = 0; round < 3000; ++round) { // each replaces models
            auto& place = places[next() % (kPlaces / 2) * 2 + static_cast<std::size_t>(thread - 4)];
            const Overlaps::Inside inside(overlaps);
            auto made = model();
            const auto handle = made->handle().value();
            if (!models.add(std::move(made))) ++tally.wrong;
            // Readers go on asking for the old one until its place has the new one.
            auto removed = models.remove(ModelHandle{place.load()}, kLong);
            if (!removed)
                ++tally.wrong;
            else
                (*removed)->alive.store(0xDEAD, std::memory_order_relaxed);
            place.store(handle);
            ++tally.removed;
            if (round % 16 == 0)
                if (const auto by_name = models.acquire("bert"))
                    use(**by_name, (*by_name)->handle().value(), tally);
        }
        if (thread == 4) stop = true; // the other remover may need the readers a little longer
    });
    std::printf("model storm: %d overlaps, %llu uses, %llu unknown, %llu removed\n",
                overlaps.seen(), static_cast<unsigned long long>(tally.used.load()),
                static_cast<unsigned long long>(tally.unknown.load()),
                static_cast<unsigned long long>(tally.removed.load()));
    CHECK(tally.wrong == 0);
    CHECK(overlaps.seen() >= 10'000);
    CHECK(tally.unknown >= 100);
    CHECK(models.size() == kPlaces);
    CHECK(models.leaving().empty());
    CHECK(models.close(kLong));
    CHECK(SmallModel::count == 0);
}

TEMPLATE_TEST_CASE("references travel between threads while models are removed", "[threaded]",
                   SharedCount, ThreadCounts) {
    using Models = ModelDatabase<SmallModel, TestType>;
    Models models(kCore);
    Tally tally;
    for (int round = 0; round < 300; ++round) {
        const auto handle = *models.add(model());
        std::vector<typename Models::Ref> held(4);
        for (auto& each : held) each = *models.acquire(handle);
        std::vector<std::thread> givers;
        for (auto& each : held)
            givers.emplace_back([&] {
                use(*each, handle.value(), tally);
                each.release();
            });
        auto removed = models.remove(handle, kLong);
        if (!removed) ++tally.wrong;
        for (auto& giver : givers) giver.join();
    }
    CHECK(tally.wrong == 0);
    CHECK(tally.used == 1200);
}

TEMPLATE_TEST_CASE("what one thread took is given back by it and by another at once", "[threaded]",
                   SharedCount, ThreadCounts) {
    using Models = ModelDatabase<SmallModel, TestType>;
    Models models(kCore);
    for (int round = 0; round < 20; ++round) {
        const auto handle = *models.add(model());
        std::array<std::vector<typename Models::Ref>, 2> held;
        std::atomic<bool> taken{false};
        together(2, [&](int thread) {
            if (thread == 0) {
                for (auto& half : held)
                    for (int i = 0; i < 20'000; ++i) half.push_back(*models.acquire(handle));
                taken = true;
            }
            while (!taken.load()) {}
            held[static_cast<std::size_t>(thread)].clear(); // both change what the first counted
        });
        REQUIRE(models.remove(handle, test::kAtOnce));
    }
}

TEMPLATE_TEST_CASE("finding goes on while the array of places grows", "[threaded]", SharedCount,
                   ThreadCounts) {
    ModelDatabase<SmallModel, TestType> models(kCore);
    const auto first = *models.add(model());
    std::atomic<bool> stop{false};
    std::atomic<int> lost{0};
    together(3, [&](int thread) {
        if (thread == 0) {
            for (int i = 0; i < 2000; ++i) (void)models.add(model());
            stop = true;
            return;
        }
        while (!stop.load(std::memory_order_relaxed)) {
            const auto got = models.acquire(first);
            if (!got || (*got)->handle() != first) lost.fetch_add(1);
        }
    });
    CHECK(lost == 0);
    CHECK(models.size() == 2001);
}

TEST_CASE("eight threads mint, and no number is had twice", "[threaded]") {
    HandleMint mint(0xFFFF'F000u);
    std::array<std::vector<MintedHandle>, test::kThreads> kept;
    together(test::kThreads, [&](int thread) {
        for (int i = 0; i < 2000; ++i) {
            auto minted = *mint.mint();
            if (i % 3 == 0) kept[static_cast<std::size_t>(thread)].push_back(std::move(minted));
        }
    });
    std::vector<bool> seen(1u << 14);
    std::size_t twice = 0, count = 0;
    for (const auto& each : kept)
        for (const auto& minted : each) {
            const auto place = minted.value().value() % seen.size();
            twice += seen[place];
            seen[place] = true;
            ++count;
        }
    CHECK(twice == 0);
    CHECK(count == 8 * 667);
    CHECK(mint.live() == count);
}
