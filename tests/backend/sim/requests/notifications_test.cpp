// SPDX-License-Identifier: Apache-2.0
// Notification queues: which of them a request means, what it gets, what takes it away.
#include "neuronbook/backend/sim/requests/notifications.hpp"

#include <cerrno>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

struct Queues : Process {
    using Process::Process;
    using Form = uapi::NotificationsInitWithReallocV2;

    std::int64_t init(Form& form) { return ask(uapi::kNotificationsInitWithReallocV2, form); }
    Form made(Form form) {
        error = init(form);
        return form;
    }
    std::int64_t reset(std::uint32_t map) {
        uapi::DeviceReset form{map, 0};
        const auto answer = ask(uapi::kNcReset, form);
        uapi::DeviceReady ready{form.request_id, 0};
        return answer != 0 ? answer : ask(uapi::kNcResetReady, ready);
    }
};

/// A queue on the host of core 0 unless it says otherwise.
Queues::Form form(std::uint32_t owner = 0, std::uint32_t type = 0, std::uint32_t engine = 0,
                  std::uint32_t device_type = 0) {
    return {owner, device_type, type, engine, 4096, 1, 0, 0, 0, 0, 0, 0};
}

} // namespace

TEST_CASE("a queue is made once and found again with its chunk and handle", "[sim][nq]") {
    const auto kernel = make_kernel("trn1.2xlarge", GENERATE("2.24.7", "2.26.5", "2.30.2"));
    Queues process(*kernel, 1);
    auto first = process.made(form());
    CHECK(process.error == 0);
    CHECK(first.mmap_offset == process.pa(first.mem_handle));
    CHECK(first.mmap_offset >> 44 == 1);
    auto second = form();
    second.size = 1u << 20; // of no interest any more
    second.on_host_memory = 0;
    second.hbm_index = 99;
    CHECK(process.init(second) == 0);
    CHECK(second.mem_handle == first.mem_handle);
    CHECK(second.mmap_offset == first.mmap_offset);
    CHECK(process.made(form(1)).mem_handle != first.mem_handle);
    const auto view = process.port.map(process.fd, Bytes{4096}, true, first.mmap_offset);
    CHECK(view.error == 0);
}

TEST_CASE("checks of a queue in the driver's order", "[sim][nq]") {
    const auto [instance, driver, owners, tops, numbers] =
        GENERATE(table<const char*, const char*, std::uint32_t, std::uint32_t, std::uint32_t>(
            {{"trn1.2xlarge", "2.24.7", 2, 6, 96},
             {"trn1.2xlarge", "2.30.2", 2, 6, 96},
             {"trn2.3xlarge", "2.26.5", 8, 16, 96},
             {"trn2.3xlarge", "2.30.2", 8, 16, 80}}));
    const auto kernel = make_kernel(instance, driver);
    Queues process(*kernel, 1);
    const auto says = [&](Queues::Form ask) { return process.init(ask); };
    auto ask = form(owners, 99, 0, 2);
    ask.size = 3;
    CHECK(says(ask) == -ENOSYS);
    ask.nq_dev_type = 1;
    CHECK(says(ask) == -EINVAL);
    ask = form();
    ask.size = 0;
    CHECK(says(ask) == -ENOMEM);
    ask = form();
    ask.hbm_index = 4;
    CHECK(says(ask) == -EINVAL); // though it is on the host
    CHECK(says(form(owners - 1)) == 0);
    CHECK(says(form(owners)) == -EINVAL);
    CHECK(says(form(0x100)) == 0); // cut to eight bits
    CHECK(says(form(tops - 1, 0, 0, 1)) == 0);
    CHECK(says(form(tops, 0, 0, 1)) == -EINVAL);
    CHECK(says(form(0, numbers / 16 - 1, 15)) == 0);
    CHECK(says(form(0, numbers / 16, 0)) == -EINVAL);
    CHECK(process.made(form(0, 0, 16)).mem_handle == process.made(form(0, 1, 0)).mem_handle);
    CHECK(process.made(form(0, 16, 0)).mem_handle == process.made(form()).mem_handle);
    CHECK(process.ask(uapi::kNotificationsInitV2, nullptr) != 0);
}

TEST_CASE("a queue on the device is aligned to its size and cannot be mapped by an offset",
          "[sim][nq]") {
    const auto kernel = make_kernel();
    Queues process(*kernel, 1);
    process.allocate(4096);
    auto ask = form(1, 2, 3);
    ask.size = 1u << 20;
    ask.on_host_memory = 0;
    ask.hbm_index = 1;
    CHECK(process.init(ask) == 0);
    CHECK(ask.mmap_offset == 0xFFFFFFFFFFFFFFFF);
    CHECK(process.pa(ask.mem_handle) % (1u << 20) == 0);
    const auto chunks = kernel->chunks(HostDeviceId{0}, 1);
    REQUIRE(chunks.size() == 2);
    CHECK(chunks[1].category == 16);
    CHECK(chunks[1].core == 1);
    CHECK(chunks[1].pid == 1);
}

TEST_CASE("a processor's queue is charged to the core that it belongs to", "[sim][nq]") {
    const auto [instance, top, core] = GENERATE(table<const char*, std::uint32_t, std::uint32_t>(
        {{"trn1.2xlarge", 2, 0}, {"trn1.2xlarge", 3, 1}, {"trn2.3xlarge", 15, 7}}));
    const auto kernel = make_kernel(instance);
    Queues process(*kernel, 1);
    auto ask = form(top, 0, 0, 1);
    ask.on_host_memory = 0;
    CHECK(process.init(ask) == 0);
    CHECK(kernel->chunks(HostDeviceId{0}, 0)[1].core == core);
    const auto other = core == 0 ? 1u : core - 1;
    CHECK(process.reset(1u << other) == 0);
    CHECK(process.pa(ask.mem_handle) != 0xFFFFFFFFFFFFFFFF);
    CHECK(process.reset(1u << core) == 0);
    process.pa(ask.mem_handle);
    CHECK(process.error == -EINVAL);
}

TEST_CASE("a forced queue gets a new chunk, and keeps the old one when there is none",
          "[sim][nq]") {
    const auto kernel = make_kernel();
    Queues process(*kernel, 1);
    const auto first = process.made(form());
    auto forced = form();
    forced.force_alloc_mem = 1;
    forced.size = 8192;
    SimFaults faults;
    faults.failing_allocation = 1;
    kernel->set_faults(HostDeviceId{0}, faults);
    CHECK(process.init(forced) == -ENOMEM);
    CHECK(process.made(form()).mem_handle == first.mem_handle);
    CHECK(process.init(forced) == 0);
    CHECK(forced.mmap_offset != first.mmap_offset);
    CHECK(process.made(form()).mmap_offset == forced.mmap_offset);
    CHECK(kernel->census().devices[0].host.chunks == 1);
    CHECK(kernel->would_have_crashed().empty());
}

TEST_CASE("queues stay when their process leaves, and go with a reset of their core", "[sim][nq]") {
    const auto kernel = make_kernel();
    const auto before = kernel->census();
    {
        Queues process(*kernel, 1);
        process.made(form(0));
        process.made(form(1));
        process.made(form(5, 0, 0, 1));
        CHECK(process.port.close(process.fd) == 0);
    }
    CHECK(kernel->census().devices[0].host.chunks == 3);
    Queues other(*kernel, 2);
    const auto start = kernel->now().count;
    CHECK(other.reset(2) == 0); // core 1 and its processor
    CHECK(kernel->now().count - start == 102'000'000);
    CHECK(kernel->census().devices[0].host.chunks == 1);
    CHECK(other.reset(1) == 0);
    CHECK(other.port.close(other.fd) == 0);
    CHECK(kernel->census() == before);
}

TEST_CASE("a queue freed by its handle brings the kernel down at the next reset", "[sim][nq]") {
    const auto kernel = make_kernel();
    Queues process(*kernel, 1);
    const auto queue = process.made(form());
    CHECK(process.free(queue.mem_handle) == 0);
    CHECK(kernel->would_have_crashed().empty());
    const auto reused = process.allocate_host(4096);
    CHECK(process.reset(2) == 0);
    CHECK(kernel->would_have_crashed().empty());
    CHECK(process.reset(1) == 0);
    CHECK(kernel->would_have_crashed().size() == 1);
    CHECK(process.free(reused) == 0); // it was not taken along
}

TEST_CASE("the oldest form makes the same queue and names no handle", "[sim][nq]") {
    const auto kernel = make_kernel();
    Queues process(*kernel, 1);
    uapi::NotificationsInitV1 old{1, 2, 3, 8192, 0};
    CHECK(process.ask(uapi::kNotificationsInitV1, old) == 0);
    CHECK(kernel->census().devices[0].handles == 0);
    CHECK(process.made(form(1, 2, 3)).mmap_offset == old.mmap_offset);
    CHECK(kernel->census().devices[0].handles == 1);
    old = {2, 0, 0, 8192, 0};
    CHECK(process.ask(uapi::kNotificationsInitV1, old) == -EINVAL);
    uapi::NotificationsDestroy destroy{old.mmap_offset};
    CHECK(process.ask(uapi::kNotificationsDestroyV1, destroy) == 0);
    CHECK(kernel->census().devices[0].host.chunks == 1);
}
