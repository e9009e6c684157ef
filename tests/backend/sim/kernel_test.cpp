// SPDX-License-Identifier: Apache-2.0
// The way of a request: who serves it, what is noted, how it waits.
#include "neuronbook/backend/sim/kernel.hpp"

#include <cerrno>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

TEST_CASE("an unknown request is refused and noted once", "[sim][kernel]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    std::uint64_t argument = 0;
    CHECK(process.ask(0x80084EC8u, argument) == -EINVAL); // number 200
    CHECK(process.ask(0x80084EC8u, argument) == -EINVAL);
    CHECK(process.ask((uapi::kMemAlloc & ~0xFF00u) | 'X' << 8, argument) == -EINVAL);
    CHECK(process.ask(0x5401, argument) == -EINVAL);
    const auto unknown = kernel->unknown();
    REQUIRE(unknown.size() == 3);
    CHECK(unknown[0] == "0x80084ec8");
}

TEST_CASE("the whole word counts where the driver compares it", "[sim][kernel]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    uapi::MemAllocV2MemType64 form;
    CHECK(process.ask(0x803C4E66u, form) == -EINVAL); // 60 bytes
    CHECK(process.ask(0x40384E66u, form) == -EINVAL); // the other direction
    CHECK(process.ask(0xC02C4E18u, form) == -EINVAL); // buffer copy of 44 bytes
    CHECK(kernel->unknown().size() == 3);
}

TEST_CASE("a request newer than the driver is unknown to it", "[sim][kernel]") {
    uapi::MemAllocV2MemType64Pa form;
    std::uint64_t handle = 0;
    form.size = 4096;
    form.mem_handle = &handle;
    const auto older = make_kernel("trn1.2xlarge", "2.26.5");
    CHECK(Process(*older).ask(uapi::kMemAllocV2mt64Pa, form) == -EINVAL);
    CHECK(older->unknown().size() == 1);
    const auto newer = make_kernel("trn1.2xlarge", "2.30.2");
    CHECK(Process(*newer).ask(uapi::kMemAllocV2mt64Pa, form) == 0);
    CHECK(form.pa == 0x3c0000000);
    CHECK(handle == 3); // 1 and 2 are the cores' completion queues
    CHECK(newer->unknown().empty());
}

TEST_CASE("the free-access lane serves discovery alone", "[sim][kernel]") {
    const auto kernel = make_kernel();
    const bool odd_mode = GENERATE(false, true);
    Process process(*kernel, 1, static_cast<Access>(odd_mode ? 3 : 1));
    uapi::DeviceInfo info;
    CHECK(process.ask(uapi::kDeviceBasicInfo, info) == 0);
    CHECK(process.ask(uapi::kDeviceInfo, info) == -EINVAL);
    CHECK(process.ask(uapi::kHostDeviceId, info) == -EINVAL);
    CHECK(process.allocate(4096) == 0);
    CHECK(process.error == -EINVAL);
    CHECK(process.ask(uapi::kDriverInfoSet, info) == -524);
    CHECK(kernel->unknown().size() == 3);
    CHECK(kernel->unknown()[0] == "DEVICE_INFO on the free-access lane");
    CHECK(kernel->census().devices[0].attached == 0);
}

TEST_CASE("a read-only file is a full one", "[sim][kernel]") {
    const auto kernel = make_kernel();
    Process process(*kernel, 1, Access::ReadOnly);
    CHECK(process.allocate(4096) == 1);
}

TEST_CASE("a wait says until when and goes on with its ticket", "[sim][kernel]") {
    const auto kernel = make_kernel();
    TrustedMemory memory;
    const Caller caller{5, false};
    const auto fd = kernel->submit(caller, {OpenRequest{"/dev/neuron0", 2}}, memory, {1000}).value;
    Request request{FlushRequest{fd}};
    auto answer = kernel->submit(caller, request, memory, {2000});
    REQUIRE(answer.waits);
    CHECK(answer.until.count == 10'002'000);
    CHECK(kernel->census().devices[0].attached == 1);
    // somebody else is served in between
    CHECK_FALSE(kernel->submit({6, false}, {OpenRequest{"/dev/neuron0", 2}}, memory, {3000}).waits);
    request.ticket = answer.ticket;
    answer = kernel->submit(caller, request, memory, answer.until);
    CHECK_FALSE(answer.waits);
    CHECK(answer.value == 0);
    CHECK(kernel->census().devices[0].attached == 1); // process 6
}

TEST_CASE("a ticket that was not given is a new request", "[sim][kernel]") {
    const auto kernel = make_kernel();
    TrustedMemory memory;
    const auto fd = kernel->submit({}, {OpenRequest{"/dev/neuron0", 2}}, memory, {}).value;
    CHECK(kernel->submit({}, {FlushRequest{fd}, 99}, memory, {}).waits);
}

TEST_CASE("a ticket shown too early waits on, and stays good", "[sim][kernel]") {
    const auto kernel = make_kernel();
    TrustedMemory memory;
    const Caller caller{5, false};
    Request request{
        FlushRequest{kernel->submit(caller, {OpenRequest{"/dev/neuron0", 2}}, memory, {}).value}};
    const auto first = kernel->submit(caller, request, memory, {});
    REQUIRE(first.waits);
    request.ticket = first.ticket;
    for (const std::uint64_t now : {0ull, 1ull, 9'999'999ull}) {
        const auto again = kernel->submit(caller, request, memory, {now});
        CHECK(again.waits);
        CHECK(again.until == first.until); // not another 10 ms from now
        CHECK(again.ticket == first.ticket);
    }
    CHECK(kernel->census().devices[0].attached == 1);
    CHECK_FALSE(kernel->submit(caller, request, memory, first.until).waits);
    CHECK(kernel->census().devices[0].attached == 0);
}

TEST_CASE("a ticket of another process or another request is none", "[sim][kernel]") {
    const auto kernel = make_kernel("trn1.32xlarge");
    TrustedMemory memory;
    const auto open = [&](std::int32_t pid, const char* path) {
        return kernel->submit({pid, false}, {OpenRequest{path, 2}}, memory, {}).value;
    };
    const auto mine = open(5, "/dev/neuron0");
    const auto next = open(5, "/dev/neuron1");
    const auto theirs = open(6, "/dev/neuron0");
    const auto ticket = kernel->submit({5, false}, {FlushRequest{mine}}, memory, {}).ticket;
    const Nanoseconds late{20'000'000};
    CHECK(kernel->submit({6, false}, {FlushRequest{theirs}, ticket}, memory, late).waits);
    CHECK(kernel->submit({6, false}, {FlushRequest{mine}, ticket}, memory, late).waits);
    CHECK(kernel->submit({5, false}, {FlushRequest{next}, ticket}, memory, late).waits);
    CHECK_FALSE(kernel->submit({5, false}, {FlushRequest{mine}, ticket}, memory, late).waits);
    CHECK(kernel->submit({5, false}, {FlushRequest{mine}, ticket}, memory, late).value == 0);
}

TEST_CASE("what nobody comes back for is forgotten with its process and its file",
          "[sim][kernel]") {
    const auto kernel = make_kernel();
    TrustedMemory memory;
    const auto wait_for_flush = [&](std::int32_t pid) {
        const Caller caller{pid, false};
        const auto fd = kernel->submit(caller, {OpenRequest{"/dev/neuron0", 2}}, memory, {}).value;
        REQUIRE(kernel->submit(caller, {FlushRequest{fd}}, memory, {}).waits);
        return fd;
    };
    const auto fd = wait_for_flush(5);
    wait_for_flush(6);
    REQUIRE(kernel->submit({7, false}, {OpenRequest{"/dev/neuron0", 2}}, memory, {}).value > 0);
    REQUIRE(kernel->submit({7, false}, {FlushRequest{fd}}, memory, {}).waits); // an inherited file
    CHECK(kernel->waiting() == 3);
    kernel->end_process(7);
    CHECK(kernel->waiting() == 2);
    kernel->submit({5, false}, {ReleaseRequest{fd}}, memory, {});
    CHECK(kernel->waiting() == 1);
    kernel->end_process(6);
    CHECK(kernel->waiting() == 0);
    const auto kept = wait_for_flush(8);
    for (int i = 0; i < 5000; ++i)
        REQUIRE(kernel->submit({8, false}, {FlushRequest{kept}}, memory, {}).waits);
    CHECK(kernel->waiting() == 1024);
}

TEST_CASE("every row of the service table is found by its own word", "[sim][kernel]") {
    for (const auto& row : sim::kServices) {
        CAPTURE(row.name);
        const auto* found = sim::find_service(row.word, row.until);
        REQUIRE(found != nullptr);
        CHECK(found == &row);
        CHECK(row.serve != nullptr);
    }
}
