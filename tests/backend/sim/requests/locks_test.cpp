// SPDX-License-Identifier: Apache-2.0
// The reader/writer lock of a core: names, processes, waits.
#include "neuronbook/backend/sim/requests/locks.hpp"

#include <cerrno>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;

struct Locker : Process {
    using Process::Process;

    std::int64_t lock(std::uint32_t word, std::uint8_t name = 1, std::uint32_t core = 0) {
        uapi::Crwl form{core, {}};
        form.uuid.value[31] = name;
        return ask(word, form);
    }
    std::int64_t write(std::uint8_t name = 1) { return lock(uapi::kCrwlWriterEnter, name); }
    std::int64_t downgrade(std::uint8_t name = 1) { return lock(uapi::kCrwlWriterDowngrade, name); }
    std::int64_t read(std::uint8_t name = 1) { return lock(uapi::kCrwlReaderEnter, name); }
    std::int64_t leave(std::uint8_t name = 1) { return lock(uapi::kCrwlReaderExit, name); }
};

} // namespace

TEST_CASE("a writer makes the lock its own, readers need its name and process", "[sim][crwl]") {
    const auto kernel = make_kernel("trn1.2xlarge", GENERATE("2.24.7", "2.26.5", "2.30.2"));
    Locker one(*kernel, 1);
    Locker two(*kernel, 2);
    CHECK(one.read() == -ENOENT); // nobody wrote yet
    CHECK(one.downgrade() == -EINVAL);
    CHECK(one.write() == 0);
    CHECK(one.downgrade(2) == -ENOENT);
    CHECK(two.downgrade() == -ENOENT);
    CHECK(one.downgrade() == 0);
    CHECK(one.downgrade() == -EINVAL);
    CHECK(one.read() == 0);
    CHECK(one.read(2) == -ENOENT);
    CHECK(two.read() == -ENOENT);
    CHECK(two.leave() == -ENOENT);
    CHECK(one.leave() == 0);
    CHECK(one.leave() == 0);
    CHECK(one.leave() == -EINVAL);
    CHECK(kernel->now().count == 0);
}

TEST_CASE("the same writer is told so and holds the lock all the same", "[sim][crwl]") {
    const auto kernel = make_kernel();
    Locker one(*kernel, 1);
    CHECK(one.write() == 0);
    CHECK(one.downgrade() == 0);
    CHECK(one.leave() == 0);
    CHECK(one.write() == -EALREADY);
    CHECK(one.downgrade() == 0); // so it was held
    CHECK(one.leave() == 0);
    CHECK(one.write(2) == 0);
}

TEST_CASE("the first with an empty name is not its own predecessor", "[sim][crwl]") {
    const auto kernel = make_kernel();
    Locker one(*kernel, 1);
    CHECK(one.read(0) == -ENOENT);
    CHECK(one.write(0) == 0);
}

TEST_CASE("eight locks on every device, one of each", "[sim][crwl]") {
    const auto kernel = make_kernel("trn1.32xlarge");
    Locker here(*kernel, 1);
    Locker there(*kernel, 1, Access::ReadWrite, "/dev/neuron3");
    for (std::uint32_t core = 0; core < 8; ++core) {
        CHECK(here.lock(uapi::kCrwlWriterEnter, 1, core) == 0);
        CHECK(there.lock(uapi::kCrwlWriterEnter, 1, core) == 0);
    }
    for (const auto word : {uapi::kCrwlWriterEnter, uapi::kCrwlWriterDowngrade,
                            uapi::kCrwlReaderEnter, uapi::kCrwlReaderExit}) {
        CHECK(here.lock(word, 1, 8) == -EINVAL);
        CHECK(here.ask(word, nullptr) == 36);
    }
}

TEST_CASE("a writer gives up after 2 s, a reader after half a second", "[sim][crwl]") {
    const auto kernel = make_kernel();
    Locker one(*kernel, 1);
    Locker two(*kernel, 2);
    CHECK(one.write() == 0);
    auto before = kernel->now().count;
    CHECK(two.write() == -EBUSY);
    CHECK(kernel->now().count - before == 2000 * kMillisecond);
    before = kernel->now().count;
    CHECK(two.read(7) == -EBUSY); // waits before it looks at the name
    CHECK(kernel->now().count - before == 500 * kMillisecond);
    CHECK(one.downgrade() == 0);
    CHECK(two.write() == -EBUSY); // readers keep writers out
    CHECK(two.read() == -ENOENT); // but not readers
}

TEST_CASE("who waits gets the lock within a millisecond of its getting free", "[sim][crwl]") {
    const auto kernel = make_kernel();
    Locker one(*kernel, 1);
    Locker two(*kernel, 2);
    CHECK(one.write() == 0);
    TrustedMemory memory;
    uapi::Crwl form;
    Request request{
        IoctlRequest{two.fd, uapi::kCrwlWriterEnter, reinterpret_cast<std::uint64_t>(&form)}};
    const Caller caller{2, false};
    auto answer = kernel->submit(caller, request, memory, {0});
    for (std::uint64_t at = 1; at <= 1000; ++at) {
        REQUIRE(answer.waits);
        request.ticket = answer.ticket;
        answer = kernel->submit(caller, request, memory, {at * kMillisecond});
    }
    REQUIRE(answer.waits);
    CHECK(one.downgrade() == 0);
    CHECK(one.leave() == 0);
    request.ticket = answer.ticket;
    answer = kernel->submit(caller, request, memory, answer.until);
    CHECK_FALSE(answer.waits);
    CHECK(answer.value == 0);
    CHECK(two.lock(uapi::kCrwlWriterDowngrade, 0) == 0);
}

TEST_CASE("the last close of the last writer's process frees its locks, a reset does not",
          "[sim][crwl]") {
    const auto kernel = make_kernel();
    Locker one(*kernel, 1);
    Locker again(*kernel, 1);
    Locker two(*kernel, 2);
    CHECK(one.write() == 0);
    CHECK(two.lock(uapi::kCrwlWriterEnter, 1, 1) == 0);
    uapi::DeviceReset reset{0xFFFFFFFF, 0};
    CHECK(two.ask(uapi::kNcReset, reset) == 0);
    CHECK(again.port.close(again.fd) == 0);
    CHECK(two.write() == -EBUSY);
    CHECK(one.port.close(one.fd) == 0);
    CHECK(two.write() == 0);
    CHECK(two.lock(uapi::kCrwlWriterDowngrade, 1, 1) == 0);
}
