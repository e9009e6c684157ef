// SPDX-License-Identifier: Apache-2.0
// The way of a request: who serves it, what is noted, how it waits.
#include "neuronbook/backend/sim/kernel.hpp"

#include <cerrno>

#include "fixture.hpp"

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
    CHECK(kernel->unmodelled().empty());
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
    CHECK(handle == 1);
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

TEST_CASE("every row of the service table is found by its own word", "[sim][kernel]") {
    for (const auto& row : sim::kServices) {
        CAPTURE(row.name);
        const auto* found = sim::find_service(row.word, row.until);
        REQUIRE(found != nullptr);
        CHECK(found == &row);
    }
}

TEST_CASE("what is not modelled yet is noted and refused", "[sim][kernel]") {
    const sim::Service* missing = nullptr;
    for (const auto& row : sim::kServices)
        if (row.serve == nullptr && row.since == sim::Release::V2_24_7 &&
            row.until == sim::Release::V2_30_2)
            missing = &row;
    if (missing == nullptr) return;
    const auto kernel = make_kernel();
    Process process(*kernel);
    CHECK(process.ask(missing->word, nullptr) == -EINVAL);
    CHECK(kernel->unmodelled() == std::vector<std::string>{std::string{missing->name}});
    CHECK(kernel->unknown().empty());
}
