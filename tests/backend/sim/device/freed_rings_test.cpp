// SPDX-License-Identifier: Apache-2.0
// Copies while a reset has taken their ring, and after one that failed.
#include <cerrno>
#include <cstdint>
#include <string>
#include <tuple>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

constexpr HostDeviceId kDevice{0};

struct Copier : Process {
    Copier(SimKernel& where, std::int32_t pid = 1000) : Process(where, pid), kernel(&where) {}

    std::int64_t reset(std::uint32_t map) {
        uapi::DeviceReset form{map, 0};
        return ask(uapi::kNcReset, form);
    }
    std::int32_t result() {
        uapi::DeviceReady form{static_cast<std::uint32_t>(port.caller().pid), 77};
        CHECK(ask(uapi::kNcResetReady, form) == 0);
        return form.result;
    }
    /// A reset that nobody acknowledges. The device is well again afterwards.
    void fail_reset(std::uint32_t map) {
        SimFaults faults;
        faults.resets_hang = true;
        kernel->set_faults(kDevice, faults);
        CHECK(reset(map) == 0);
        CHECK(result() == 1);
        kernel->set_faults(kDevice, {});
    }
    std::uint32_t take_queue() {
        uapi::H2tDmaAllocQueues form{};
        form.copy_queue_cnt = 1;
        CHECK(ask(uapi::kH2tDmaAllocQueues, form) == 0);
        return form.copy_queue_bmap;
    }
    std::int64_t give(std::uint32_t map) {
        uapi::H2tDmaFreeQueues form{0, 0, 0, map};
        return ask(uapi::kH2tDmaFreeQueues, form);
    }
    std::int64_t completions() {
        uapi::GetAsyncH2tDmaComplQueues form{0, 1, {}};
        return ask(uapi::kGetAsyncH2tDmaComplQueues, form);
    }
    std::int64_t zero_copy(std::uint64_t handle, std::int32_t qid) {
        static char page[4096];
        uapi::MemBufCopy64zc form{handle, page, 4096, 0, 1, 0, qid, 0, 0, nullptr};
        return ask(uapi::kMemBufZerocopy64, form);
    }
    std::int64_t start(std::uint64_t handle) {
        uapi::MemCopyAsync64 form{handle, handle, 16, 0, 4096, 0, 0xFFFFFFFF, 0};
        return ask(uapi::kMemCopyAsync64, form);
    }
    std::int64_t wait(std::uint64_t handle) {
        uapi::MemCopyAsyncWait form{handle, handle, 1, 0};
        return ask(uapi::kMemCopyAsyncWait, form);
    }
    /// Bytes on the host that the driver has for this process.
    std::uint64_t host_bytes() {
        struct {
            uapi::GetAppsInfo head;
            uapi::AppInfo apps[4];
        } form{};
        form.head.apps_info_flags = 0xF;
        form.head.capacity = 4;
        CHECK(ask(uapi::kDeviceGetAllAppsInfo, form) == 0);
        for (const auto& app : form.apps)
            if (app.pid == port.caller().pid) return app.host_mem_size;
        return ~std::uint64_t{0};
    }

    SimKernel* kernel;
};

std::uint64_t driver_memory(const SimKernel& kernel) {
    char text[32] = {};
    const std::string path = "/sys/devices/virtual/neuron_device/neuron0/stats/memory_usage/"
                             "host_mem/driver_memory/total";
    REQUIRE(kernel.read_file(path, text) > 0);
    return std::stoull(text);
}

} // namespace

TEST_CASE("since 2.29 a reset frees the queues of its cores when it begins", "[sim][freed]") {
    const auto kernel = make_kernel("trn2.3xlarge", "2.30.2");
    Copier process(*kernel);
    const auto handle = process.allocate(65536);
    const auto before = driver_memory(*kernel);
    CHECK(process.take_queue() == 0x4);
    CHECK(process.reset(1) == 0);
    CHECK(driver_memory(*kernel) == before - 294912); // its own queue is gone as well
    CHECK(process.completions() == -EINVAL);
    CHECK(process.give(0x4) == -ENXIO);
    CHECK(process.zero_copy(handle, 2) == -ENOENT);
    CHECK(process.zero_copy(handle, -1) == -ENOENT);
    CHECK(process.result() == 0);
    CHECK(driver_memory(*kernel) == before);
    CHECK(process.completions() == 0);
    CHECK(process.zero_copy(handle, -1) == 0);
}

TEST_CASE("after a reset that failed a core has the queues that it is given", "[sim][freed]") {
    const auto kernel = make_kernel("trn2.3xlarge", "2.30.2");
    Copier process(*kernel);
    const auto handle = process.allocate(65536);
    const auto other = process.allocate_as({4096, 0, 0, 0, 0, 2, 9, 0, nullptr, 0, 0});
    process.fail_reset(1);
    CHECK(process.completions() == -EINVAL);
    CHECK(process.zero_copy(handle, -1) == -ENOENT);
    CHECK(process.take_queue() == 0x4);
    CHECK(process.zero_copy(handle, 2) == 0);
    uapi::MemCopy64 copy{handle, other, 64, 0, 0, 3, nullptr};
    CHECK(process.ask(uapi::kMemCopy64, copy) == -ENOENT); // it cannot be told of
    CHECK(kernel->would_have_crashed().empty());
    CHECK(process.reset(1) == 0);
    CHECK(process.result() == 0);
    CHECK(process.zero_copy(handle, -1) == 0);
}

TEST_CASE("through a ring that is gone a copy waits and fails, however it is asked for",
          "[sim][freed]") {
    for (const auto& [driver, error, patience] :
         {std::tuple{"2.24.7", -EPERM, 19'901'000}, std::tuple{"2.30.2", -ETIMEDOUT, 79'901'000}}) {
        const auto kernel = make_kernel("trn2.3xlarge", driver);
        Copier process(*kernel);
        const auto handle = process.allocate(65536);
        process.fail_reset(1);
        const auto start = kernel->now().count;
        CHECK(process.copy_in(handle, "x", 1) == error);
        CHECK(kernel->now().count - start == static_cast<std::uint64_t>(patience));
        CHECK(kernel->would_have_crashed().size() == 1);
        CHECK(process.start(handle) == error);
        CHECK(process.wait(handle) == error);
        CHECK(process.reset(1) == 0);
        CHECK(process.result() == 0);
        CHECK(process.copy_in(handle, "x", 1) == 0);
    }
}

TEST_CASE("a copy through a ring that is gone fails even if a new one comes", "[sim][freed]") {
    const auto kernel = make_kernel("trn2.3xlarge", "2.30.2");
    Copier process(*kernel);
    const auto handle = process.allocate(65536);
    CHECK(process.reset(1) == 0);
    kernel->sleep(Nanoseconds{50'000'000}); // half of it
    CHECK(process.copy_in(handle, "x", 1) == -ETIMEDOUT);
    CHECK(process.result() == 0);
    CHECK(process.copy_in(handle, "x", 1) == 0);
}

TEST_CASE("on Trn1 a copy during a reset is tried again until that is over", "[sim][freed]") {
    const auto kernel = make_kernel("trn1.2xlarge", GENERATE("2.24.7", "2.26.5", "2.30.2"));
    Copier process(*kernel);
    const auto handle = process.allocate(65536);
    const auto core1 = process.allocate_as({4096, 0, 0, 0, 0, 1, 9, 0, nullptr, 0, 0});
    const auto start = kernel->now().count;
    CHECK(process.reset(1) == 0);
    CHECK(process.copy_in(core1, "core", 5) == 0); // not its core
    CHECK(kernel->now().count == start);
    CHECK(process.copy_in(handle, "kept", 5) == 0);
    CHECK(kernel->now().count == start + 100'000'000);
    char seen[5] = {};
    CHECK(process.copy_out(handle, seen, 5) == 0);
    CHECK(std::string(seen) == "kept");
    CHECK(process.result() == 0);
    CHECK(kernel->would_have_crashed().empty());
}

TEST_CASE("up to 2.26 rings go at the expense of who resets, later of nobody", "[sim][freed]") {
    for (const auto& [driver, left] : {std::tuple{"2.26.5", 0}, std::tuple{"2.30.2", 294912}}) {
        const auto kernel = make_kernel("trn2.3xlarge", driver);
        Copier process(*kernel);
        Copier other(*kernel, 2);
        CHECK(process.take_queue() == 0x4);
        CHECK(process.reset(1) == 0);
        CHECK(process.host_bytes() == static_cast<std::uint64_t>(left));
        CHECK(process.result() == 0);
        CHECK(process.host_bytes() == static_cast<std::uint64_t>(left));
        CHECK(other.host_bytes() == 0);
    }
    const auto kernel = make_kernel("trn1.2xlarge", "2.24.7");
    Copier process(*kernel);
    process.allocate_host(1u << 20);
    CHECK(process.reset(1) == 0);
    CHECK(process.host_bytes() == (1u << 20) - 262144); // never its own
    CHECK(process.result() == 0);
    CHECK(process.host_bytes() == (1u << 20) - 262144);
}
