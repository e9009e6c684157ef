// SPDX-License-Identifier: Apache-2.0
// DMA queues that a program sets up, and the descriptors in their rings.
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <tuple>
#include <vector>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

struct Rings : Process {
    using Process::Process;

    std::int64_t init(std::uint32_t engine, std::uint32_t qid, std::uint64_t tx, std::uint64_t rx,
                      std::uint32_t count = 64, std::uint64_t rxc = 0) {
        uapi::DmaQueueInit form{engine, qid, count, count, tx, rx, rxc, 0, 0};
        return ask(uapi::kDmaQueueInit, form);
    }
    std::int64_t start(std::uint32_t engine, std::uint32_t qid, std::uint32_t tx,
                       std::uint32_t rx) {
        uapi::DmaQueueCopyStart form{engine, qid, tx, rx};
        return ask(uapi::kDmaQueueCopyStart, form);
    }
    std::int64_t ack(std::uint32_t engine, std::uint32_t qid) {
        uapi::DmaAckCompleted form{engine, qid, 1};
        return ask(uapi::kDmaAckCompleted, form);
    }
    uapi::DmaQueueState state(std::uint32_t engine, std::uint32_t qid) {
        uapi::DmaQueueState tx, rx;
        uapi::DmaQueueGetState form{engine, qid, &tx, &rx};
        error = ask(uapi::kDmaQueueGetState, form);
        return tx;
    }
    std::int64_t put(std::uint64_t handle, const void* from, std::uint32_t count,
                     std::uint64_t offset = 0, std::uint32_t type = 0) {
        uapi::DmaCopyDescriptors64 form{handle, const_cast<void*>(from), count, 0, offset, type, 0};
        return ask(uapi::kDmaCopyDescriptors64, form);
    }
    std::int64_t get(std::uint32_t engine, std::uint32_t qid, std::uint32_t start,
                     std::uint32_t count, void* to, std::uint32_t type = 0) {
        uapi::DmaDescriptorCopyout form{engine, qid, type, start, count, 0, to};
        return ask(uapi::kDmaDescriptorCopyout, form);
    }
};

} // namespace

TEST_CASE("engines have a state and 16 queues, if they are there", "[sim][dma]") {
    const bool trn1 = GENERATE(true, false);
    const auto kernel = make_kernel(trn1 ? "trn1.2xlarge" : "trn2.3xlarge");
    Rings process(*kernel);
    uapi::DmaEngState state;
    const auto get = [&](std::uint32_t engine) {
        uapi::DmaEngGetState form{engine, 0, &state};
        return process.ask(uapi::kDmaEngGetState, form);
    };
    const auto set = [&](std::uint32_t engine, std::uint32_t to) {
        uapi::DmaEngSetState form{engine, to};
        return process.ask(uapi::kDmaEngSetState, form);
    };
    CHECK(get(33) == 0);
    CHECK((state.num_queues == 16 && state.max_queues == 16 && state.revision_id == 4));
    for (const auto& [to, now] : {std::pair{2u, 2u}, {3u, 3u}, {7u, 3u}, {0u, 1u}}) {
        CHECK(set(33, to) == 0);
        CHECK(get(33) == 0);
        CHECK((state.tx_state == now && state.rx_state == now));
    }
    CHECK(get(131) == 0);
    CHECK(state.num_queues == (trn1 ? 0 : 16));
    CHECK(get(132) == -EINVAL);
    CHECK(set(132, 2) == -EINVAL);
    uapi::DmaEngGetState nowhere{0, 0, nullptr};
    CHECK(process.ask(uapi::kDmaEngGetState, nowhere) == 20);
}

TEST_CASE("setting a queue up checks in the driver's order", "[sim][dma]") {
    const auto kernel = make_kernel("trn1.2xlarge", GENERATE("2.24.7", "2.26.5", "2.30.2"));
    Rings process(*kernel);
    const auto tx = process.allocate(4096), rx = process.allocate_host(4096);
    CHECK(process.init(0, 3, tx, rx) == 0);
    const auto state = process.state(0, 3);
    CHECK((state.base_addr == process.pa(tx) && state.length == 64 && state.sw_status == 2));
    CHECK(process.state(0, 4).length == 0);
    CHECK(process.init(132, 0, tx, rx) == -EINVAL);
    CHECK(process.init(0, 16, tx, rx) == -EINVAL);
    CHECK(process.init(0, 3, tx, rx, 512, rx) == -EINVAL); // 8192 bytes of completions
    CHECK(process.init(0, 3, tx, rx, 65) == -EPERM);
    CHECK(process.init(0, 3, tx, rx, 64, rx) == -EPERM);
    CHECK(process.init(34, 3, tx, rx) == -EINVAL); // Trn1 has no such engine
    CHECK(process.init(0, 3, tx, rx, 16) == -EINVAL);
    CHECK(process.init(0, 3, tx, rx, (1u << 24) + 16) == -EINVAL);
    CHECK(process.init(0, 3, 999, rx) == 0); // as if there was none
    CHECK(process.state(0, 3).base_addr == 0);
    CHECK(process.ask(uapi::kDmaQueueInit, nullptr) ==
          (kernel->machine().at_least(sim::Release::V2_30_2) ? -EFAULT : -EACCES));
}

TEST_CASE("the driver's own copy queues are not to be had from 2.25 on", "[sim][dma]") {
    const auto newer = make_kernel("trn2.3xlarge", GENERATE("2.26.5", "2.30.2"));
    Rings process(*newer);
    const auto ring = process.allocate_host(4096);
    uapi::H2tDmaAllocQueues more{0, 0, 1, 1, 0, 0, 0};
    REQUIRE(process.ask(uapi::kH2tDmaAllocQueues, more) == 0); // 2 copies, 3 is for a program
    for (const std::uint32_t qid : {0u, 1u, 2u})
        CHECK(process.init(128, qid, ring, ring) == -EALREADY);
    for (const std::uint32_t qid : {3u, 4u}) CHECK(process.init(128, qid, ring, ring) == 0);
    CHECK(process.state(128, 0).length == 8192);
    const auto old = make_kernel("trn1.2xlarge", "2.24.7");
    Rings other(*old);
    const auto chunk = other.allocate(4096);
    const auto host = other.allocate_host(4096);
    CHECK(other.init(33, 0, host, host) == 0);
    char byte = 0;
    CHECK(other.copy_out(chunk, &byte, 1) == 0); // core 0 has engine 32
    CHECK(old->would_have_crashed().empty());
    CHECK(other.init(32, 0, host, host) == 0);
    other.copy_out(chunk, &byte, 1);
    CHECK(old->would_have_crashed().size() == 1);
}

TEST_CASE("a batch of queues stops at the first that is wrong", "[sim][dma]") {
    const auto kernel = make_kernel();
    Rings process(*kernel);
    const auto ring = process.allocate_host(4096);
    const auto form = std::make_unique<uapi::DmaQueueInitBatch>();
    for (std::uint32_t i = 0; i < 3; ++i) form->entries[i] = {1, i, 64, 64, ring, ring, 0, 0, 0};
    form->entries[1].qid = 16;
    form->count = 3;
    CHECK(process.ask(uapi::kDmaQueueInitBatch, *form) == -EINVAL);
    CHECK(process.state(1, 0).length == 64);
    CHECK(process.state(1, 2).length == 0);
    form->count = 256;
    CHECK(process.ask(uapi::kDmaQueueInitBatch, *form) == -E2BIG);
    form->count = 0;
    CHECK(process.ask(uapi::kDmaQueueInitBatch, *form) == 0);
}

TEST_CASE("a start is checked against the rings", "[sim][dma]") {
    const bool newer = GENERATE(false, true);
    const auto kernel = make_kernel("trn1.2xlarge", newer ? "2.30.2" : "2.26.5");
    Rings process(*kernel);
    const auto ring = process.allocate_host(4096);
    CHECK(process.init(0, 1, ring, ring, 48) == 0);
    CHECK(process.start(0, 1, 48, 48) == 0);
    CHECK(process.start(0, 1, 0, 40) == 0);
    CHECK(process.start(0, 1, 49, 1) == -EPERM);
    CHECK(process.start(0, 1, 1, 49) == -EPERM);
    CHECK(process.start(0, 1, 1, 0) == (newer ? -EPERM : 0));
    CHECK(process.start(0, 16, 1, 1) == -EPERM);
    CHECK(process.start(34, 0, 0, 0) == -EPERM);
    CHECK(process.start(132, 0, 0, 0) == -EINVAL);
    CHECK(process.ack(0, 1) == (newer ? -EPERM : 0)); // 48 is no power of two
    CHECK(process.ack(0, 16) == -EINVAL);
    CHECK(process.ack(34, 0) == -EINVAL);
    CHECK(kernel->would_have_crashed().empty());
    CHECK(process.init(0, 2, ring, 0) == 0);
    process.start(0, 2, 1, 1);
    CHECK(kernel->would_have_crashed().size() == 1);
    process.state(0, 16);
    CHECK(kernel->would_have_crashed().size() == 2);
}

TEST_CASE("descriptors go into a ring's memory and come back", "[sim][dma]") {
    const auto kernel = make_kernel(GENERATE("trn1.2xlarge", "trn2.3xlarge"));
    Rings process(*kernel);
    const bool host = GENERATE(true, false);
    const auto ring = host ? process.allocate_host(131072) : process.allocate(131072);
    const auto target = process.allocate_host(4096);
    std::vector<std::array<std::uint64_t, 2>> in(8192);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = {i, process.pa(target) + i % 4096};
    auto out = in;
    CHECK(process.put(ring, in.data(), 8192) == 0);
    CHECK(process.init(2, 5, ring, ring, 8192) == 0);
    CHECK(process.get(2, 5, 100, 8, out.data()) == 0);
    CHECK(out[0][0] == (host ? 100u : 0u)); // device rings are read from their start
    CHECK(process.get(2, 5, 0, 8192, out.data(), 1) == 0);
    CHECK(out == in);
    CHECK(process.get(2, 5, 0, 0, out.data()) == -EINVAL);
    CHECK(process.get(2, 5, 8190, 3, out.data()) == -EFBIG);
    CHECK(process.get(2, 5, 0, 1, out.data(), 2) == -EINVAL);
    CHECK(process.get(2, 16, 0, 1, out.data()) == -EINVAL);
    CHECK(process.get(2, 6, 0, 1, out.data()) == -EFBIG);
    CHECK(process.get(2, 5, 0, 1, nullptr) == 16);
    CHECK(process.free(ring) == 0);
    CHECK(process.get(2, 5, 0, 1, out.data()) == -EINVAL);
}

TEST_CASE("a descriptor may name only host memory that is somebody's chunk", "[sim][dma]") {
    const auto kernel = make_kernel();
    Rings process(*kernel);
    Rings other(*kernel, 2);
    const auto ring = process.allocate_host(131072);
    const auto theirs = other.allocate_host(4096);
    std::vector<std::array<std::uint64_t, 2>> in(8192, {0, 0x1000000});
    in[0][1] = other.pa(theirs);
    CHECK(process.put(ring, in.data(), 8192) == 0);
    in[0][0] = 7;
    in[5000][1] = 0x1100000000000 | 5; // not how host memory looks
    CHECK(process.put(ring, in.data(), 8192) == 0);
    in[0][0] = 8;
    in[5000][1] = 0x10FFFFFFF000;
    CHECK(process.put(ring, in.data(), 8192) == -EINVAL);
    std::uint64_t first = 0;
    process.copy_out(ring, &first, 8);
    CHECK(first == 8); // the first 4096 were done
    CHECK(process.put(ring, in.data(), 1, 0, 2) == -EPERM);
    CHECK(process.put(ring, in.data(), 0, 0, 2) == 0);
    CHECK(process.put(ring, in.data(), 8193) == -EINVAL);
    CHECK(process.put(ring, in.data(), 1, 131072 - 15) == -EINVAL);
    CHECK(process.put(999, in.data(), 1) == -EINVAL);
    CHECK(process.put(ring, nullptr, 1) == 16);
    uapi::DmaCopyDescriptors shorter{ring, in.data(), 2, 16, 1, 0};
    CHECK(process.ask(uapi::kDmaCopyDescriptors, shorter) == 0);
}

TEST_CASE("what a process set up gets a dummy ring when it leaves", "[sim][dma]") {
    const auto kernel = make_kernel();
    Rings process(*kernel);
    {
        Rings mortal(*kernel, 2);
        const auto ring = mortal.allocate_host(4096);
        for (const std::uint32_t qid : {3u, 14u}) CHECK(mortal.init(0, qid, ring, ring) == 0);
        CHECK(mortal.init(11, 14, ring, ring) == 0);
        CHECK(process.init(1, 3, ring, ring) == 0);
        CHECK(mortal.port.close(mortal.fd) == 0);
    }
    const auto dummy = process.state(0, 3);
    CHECK(dummy.length == 64);
    CHECK(dummy.base_addr >> 44 == 1);
    CHECK(process.state(11, 14).base_addr == dummy.base_addr);
    CHECK(process.state(0, 14).base_addr != dummy.base_addr); // the hardware's own
    CHECK(process.state(1, 3).base_addr != dummy.base_addr);  // another process's
}

TEST_CASE("no exit looks at the host-to-device engines", "[sim][dma]") {
    const auto kernel = make_kernel();
    Rings process(*kernel);
    const auto ring = process.allocate_host(4096);
    Rings mortal(*kernel, 2);
    uapi::H2tDmaAllocQueues queues{};
    queues.service_queue_cnt = 1;
    CHECK(mortal.ask(uapi::kH2tDmaAllocQueues, queues) == 0);
    CHECK(queues.service_queue_bmap == 2);
    for (const std::uint32_t qid : {1u, 9u}) CHECK(mortal.init(32, qid, ring, ring) == 0);
    CHECK(mortal.port.close(mortal.fd) == 0);
    for (const std::uint32_t qid : {1u, 9u})
        CHECK(process.state(32, qid).base_addr == process.pa(ring));
}

TEST_CASE("descriptors in device memory come as a copy of their size", "[sim][dma]") {
    const auto kernel = make_kernel();
    Rings process(*kernel);
    const auto ring = process.allocate(131072);
    std::vector<std::uint64_t> out(16384);
    CHECK(process.init(2, 5, ring, ring, 8192) == 0);
    SimFaults faults;
    faults.copies_hang = true;
    kernel->set_faults(HostDeviceId{0}, faults);
    const auto start = kernel->now().count;
    CHECK(process.get(2, 5, 0, 8192, out.data()) == -EPERM);
    CHECK(kernel->now().count - start == (5 + 795 * 100) * 1000u); // of two descriptors
}

TEST_CASE("some DMA requests ask for attachment first", "[sim][dma]") {
    const auto kernel = make_kernel();
    Rings process(*kernel);
    Rings child(*kernel, 2);
    CHECK(child.port.close(child.fd) == 0);
    child.fd = process.fd;
    for (const auto word :
         {uapi::kDmaEngInit, uapi::kDmaEngSetState, uapi::kDmaQueueInit, uapi::kDmaAckCompleted,
          uapi::kDmaQueueRelease, uapi::kDmaCopyDescriptors})
        CHECK(child.ask(word, nullptr) == -EACCES);
    CHECK(child.start(0, 16, 0, 0) == -EPERM);
    CHECK(child.put(999, nullptr, 1) == -EINVAL);
}
