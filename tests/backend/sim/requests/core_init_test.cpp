// SPDX-License-Identifier: Apache-2.0
// What a core keeps between requests: how far its initialisation is, semaphores, events.
#include "neuronbook/backend/sim/requests/core_init.hpp"

#include <cerrno>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

constexpr std::uint64_t kHalfSecond = 500'000'000;

struct User : Process {
    using Process::Process;

    std::uint32_t set(std::uint32_t state, std::uint32_t core = 0) {
        uapi::CinitSet form{core, state, 99};
        error = ask(uapi::kCinitSetState, form);
        return form.new_state;
    }
    std::uint64_t started(std::uint32_t core) {
        uapi::NcModelStartedCount form{core, 0, 99};
        error = ask(uapi::kNcModelStartedCount, form);
        return form.started_count;
    }
    std::int64_t semaphore(std::uint32_t word, std::uint32_t index, std::uint32_t value,
                           std::uint32_t core = 0) {
        uapi::Semaphore form{core, index, value};
        const auto answer = ask(word, form);
        read = form.value;
        return answer;
    }
    std::int64_t event(std::uint32_t word, std::uint32_t index, std::uint32_t value,
                       std::uint32_t core = 0) {
        uapi::Event form{core, index, value};
        const auto answer = ask(word, form);
        read = form.value;
        return answer;
    }
    std::uint32_t read = 0;
};

} // namespace

TEST_CASE("the first to start initialises a core, and completes it once", "[sim][cinit]") {
    const auto kernel = make_kernel();
    User one(*kernel, 1);
    CHECK(one.set(2) == 3); // not started: stays invalid
    CHECK(one.set(77) == 3);
    CHECK(one.set(1) == 1);
    CHECK(one.set(77) == 1);
    CHECK(one.set(2) == 2);
    CHECK(one.set(1) == 2);
    CHECK(one.set(3) == 2); // nobody undoes it so
    CHECK(one.set(1, 1) == 1);
    CHECK(kernel->now().count == 0);
}

TEST_CASE("a core that the device does not have cannot be initialised", "[sim][cinit]") {
    const auto [instance, cores] =
        GENERATE(table<const char*, std::uint32_t>({{"trn1.2xlarge", 2}, {"trn2.3xlarge", 8}}));
    const auto kernel = make_kernel(instance);
    User one(*kernel, 1);
    CHECK(one.set(1, cores - 1) == 1);
    CHECK(one.started(cores - 1) == 0);
    CHECK(one.error == 0);
    one.set(1, cores);
    CHECK(one.error == -E2BIG);
    one.started(cores);
    CHECK(one.error == -E2BIG);
    CHECK(one.ask(uapi::kCinitSetState, nullptr) == 12);
    CHECK(one.ask(uapi::kNcModelStartedCount, nullptr) == 16);
}

TEST_CASE("who comes second waits 5 s for the first, looking every half second", "[sim][cinit]") {
    const auto kernel = make_kernel();
    User one(*kernel, 1);
    User two(*kernel, 2);
    CHECK(one.set(1) == 1);
    CHECK(two.set(1) == 1); // timed out
    CHECK(kernel->now().count == 10 * kHalfSecond);

    TrustedMemory memory;
    uapi::CinitSet form{0, 1, 0};
    Request request{
        IoctlRequest{two.fd, uapi::kCinitSetState, reinterpret_cast<std::uint64_t>(&form)}};
    auto answer = kernel->submit({2, false}, request, memory, {0});
    REQUIRE(answer.waits);
    CHECK(answer.until.count == kHalfSecond);
    CHECK(one.set(2) == 2);
    request.ticket = answer.ticket;
    answer = kernel->submit({2, false}, request, memory, answer.until);
    CHECK_FALSE(answer.waits);
    CHECK(form.new_state == 2);
}

TEST_CASE("a core reset takes back what was initialised, on its cores alone", "[sim][cinit]") {
    const auto kernel = make_kernel();
    User one(*kernel, 1);
    for (const std::uint32_t core : {0u, 1u}) {
        one.set(1, core);
        CHECK(one.set(2, core) == 2);
    }
    CHECK(one.semaphore(uapi::kSemaphoreWrite, 3, 30, 1) == 0);
    uapi::DeviceReset reset{2, 0};
    CHECK(one.ask(uapi::kNcReset, reset) == 0);
    CHECK(one.set(2, 1) == 3);
    CHECK(one.set(2, 0) == 2);
    CHECK(one.semaphore(uapi::kSemaphoreRead, 3, 0, 1) == 0);
    CHECK(one.read == 30);
    CHECK(one.port.close(one.fd) == 0);
    User two(*kernel, 2);
    CHECK(two.set(1, 0) == 2); // and a close takes nothing back
}

TEST_CASE("semaphores count in 32 bits, each for itself", "[sim][semaphore]") {
    const auto kernel = make_kernel();
    User one(*kernel, 1);
    CHECK(one.semaphore(uapi::kSemaphoreWrite, 5, 100) == 0);
    CHECK(one.semaphore(uapi::kSemaphoreIncrement, 5, 7) == 0);
    CHECK(one.semaphore(uapi::kSemaphoreDecrement, 5, 2) == 0);
    CHECK(one.semaphore(uapi::kSemaphoreRead, 5, 0) == 0);
    CHECK(one.read == 105);
    CHECK(one.semaphore(uapi::kSemaphoreDecrement, 255, 1, 1) == 0);
    CHECK(one.semaphore(uapi::kSemaphoreRead, 255, 0, 1) == 0);
    CHECK(one.read == 0xFFFFFFFF);
    CHECK(one.semaphore(uapi::kSemaphoreRead, 255, 9, 0) == 0);
    CHECK(one.read == 0);
    for (const auto word : {uapi::kSemaphoreRead, uapi::kSemaphoreWrite, uapi::kSemaphoreIncrement,
                            uapi::kSemaphoreDecrement}) {
        CHECK(one.semaphore(word, 256, 1) == -EINVAL);
        CHECK(one.semaphore(word, 256, 1, 2) == -E2BIG); // the core first
        CHECK(one.ask(word, nullptr) == 12);
    }
}

TEST_CASE("events: one index too many is let through, cores are not checked", "[sim][event]") {
    const auto kernel = make_kernel();
    User one(*kernel, 1);
    CHECK(one.event(uapi::kEventSet, 256, 4, 1) == 0);
    CHECK(one.event(uapi::kEventSet, 0, 0xFFFFFFFF) == 0);
    CHECK(one.event(uapi::kEventGet, 256, 0, 1) == 0);
    CHECK(one.read == 4);
    CHECK(one.event(uapi::kEventGet, 256, 0, 0x101) == 0); // cut to eight bits
    CHECK(one.read == 4);
    CHECK(one.event(uapi::kEventGet, 0, 0) == 0);
    CHECK(one.read == 0xFFFFFFFF);
    CHECK(one.event(uapi::kEventSet, 257, 1) == -EINVAL);
    CHECK(one.event(uapi::kEventGet, 257, 1, 9) == -EINVAL);
    CHECK(kernel->would_have_crashed().empty());
    CHECK(one.event(uapi::kEventSet, 0, 1, 2) == 0);
    CHECK(kernel->would_have_crashed().size() == 1);
}

TEST_CASE("a device off the bus reads as all ones and keeps nothing", "[sim][semaphore]") {
    const auto kernel = make_kernel();
    User one(*kernel, 1);
    CHECK(one.semaphore(uapi::kSemaphoreWrite, 5, 100) == 0);
    SimFaults faults;
    faults.gone = true;
    kernel->set_faults(HostDeviceId{0}, faults);
    CHECK(one.semaphore(uapi::kSemaphoreWrite, 5, 1) == 0);
    CHECK(one.semaphore(uapi::kSemaphoreRead, 5, 1) == 0);
    CHECK(one.read == 0xFFFFFFFF);
    CHECK(one.event(uapi::kEventGet, 5, 1) == 0);
    CHECK(one.read == 0xFFFFFFFF);
    kernel->set_faults(HostDeviceId{0}, {});
    CHECK(one.semaphore(uapi::kSemaphoreRead, 5, 1) == 0);
    CHECK(one.read == 100);
}
