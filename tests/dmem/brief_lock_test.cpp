// SPDX-License-Identifier: Apache-2.0
#include "neuronbook/dmem/detail/brief_lock.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <thread>

using neuronbook::detail::BriefLock;

TEST_CASE("what two threads do under a brief lock does not mix") {
    constexpr int kTimes = 50'000;
    BriefLock lock;
    std::uint64_t count = 0; // plain: two at once would lose steps, and TSan would say so
    const auto work = [&] {
        for (int i = 0; i < kTimes; ++i) {
            const std::lock_guard held(lock);
            count = count + 1;
        }
    };
    std::thread other(work);
    work();
    other.join();
    CHECK(count == 2 * kTimes);
}

TEST_CASE("who waits long for a brief lock sleeps, and gets in once it is left") {
    BriefLock lock;
    lock.lock();
    bool inside = false;
    std::uint64_t used = 0; // nanoseconds of processor time
    std::thread waiter([&] {
        lock.lock();
        inside = true;
        lock.unlock();
        std::timespec time{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        used = static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
               static_cast<std::uint64_t>(time.tv_nsec);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    CHECK_FALSE(inside);
    lock.unlock();
    waiter.join();
    CHECK(inside);
    CHECK(used < 100'000'000); // of 300 000 000 that it waited
}
