// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>
#include <utility>

#include "neuronbook/backend/posix_port.hpp"
#include "neuronbook/backend/uapi.hpp"
#include "support/log_lines.hpp"
#include "support/sim_machine.hpp"

using namespace neuronbook;
using test::open_driver;
using test::SimDriver;
using test::SimMachine;

namespace {

constexpr HostDeviceId kDevice{0};
constexpr CoreIndex kCore{0};

Chunk chunk(SimDriver& driver, std::uint64_t size) {
    auto made = driver.allocate(kDevice, {.size = Bytes{size}, .category = 9});
    REQUIRE(made);
    return *made;
}

/// Copies `count` times within a chain.
Result<void> chained(SimDriver& driver, const Chunk& from, const Chunk& to, int count) {
    auto chain = driver.begin_copies(kDevice, kCore);
    if (!chain) return fail(chain.error());
    for (int i = 0; i < count; ++i)
        if (auto started = chain->start(from, Bytes{0}, to, Bytes{0}, Bytes{4096}); !started)
            return started;
    return chain->finish();
}

} // namespace

TEST_CASE("a chain moves its bytes and refuses what the driver would do in part",
          "[backend][copy]") {
    for (const char* release : {"2.24.7", "2.26.5", "2.30.2"}) {
        INFO(release);
        SimMachine machine("trn1.2xlarge", release);
        auto driver = open_driver(machine);
        const auto a = chunk(driver, 128u << 20);
        const auto b = chunk(driver, 128u << 20);
        REQUIRE(driver.fill(kDevice, a, Bytes{0}, Bytes{8192}, std::byte{0x31}));
        auto chain = driver.begin_copies(kDevice, kCore);
        REQUIRE(chain);
        const auto calls = machine.counts.total();
        for (const std::uint64_t size : {std::uint64_t{0}, (std::uint64_t{127} << 20) + 1}) {
            const auto refused = chain->start(a, Bytes{0}, b, Bytes{0}, Bytes{size});
            REQUIRE_FALSE(refused);
            CHECK(refused.error().detail == Detail::AsyncCopySize);
            CHECK(refused.error().limit == 133169152);
            CHECK(static_cast<int>(refused.error().status) == 2);
        }
        CHECK_FALSE(chain->start(a, Bytes{~0ull - 15}, b, Bytes{0}, Bytes{32}));
        CHECK_FALSE(chain->start(a, Bytes{0}, b, Bytes{128u << 20}, Bytes{1}));
        CHECK(machine.counts.total() == calls);
        CHECK(chain->start(a, Bytes{0}, b, Bytes{100}, Bytes{8192}));
        CHECK(chain->start(b, Bytes{100}, b, Bytes{1 << 20}, Bytes{8192}));
        CHECK(chain->start(a, Bytes{0}, b, Bytes{0}, Bytes{std::uint64_t{127} << 20}));
        CHECK(chain->finish());
        CHECK(chain->finish());
        const auto late = chain->start(a, Bytes{0}, b, Bytes{0}, Bytes{1});
        REQUIRE_FALSE(late);
        CHECK(late.error().detail == Detail::CopiesEnded);
        std::byte last{};
        REQUIRE(driver.read(kDevice, b, Bytes{8191}, {&last, 1}));
        CHECK(last == std::byte{0x31});
        CHECK_FALSE(driver.begin_copies(kDevice, CoreIndex{2}));
        CHECK_FALSE(driver.copies_run_aside());
        CHECK(PosixPort{}.identity().copies_aside);
    }
}

TEST_CASE("thousands of chains, failed and dropped ones too, never use up the ring",
          "[backend][copy]") {
    for (const char* release : {"2.24.7", "2.26.5", "2.30.2"}) {
        INFO(release);
        SimMachine machine("trn1.2xlarge", release);
        auto driver = open_driver(machine);
        const auto a = chunk(driver, 4096);
        const auto b = chunk(driver, 4096);
        auto freed = chunk(driver, 4096);
        REQUIRE(driver.free(kDevice, freed));
        for (int i = 0; i < 3000; ++i) {
            {
                auto dropped = driver.begin_copies(kDevice, kCore);
                REQUIRE(dropped->start(a, Bytes{0}, b, Bytes{0}, Bytes{4096}));
                REQUIRE(dropped->start(a, Bytes{0}, b, Bytes{0}, Bytes{4096}));
                auto moved = *std::move(dropped);
            }
            auto failed = driver.begin_copies(kDevice, kCore);
            REQUIRE(failed->start(a, Bytes{0}, b, Bytes{0}, Bytes{4096}));
            REQUIRE_FALSE(failed->start(freed, Bytes{0}, b, Bytes{0}, Bytes{4096}));
            machine.plan.fail_nth(1 + i % 3, i % 2 != 0 ? -ENOMEM : 4096);
            (void)chained(driver, a, b, 2);
            machine.plan.clear();
        }
        CHECK(chained(driver, a, b, 100));
    }
}

TEST_CASE("whichever call of a chain fails, nothing is left in flight", "[backend][copy]") {
    SimMachine machine("trn1.2xlarge", "2.26.5");
    auto driver = open_driver(machine);
    const auto a = chunk(driver, 4096);
    const auto b = chunk(driver, 4096);
    for (const std::int64_t fault : {-ENOMEM, -EINVAL, -EPERM, -EFAULT, 4096})
        for (int nth = 1; nth <= 4; ++nth) {
            INFO("call " << nth << " answers " << fault);
            machine.plan.fail_nth(static_cast<std::uint64_t>(nth), fault);
            CHECK_FALSE(chained(driver, a, b, 3));
            REQUIRE(machine.plan.struck());
            machine.plan.clear();
            // the driver knows neither of its two places
            for (const std::uint32_t place : {1u, 2u}) {
                uapi::MemCopyAsyncWait ask{a.handle.value(), b.handle.value(), place};
                SimPort port(*machine.kernel, {.pid = 100});
                const auto fd = port.open("/dev/neuron0", Access::ReadWrite);
                const auto answer = port.ioctl(static_cast<int>(fd), uapi::kMemCopyAsyncWait, &ask);
                CHECK(answer == -EINVAL);
                port.close(static_cast<int>(fd));
            }
        }
}

TEST_CASE("a chain counts its copies up to the first that may be lost", "[backend][copy]") {
    test::LogLines log;
    SimMachine machine;
    auto driver = open_driver(machine);
    const auto a = chunk(driver, 4096), b = chunk(driver, 4096);
    auto chain = driver.begin_copies(kDevice, CoreIndex{0});
    REQUIRE(chain);
    const auto start = [&] {
        return chain->start(a, Bytes{0}, b, Bytes{0}, Bytes{64}).has_value();
    };
    CHECK(chain->completed() == 0);
    CHECK(start());
    CHECK(chain->completed() == 0);
    CHECK(start());
    CHECK(chain->completed() == 1);
    auto moved = *std::move(chain);
    CHECK(moved.completed() == 1);
    CHECK(chain->completed() == 0);
    machine.plan.fail_nth(1, -ETIMEDOUT);
    CHECK_FALSE(moved.finish()); // the second wait for it succeeds
    machine.plan.clear();
    CHECK(moved.completed() == 2);
    CHECK(moved.finish());
    CHECK(moved.completed() == 2);
}

TEST_CASE("drivers of a process take turns on the queue of a core, and only there",
          "[backend][copy]") {
    SimMachine machine("trn2.3xlarge", "2.26.5");
    auto first = open_driver(machine);
    auto second = open_driver(machine);
    auto held = first.begin_copies(kDevice, CoreIndex{0});
    REQUIRE(held);
    REQUIRE(second.begin_copies(kDevice, CoreIndex{1})); // the other core of the engine
    std::atomic<bool> begun{false};
    std::thread other([&] {
        auto chain = second.begin_copies(kDevice, CoreIndex{0});
        begun = chain.has_value();
    });
    ::usleep(20000);
    CHECK_FALSE(begun);
    CHECK(held->finish());
    other.join();
    CHECK(begun);
}

TEST_CASE("a forked child calls nothing and waits for nobody", "[backend][copy]") {
    SimMachine machine("trn1.2xlarge", "2.26.5");
    auto driver = open_driver(machine);
    const auto a = chunk(driver, 4096);
    const auto b = chunk(driver, 4096);
    auto chain = driver.begin_copies(kDevice, kCore);
    REQUIRE(chain->start(a, Bytes{0}, b, Bytes{0}, Bytes{4096}));
    const auto child = ::fork();
    if (child == 0) {
        const auto calls = machine.counts.total();
        const auto begun = driver.begin_copies(kDevice, kCore);
        bool good = !begun && begun.error().detail == Detail::Forked;
        const auto started = chain->start(a, Bytes{0}, b, Bytes{0}, Bytes{1});
        good = good && !started && started.error().detail == Detail::Forked;
        good = good && !chain->finish();
        { auto gone = *std::move(chain); }
        ::_exit(good && machine.counts.total() == calls ? 0 : 1);
    }
    int status = 1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(chain->finish());
}
