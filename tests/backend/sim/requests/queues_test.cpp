// SPDX-License-Identifier: Apache-2.0
// More host-to-device queues, fewer, and where their completions are.
#include <cerrno>
#include <cstdint>
#include <string>
#include <tuple>

#include "backend/sim/fixture.hpp"
#include "neuronbook/backend/sim/sysfs/sysfs.hpp"

using namespace sim_test;

namespace {

struct Queues : Process {
    using Process::Process;

    uapi::H2tDmaAllocQueues form{};

    /// What the driver answers; what it says is in `form`, which starts as 0xEEEE.
    std::int64_t take(std::uint16_t core, std::uint16_t copies, std::uint16_t services) {
        form = {0, core, copies, services, 0xEEEE, 0xEEEE, 0xEEEE};
        return ask(uapi::kH2tDmaAllocQueues, form);
    }
    std::int64_t give(std::uint8_t core, std::uint32_t map) {
        uapi::H2tDmaFreeQueues ask_for{0, core, 0, map};
        return ask(uapi::kH2tDmaFreeQueues, ask_for);
    }
    bool got(std::uint32_t copies, std::uint32_t services, std::uint32_t own) const {
        return form.copy_queue_bmap == copies && form.service_queue_bmap == services &&
               form.copy_default_queue == own;
    }
    bool untouched() const { return got(0xEEEE, 0xEEEE, 0xEEEE); }
};

std::uint64_t driver_memory(const SimKernel& kernel) {
    char text[32] = {};
    const std::string path = "/sys/devices/virtual/neuron_device/neuron0/stats/memory_usage/"
                             "host_mem/driver_memory/total";
    REQUIRE(kernel.read_file(path, text) > 0);
    return std::stoull(text);
}

} // namespace

TEST_CASE("no queue at all asks for the core's own", "[sim][queues]") {
    const auto driver = GENERATE("2.26.5", "2.30.2");
    const auto trn1 = make_kernel("trn1.2xlarge", driver);
    Queues old(*trn1);
    for (const std::uint16_t core : {0, 1}) {
        CHECK(old.take(core, 0, 0) == 0);
        CHECK(old.got(0, 0, 0));
    }
    const auto trn2 = make_kernel("trn2.3xlarge", driver);
    Queues process(*trn2);
    for (std::uint16_t core = 0; core < 8; ++core) {
        CHECK(process.take(core, 0, 0) == 0);
        CHECK(process.got(0, 0, core % 2));
    }
}

TEST_CASE("queues are numbered lowest first, copy queues before service queues", "[sim][queues]") {
    const auto kernel = make_kernel();
    Queues process(*kernel);
    CHECK(process.take(0, 1, 0) == 0);
    CHECK(process.got(0x2, 0, 0));
    CHECK(process.take(0, 1, 2) == 0);
    CHECK(process.got(0x4, 0x18, 0));
    CHECK(process.take(1, 1, 0) == 0); // another engine
    CHECK(process.got(0x2, 0, 0));
    const auto trn2 = make_kernel("trn2.3xlarge");
    Queues pair(*trn2);
    CHECK(pair.take(0, 1, 0) == 0); // 0 and 1 are the pair's own
    CHECK(pair.got(0x4, 0, 0));
    CHECK(pair.take(1, 1, 1) == 0); // the same engine's numbers
    CHECK(pair.got(0x8, 0x10, 1));
    CHECK(pair.take(2, 1, 0) == 0);
    CHECK(pair.got(0x4, 0, 0));
}

TEST_CASE("a refused request for queues leaves everything as it was", "[sim][queues]") {
    for (const auto& [driver, none_left] :
         {std::tuple{"2.26.5", -EPERM}, std::tuple{"2.30.2", -EBUSY}}) {
        const auto kernel = make_kernel("trn1.2xlarge", driver);
        Queues process(*kernel);
        CHECK(process.take(0, 1, 2) == 0);
        const auto before = driver_memory(*kernel);
        for (const auto& [core, copies, services, answer] : {std::tuple{0, 8, 8, -E2BIG},
                                                             {0, 16, 0, -E2BIG},
                                                             {0, 65535, 1, -E2BIG},
                                                             {8, 1, 0, -E2BIG},
                                                             {65535, 1, 0, -E2BIG},
                                                             {2, 1, 0, -E2BIG},
                                                             {2, 0, 0, -E2BIG},
                                                             {0, 15, 0, none_left},
                                                             {0, 0, 15, none_left},
                                                             {0, 12, 1, none_left}}) {
            CHECK(process.take(static_cast<std::uint16_t>(core), static_cast<std::uint16_t>(copies),
                               static_cast<std::uint16_t>(services)) == answer);
            CHECK(process.untouched());
        }
        CHECK(driver_memory(*kernel) == before);
        CHECK(process.take(0, 12, 0) == 0); // all that are left
        CHECK(process.got(0xFFF0, 0, 0));
    }
}

TEST_CASE("what was not given cannot be given back, the rest is", "[sim][queues]") {
    const auto kernel = make_kernel("trn1.2xlarge", GENERATE("2.26.5", "2.30.2"));
    Queues process(*kernel);
    Queues other(*kernel, 2);
    CHECK(process.take(0, 2, 2) == 0);
    CHECK(process.give(0, 0x1) == 0); // the core's own: not looked at
    CHECK(process.give(0, 0x2) == 0);
    CHECK(process.give(0, 0x4000) == -ENXIO);
    CHECK(process.give(0, 0xFFFF0000) == 0);
    CHECK(process.give(0, 0) == 0);
    CHECK(process.give(1, 0x1E) == -ENXIO); // another core's
    CHECK(process.give(8, 0x2) == -E2BIG);
    CHECK(process.give(2, 0xFFFF) == -E2BIG);
    CHECK(other.give(0, 0x401C) == -ENXIO); // by anybody
    CHECK(process.give(0, 0x1C) == -ENXIO); // they are gone all the same
    CHECK(process.take(0, 1, 2) == 0);
    CHECK(process.got(0x2, 0xC, 0));
}

TEST_CASE("a copy queue takes memory of the driver's, a service queue none", "[sim][queues]") {
    for (const auto& [driver, bytes] :
         {std::tuple{"2.26.5", 266240}, std::tuple{"2.30.2", 294912}}) {
        const auto kernel = make_kernel("trn1.2xlarge", driver);
        Queues process(*kernel);
        const auto before = driver_memory(*kernel);
        CHECK(process.take(0, 0, 3) == 0);
        CHECK(driver_memory(*kernel) == before);
        CHECK(process.take(0, 2, 0) == 0);
        CHECK(driver_memory(*kernel) == before + 2u * static_cast<unsigned>(bytes));
        CHECK(process.give(0, process.form.copy_queue_bmap) == 0);
        CHECK(driver_memory(*kernel) == before);
    }
    SimOptions little;
    little.host_memory = Bytes{1u << 20};
    const auto kernel = std::move(*SimKernel::make(little));
    Queues process(*kernel);
    const auto before = driver_memory(*kernel);
    CHECK(process.take(0, 3, 0) == -ENOMEM);
    CHECK(process.untouched());
    CHECK(driver_memory(*kernel) == before);
}

TEST_CASE("a reset of a core takes its queues, whoever got them", "[sim][queues]") {
    const auto kernel = make_kernel("trn2.3xlarge", GENERATE("2.26.5", "2.30.2"));
    Queues process(*kernel);
    Queues other(*kernel, 2);
    CHECK(process.take(0, 1, 1) == 0);
    CHECK(process.take(1, 1, 0) == 0);
    CHECK(process.got(0x10, 0, 1));
    uapi::DeviceReset reset{1, 0};
    CHECK(other.ask(uapi::kNcReset, reset) == 0);
    uapi::DeviceReady ready{reset.request_id, 0};
    CHECK(other.ask(uapi::kNcResetReady, ready) == 0);
    CHECK(process.give(0, 0xC) == -ENXIO);
    CHECK(process.take(0, 1, 2) == 0); // core 1 keeps its own
    CHECK(process.got(0x4, 0x28, 0));
    CHECK(process.give(1, 0x10) == 0);
}

TEST_CASE("queues outlive the process that asked for them", "[sim][queues]") {
    const auto kernel = make_kernel("trn1.2xlarge", GENERATE("2.26.5", "2.30.2"));
    Queues process(*kernel);
    {
        Queues mortal(*kernel, 2);
        CHECK(mortal.take(0, 1, 1) == 0);
        CHECK(mortal.got(0x2, 0x4, 0));
        CHECK(mortal.port.close(mortal.fd) == 0);
    }
    CHECK(process.take(0, 1, 0) == 0);
    CHECK(process.form.copy_queue_bmap == 0x8);
}

TEST_CASE("an argument that cannot be read or written, by release", "[sim][queues]") {
    const auto older = make_kernel();
    Queues process(*older);
    CHECK(process.ask(uapi::kH2tDmaAllocQueues, nullptr) == 20);
    CHECK(process.ask(uapi::kH2tDmaFreeQueues, nullptr) == 8);
    const auto newer = make_kernel("trn1.2xlarge", "2.30.2");
    Queues other(*newer);
    CHECK(other.ask(uapi::kH2tDmaAllocQueues, nullptr) == -EFAULT);
    CHECK(other.ask(uapi::kH2tDmaFreeQueues, nullptr) == -EFAULT);
    CHECK(other.ask(uapi::kGetAsyncH2tDmaComplQueues, nullptr) == -EFAULT);
    static const uapi::H2tDmaAllocQueues constant{0, 0, 1, 0, 0, 0, 0}; // in a read-only page
    CHECK(other.ask(uapi::kH2tDmaAllocQueues, const_cast<uapi::H2tDmaAllocQueues*>(&constant)) ==
          -EFAULT);
    CHECK(other.take(0, 1, 0) == 0);
    CHECK(other.got(0x2, 0, 0)); // it was taken back
}

TEST_CASE("2.24 knows no queues, 2.26 no completion queues", "[sim][queues]") {
    const auto oldest = make_kernel("trn1.2xlarge", "2.24.7");
    Queues process(*oldest);
    CHECK(process.take(0, 0, 0) == -EINVAL);
    CHECK(process.give(0, 0) == -EINVAL);
    const auto older = make_kernel();
    uapi::GetAsyncH2tDmaComplQueues where{0, 1, {}};
    CHECK(Queues(*older).ask(uapi::kGetAsyncH2tDmaComplQueues, where) == -EINVAL);
}

TEST_CASE("completion queues are told by number, without asking whose they are", "[sim][queues]") {
    const auto kernel = make_kernel("trn2.3xlarge", "2.30.2");
    Queues process(*kernel);
    CHECK(process.take(1, 1, 1) == 0);
    CHECK(process.got(0x4, 0x8, 1));
    uapi::GetAsyncH2tDmaComplQueues where{0, 0xFFFF0007, {}};
    where.compl_queue_info[9] = {1, 2, 0};
    CHECK(process.ask(uapi::kGetAsyncH2tDmaComplQueues, where) == 0);
    for (const auto qid : {0, 1, 2}) {
        CHECK(where.compl_queue_info[qid].mmap_size == 24592);
        CHECK(where.compl_queue_info[qid].mmap_offset >> 46 == 1);
        CHECK(process.port
                  .map(process.fd, Bytes{28672}, true, where.compl_queue_info[qid].mmap_offset)
                  .error == 0);
    }
    CHECK(where.compl_queue_info[9].mmap_offset == 0);
    where = {0, 0xF, {}};
    where.compl_queue_info[0].mmap_size = 77;
    CHECK(process.ask(uapi::kGetAsyncH2tDmaComplQueues, where) == -EINVAL); // a service queue
    CHECK(where.compl_queue_info[0].mmap_size == 77);
    where = {8, 1, {}};
    CHECK(process.ask(uapi::kGetAsyncH2tDmaComplQueues, where) == -EINVAL);
    where = {0, 0, {}};
    CHECK(process.ask(uapi::kGetAsyncH2tDmaComplQueues, where) == 0);
}
