// SPDX-License-Identifier: Apache-2.0
// Where references are counted, and that none is lost when threads come and go.
#include "support/catch.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <pthread.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "model/models.hpp"
#include "neuronbook/model/detail/cell_pool.hpp"
#include "neuronbook/model/detail/thread_tables.hpp"

using namespace neuronbook;
using test::kAtOnce;
using test::kCore;
using test::kLong;
using test::model;
using test::SmallModel;

namespace {

// One defect each.
struct NoToken : SharedCount {
    using Token = void;
};
struct HoldThrows : SharedCount {
    static bool hold(detail::CountCell&, std::uint32_t) { return false; }
};
struct DropAnswers : SharedCount {
    static bool drop(detail::CountCell&, bool) noexcept { return false; }
};
struct HeldChanges : SharedCount {
    static std::uint32_t held(detail::CountCell&) noexcept { return 0; }
};
struct SettlesOne : SharedCount {
    static void settle(detail::CountCell&) noexcept {}
};
struct NeverSays : SharedCount {
    static bool available() noexcept { return true; }
};
static_assert(!CountPolicy<NoToken>);
static_assert(!CountPolicy<HoldThrows>);
static_assert(!CountPolicy<DropAnswers>);
static_assert(!CountPolicy<HeldChanges>);
static_assert(!CountPolicy<SettlesOne>);
static_assert(!CountPolicy<NeverSays>);

/// A barrier that takes as long as the test likes.
struct SlowBarrier : SharedCount {
    static void settle() noexcept {
        inside = true;
        while (slow.load()) std::this_thread::yield();
    }
    static inline std::atomic<bool> slow{false}, inside{false};
};
static_assert(CountPolicy<SlowBarrier>);

/// Counts down first and looks for who waits afterwards, as ThreadCounts does; what happens in
/// between is up to the test.
struct LateRinger : SharedCount {
    static void drop(detail::CountCell& cell, bool) noexcept {
        cell.word.fetch_sub(1);
        if (between) std::exchange(between, nullptr)();
        if ((cell.word.load() & detail::CountCell::kLeaving) != 0) cell.bell.ring();
    }
    static inline std::function<void()> between;
};
static_assert(CountPolicy<LateRinger>);

template <class Counts>
using Database = ModelDatabase<SmallModel, Counts>;

template <class F>
void on_another_thread(F body) {
    std::thread thread(body);
    thread.join();
}

} // namespace

TEMPLATE_TEST_CASE("a thread that ends with a reference in the world leaves it counted",
                   "[model][counting]", SharedCount, ThreadCounts) {
    Database<TestType> models(kCore);
    const auto handle = *models.add(model());
    typename Database<TestType>::Ref held;
    on_another_thread([&] { held = *models.acquire(handle); });
    CHECK(models.remove(handle, kAtOnce).error().asked == 1);
    CHECK(held->alive == SmallModel::kAlive);
    held.release();
    CHECK(models.drain(handle, kAtOnce));
}

TEMPLATE_TEST_CASE("a reference is given back on any thread", "[model][counting]", SharedCount,
                   ThreadCounts) {
    Database<TestType> models(kCore);
    for (int i = 0; i < 20; ++i) {
        const auto handle = *models.add(model());
        auto here = *models.acquire(handle);
        auto there = *models.acquire(handle);
        // By one that has counted before, by one that never has, and after the taker's end.
        on_another_thread([&] {
            (void)models.acquire(handle);
            here.release();
        });
        on_another_thread([&] { there.release(); });
        typename Database<TestType>::Ref late;
        on_another_thread([&] { late = *models.acquire(handle); });
        on_another_thread([&] {
            on_another_thread([&] { (void)models.acquire(handle); });
            late.release();
        });
        REQUIRE(models.remove(handle, kAtOnce));
    }
}

TEMPLATE_TEST_CASE("a release on another thread wakes who waits", "[model][counting]", SharedCount,
                   ThreadCounts) {
    Database<TestType> models(kCore);
    for (int i = 0; i < 50; ++i) {
        const auto handle = *models.add(model());
        auto held = *models.acquire(handle);
        std::thread giver([&] {
            while (models.find(handle)) std::this_thread::yield();
            if (i % 2) ::usleep(200); // asleep by then
            held.release();
        });
        const auto removed = models.remove(handle, kLong);
        giver.join();
        REQUIRE(removed);
    }
}

TEMPLATE_TEST_CASE("of several who wait for one model, one gets it and all return",
                   "[model][counting]", SharedCount, ThreadCounts) {
    Database<TestType> models(kCore);
    const auto handle = *models.add(model());
    auto held = *models.acquire(handle);
    REQUIRE(!models.remove(handle, kAtOnce));
    std::atomic<int> got{0}, unknown{0}, started{0};
    std::vector<std::thread> waiters;
    for (int i = 0; i < 4; ++i)
        waiters.emplace_back([&] {
            started.fetch_add(1);
            const auto drained = models.drain(handle, kLong);
            if (drained)
                got.fetch_add(1);
            else if (drained.error().detail == Detail::UnknownModel)
                unknown.fetch_add(1);
        });
    while (started.load() != 4) std::this_thread::yield();
    ::usleep(5000);
    held.release();
    for (auto& waiter : waiters) waiter.join();
    CHECK(got == 1);
    CHECK(unknown == 3);
}

TEST_CASE("who sleeps for a model wakes when another takes it between the last count and its ring",
          "[model][counting]") {
    Database<LateRinger> models(kCore);
    const auto handle = *models.add(model());
    auto held = *models.acquire(handle);
    std::atomic<bool> told{false};
    const auto start = Deadline::now();
    std::thread sleeper([&] {
        const auto out = models.remove(handle, kLong);
        told = !out && out.error().detail == Detail::UnknownModel;
    });
    while (models.leaving().empty()) std::this_thread::yield();
    ::usleep(20'000); // asleep by then
    bool got = false;
    LateRinger::between = [&] { got = models.drain(handle, kAtOnce).has_value(); };
    held.release();
    sleeper.join();
    CHECK(got);
    CHECK(told);
    CHECK(Deadline::now().count - start.count < kLong.count / 2);
}

TEST_CASE("who waits for a model while its removal is at the barrier waits for that, too",
          "[model][counting]") {
    Database<SlowBarrier> models(kCore);
    const auto handle = *models.add(model());
    SlowBarrier::slow = true;
    std::atomic<int> got{0}, unknown{0};
    const auto tell = [&](const Result<std::unique_ptr<SmallModel>>& out) {
        got += out.has_value();
        unknown += !out && out.error().detail == Detail::UnknownModel;
    };
    std::thread remover([&] { tell(models.remove(handle, kLong)); });
    while (!SlowBarrier::inside.load()) std::this_thread::yield();
    // Nobody holds it as far as one can see, but one cannot see all yet.
    const auto early = models.drain(handle, kAtOnce);
    CHECK((!early && early.error().status == Status::Timeout));
    const auto start = Deadline::now();
    std::thread waiter([&] { tell(models.drain(handle, kLong)); });
    ::usleep(20'000); // asleep by then
    SlowBarrier::slow = false;
    remover.join();
    waiter.join();
    CHECK(Deadline::now().count - start.count < kLong.count / 2);
    CHECK(got == 1);
    CHECK(unknown == 1);
}

TEST_CASE("a thread may give back more than it ever took, for ever", "[model][counting]") {
    // Modulo 2^32: the sum is right also where single counts have gone round.
    ModelDatabase<SmallModel, ThreadCounts> models(kCore);
    const auto handle = *models.add(model());
    std::vector<ModelDatabase<SmallModel, ThreadCounts>::Ref> held;
    for (int i = 0; i < 1000; ++i) held.push_back(*models.acquire(handle));
    on_another_thread([&] { held.clear(); });
    CHECK(models.remove(handle, kAtOnce));
}

TEST_CASE("threads that come and go use the same tables again", "[model][counting]") {
    ModelDatabase<SmallModel, ThreadCounts> models(kCore);
    const auto handle = *models.add(model());
    auto& cells = detail::ModelProcess::here().cells();
    auto* cell = cells.take();
    const auto& tables = *cell->tables;
    cells.give_back(*cell);
    (void)models.acquire(handle);
    on_another_thread([&] { (void)models.acquire(handle); });
    const auto before = tables.tables();
    if (ThreadCounts::available()) CHECK(before >= 2);
    for (int i = 0; i < 200; ++i) on_another_thread([&] { (void)models.acquire(handle); });
    CHECK(tables.tables() <= before + 1); // one that had ended, but not yet for the kernel
    CHECK(models.remove(handle, kAtOnce));
}

TEST_CASE("references given back by the last things a thread does are counted",
          "[model][counting]") {
    using Models = ModelDatabase<SmallModel, ThreadCounts>;
    Models models(kCore);
    const auto handle = *models.add(model());
    struct AtExit {
        Models::Ref held;
    };
    static pthread_key_t key;
    REQUIRE(::pthread_key_create(&key,
                                 [](void* held) { delete static_cast<Models::Ref*>(held); }) == 0);
    std::thread thread([&] {
        static thread_local AtExit last; // its destructor runs when the thread ends
        last.held = *models.acquire(handle);
        (void)::pthread_setspecific(key, new Models::Ref(*models.acquire(handle))); // and later
    });
    thread.join();
    CHECK(models.remove(handle, kAtOnce));
    (void)::pthread_key_delete(key);
}

TEST_CASE("more models than a thread has counts for are counted in their cells",
          "[model][counting]") {
    ModelDatabase<SmallModel, ThreadCounts> models(kCore);
    std::vector<ModelHandle> handles;
    for (std::uint32_t i = 0; i < detail::ThreadTable::kCells + 100; ++i)
        handles.push_back(*models.add(model("m")));
    for (const auto handle : {handles.front(), handles.back()}) {
        auto held = *models.acquire(handle);
        on_another_thread([&] {
            CHECK(models.acquire(handle));
            CHECK(models.remove(handle, kAtOnce).error().asked == 1);
            held.release();
        });
        CHECK(models.drain(handle, kAtOnce));
    }
}

TEST_CASE("cells are used again, and none twice at a time", "[model][counting]") {
    detail::ThreadTables tables;
    detail::CellPool pool(tables);
    std::vector<detail::CountCell*> taken;
    for (int i = 0; i < 130; ++i) taken.push_back(pool.take());
    auto sorted = taken;
    std::sort(sorted.begin(), sorted.end());
    CHECK(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end());
    CHECK(std::count(sorted.begin(), sorted.end(), nullptr) == 0);
    pool.give_back(*taken[17]);
    CHECK(pool.take() == taken[17]);
}

TEMPLATE_TEST_CASE("a child of fork() is told so, and ends without hanging", "[model][counting]",
                   SharedCount, ThreadCounts) {
    auto models = std::make_unique<Database<TestType>>(kCore);
    const auto handle = *models->add(model());
    std::atomic<bool> stop{false};
    std::thread busy([&] { // so that a lock may be taken at the fork
        while (!stop.load()) (void)models->acquire("bert");
    });
    for (int i = 0; i < 5; ++i) {
        const pid_t child = ::fork();
        if (child == 0) {
            int wrong = 0;
            auto another = std::unique_ptr<SmallModel>(); // nothing is minted: its lock is shared
            wrong += models->add(std::move(another)).error().detail != Detail::Forked;
            wrong += models->remove(handle, kAtOnce).error().status != Status::Uninitialized;
            wrong += models->drain(handle, kAtOnce).error().detail != Detail::Forked;
            wrong += models->acquire("bert").error().detail != Detail::Forked;
            wrong += models->close(kAtOnce).error().detail != Detail::Forked;
            wrong += models->size() != 0 || !models->handles().empty();
            wrong += !models->acquire(handle);
            models.reset();
            ::_exit(wrong);
        }
        REQUIRE(child > 0);
        int status = -1;
        REQUIRE(::waitpid(child, &status, 0) == child);
        CHECK(status == 0);
    }
    stop.store(true);
    busy.join();
    CHECK(models->remove(handle, kLong));
}
