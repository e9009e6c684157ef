// SPDX-License-Identifier: Apache-2.0
// What threads of a process wait with: deadlines, bells, a fence in all of them, who still runs.
#include "support/catch.hpp"

#include <atomic>
#include <cstdint>
#include <ctime>
#include <limits>
#include <optional>
#include <thread>
#include <type_traits>

#include "neuronbook/base/bell.hpp"
#include "neuronbook/base/deadline.hpp"
#include "neuronbook/base/process_barrier.hpp"
#include "neuronbook/base/thread_id.hpp"

using namespace neuronbook;

namespace {
constexpr Nanoseconds kLong{20'000'000'000};

static_assert(!std::is_copy_constructible_v<Bell>);

std::uint64_t processor_time() {
    std::timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
           static_cast<std::uint64_t>(time.tv_nsec);
}
} // namespace

TEST_CASE("a deadline is a moment of the monotonic clock, or never", "[base][deadline]") {
    CHECK(!Deadline().at());
    CHECK(!Deadline().passed());
    CHECK(!Deadline(std::nullopt).at());
    CHECK(Deadline(Nanoseconds{0}).passed());
    const auto before = Deadline::now();
    const Deadline later(kLong);
    const auto after = Deadline::now();
    CHECK(!later.passed());
    CHECK(later.at()->count >= before.count + 20'000'000'000);
    CHECK(later.at()->count <= after.count + 20'000'000'000);
}

TEST_CASE("a wait past the end of the clock is one for ever", "[base][deadline]") {
    using Limits = std::numeric_limits<std::uint64_t>;
    for (const auto count : {Limits::max(), Limits::max() / 2 + 1, Limits::max() / 2 - 1}) {
        const Deadline deadline(Nanoseconds{count});
        CHECK(!deadline.at());
        CHECK(!deadline.passed());
    }
}

TEST_CASE("a ring wakes who waits, and one before the wait is not slept through", "[base][bell]") {
    Bell bell;
    std::atomic<int> waiting{0}, woken{0};
    std::thread sleepers[3];
    const auto heard = bell.heard();
    for (auto& sleeper : sleepers)
        sleeper = std::thread([&] {
            waiting.fetch_add(1);
            const Deadline deadline(kLong);
            while (bell.heard() == heard && !deadline.passed()) bell.wait(heard, deadline);
            if (!deadline.passed()) woken.fetch_add(1);
        });
    while (waiting.load() != 3) std::this_thread::yield();
    bell.ring();
    for (auto& sleeper : sleepers) sleeper.join();
    CHECK(woken == 3);

    const auto start = Deadline::now();
    bell.wait(heard, Deadline(kLong)); // rung since
    CHECK(Deadline::now().count - start.count < 10'000'000'000);
}

TEST_CASE("a wait ends at its deadline, and burns no core", "[base][bell]") {
    const Bell bell;
    const auto start = Deadline::now();
    const auto burned = processor_time();
    const Deadline deadline(Nanoseconds{50'000'000});
    while (!deadline.passed()) bell.wait(bell.heard(), deadline);
    CHECK(Deadline::now().count - start.count >= 50'000'000);
    CHECK(processor_time() - burned < 25'000'000);
    bell.wait(bell.heard(), Deadline(Nanoseconds{0})); // a moment that has passed
}

TEST_CASE("the kernel's barrier works, or says why not", "[base][process_barrier]") {
    const auto available = ProcessBarrier::available();
    CHECK(available.has_value() == ProcessBarrier::usable());
    if (available) {
        ProcessBarrier::pass();
    } else {
        CHECK(available.error().detail == Detail::NotOnThisKernel);
        CHECK(available.error().os_error != 0);
        CHECK(!available.error().text.view().empty());
    }
}

TEST_CASE("a thread runs until it has ended", "[base][thread_id]") {
    const auto me = ThreadId::self();
    CHECK(me == ThreadId::self());
    CHECK(me.runs());
    ThreadId other;
    bool ran = false;
    std::thread([&] {
        other = ThreadId::self();
        ran = other.runs();
    }).join();
    CHECK(ran);
    CHECK(!(other == me));
    const Deadline deadline(kLong); // the kernel may take a moment after the join
    while (other.runs() && !deadline.passed()) std::this_thread::yield();
    CHECK(!other.runs());
}
