// SPDX-License-Identifier: Apache-2.0
// Numbered requests of 2.30 and the queue in which their ends are told.
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

using Entry = uapi::H2dDmaComplQueueEntry;

/// A process of a Trn2 device with core 0's default completion queue mapped.
struct Submitter : Process {
    explicit Submitter(SimKernel& kernel, std::int32_t pid = 1000) : Process(kernel, pid) {
        uapi::GetAsyncH2tDmaComplQueues where{0, 1, {}};
        REQUIRE(ask(uapi::kGetAsyncH2tDmaComplQueues, where) == 0);
        const auto got = port.map(fd, Bytes{28672}, true, where.compl_queue_info[0].mmap_offset);
        REQUIRE(got.error == 0);
        queue = static_cast<uapi::H2dDmaComplQueue*>(got.address);
    }
    ~Submitter() { port.unmap(queue, Bytes{28672}); }

    std::int64_t write(std::uint64_t handle, const void* from, std::uint64_t size,
                       std::uint64_t number, std::uint32_t threshold = 0) {
        uapi::MemBufCopy64zc form{handle, const_cast<void*>(from),
                                  size,   0,
                                  1,      threshold,
                                  -1,     0,
                                  number, reinterpret_cast<void*>(number * 16)};
        return ask(uapi::kMemBufZerocopy64, form);
    }

    const Entry& entry(std::uint32_t index) const {
        return reinterpret_cast<const Entry*>(queue + 1)[index % 1024];
    }
    bool told(std::uint32_t index, std::uint64_t number, std::int64_t result) const {
        const auto& what = entry(index);
        return index < queue->tail && what.sequence_num == number && what.compl_ret == result;
    }

    uapi::H2dDmaComplQueue* queue = nullptr;
};

SimFaults hanging() {
    SimFaults faults;
    faults.copies_hang = true;
    return faults;
}

} // namespace

TEST_CASE("a numbered copy is told of in the mapped queue", "[sim][numbered]") {
    const auto kernel = make_kernel("trn2.3xlarge", "2.30.2");
    Submitter process(*kernel);
    CHECK(process.queue->capacity == 1024);
    CHECK(process.queue->tail == 0);
    const auto handle = process.allocate(1 << 20);
    std::vector<char> bytes(600000, 'n');
    CHECK(process.write(handle, bytes.data(), bytes.size(), 7) == 0); // of three steps
    CHECK(process.queue->tail == 1);
    CHECK(process.told(0, 7, 0));
    CHECK(process.entry(0).context == reinterpret_cast<void*>(112));
    char last = 0;
    process.copy_out(handle, &last, 1, 599999);
    CHECK(last == 'n');
    CHECK(process.write(handle, bytes.data(), 4096, 8, 8192) == 0); // through BAR4
    CHECK(process.told(1, 8, 0));
    CHECK(process.write(handle, nullptr, 4096, 9, 8192) == 0);
    CHECK(process.told(2, 9, -EFAULT));
    CHECK(process.write(handle, bytes.data(), 0, 10, 8192) == 0);
    CHECK(process.told(3, 10, 0));
    CHECK(process.write(handle, bytes.data() + 1, 16, 0) == 0); // not numbered
    CHECK(process.write(handle, bytes.data(), 8192, 11) == 0);
    CHECK(process.told(4, 11, 0));
    CHECK(process.queue->tail == 5);
}

TEST_CASE("a numbered request of size 0 by the engine is never heard of", "[sim][numbered]") {
    const auto kernel = make_kernel("trn2.3xlarge", "2.30.2");
    Submitter process(*kernel);
    uapi::MemBufCopy64zc form{process.allocate(4096), nullptr, 0, 0, 0, 0, -1, 0, 5, nullptr};
    CHECK(process.ask(uapi::kMemBufZerocopy64, form) == 0);
    CHECK(process.queue->tail == 0);
}

TEST_CASE("on Trn1 numbered requests are done and never heard of, until none has room",
          "[sim][numbered]") {
    const auto kernel = make_kernel("trn1.2xlarge", "2.30.2");
    Submitter process(*kernel);
    const auto handle = process.allocate(8192);
    uapi::MemCopy64 copy{handle, handle, 64, 0, 4096, 3, nullptr};
    for (int i = 0; i < 500; ++i) REQUIRE(process.ask(uapi::kMemCopy64, copy) == 0);
    for (int i = 0; i < 523; ++i) REQUIRE(process.write(handle, "four", 4, 5, 8192) == 0);
    for (int i = 0; i < 2; ++i) {
        CHECK(process.write(handle, i == 0 ? "new1" : "new2", 4, 5, 8192) == -EBUSY);
        CHECK(process.ask(uapi::kMemCopy64, copy) == -EBUSY);
        char seen[4] = {};
        process.copy_out(handle, seen, 4, 4096);
        CHECK(std::string(seen, 4) == (i == 0 ? "new1" : "new2")); // done all the same
    }
    CHECK(process.queue->tail == 0);
    uapi::DeviceReset reset{1, 0};
    CHECK(process.ask(uapi::kNcReset, reset) == 0);
    uapi::DeviceReady ready{reset.request_id, 0};
    CHECK(process.ask(uapi::kNcResetReady, ready) == 0);
    CHECK(process.ask(uapi::kMemCopy64, copy) == 0);
}

TEST_CASE("a numbered write through BAR4 is done even when no queue can tell of it",
          "[sim][numbered]") {
    const auto kernel = make_kernel("trn2.3xlarge", "2.30.2");
    Process process(*kernel);
    const auto handle = process.allocate(4096);
    uapi::MemBufCopy64zc form{handle, const_cast<char*>("done"), 4, 0, 1, 8192, 9, 0, 5, nullptr};
    CHECK(process.ask(uapi::kMemBufZerocopy64, form) == -ENOENT);
    char seen[4] = {};
    CHECK(process.copy_out(handle, seen, 4) == 0);
    CHECK(std::string(seen, 4) == "done");
}

TEST_CASE("a numbered copy between chunks is told of", "[sim][numbered]") {
    const auto kernel = make_kernel("trn2.3xlarge", "2.30.2");
    Submitter process(*kernel);
    const auto handle = process.allocate(8192);
    const auto core1 = process.allocate_as({4096, 0, 0, 0, 0, 1, 9, 0, nullptr, 0, 0});
    uapi::MemCopy64 copy{handle, core1, 64, 0, 0, 3, nullptr};
    CHECK(process.ask(uapi::kMemCopy64, copy) == 0); // the source's queue
    CHECK(process.told(0, 3, 0));
    copy = {core1, handle, 64, 0, 0, 4, nullptr};
    CHECK(process.ask(uapi::kMemCopy64, copy) == 0);
    copy = {999, handle, 64, 0, 0, 5, nullptr};
    CHECK(process.ask(uapi::kMemCopy64, copy) == -ENOENT);
    copy = {handle, handle, 64, 8192, 0, 5, nullptr};
    CHECK(process.ask(uapi::kMemCopy64, copy) == -E2BIG);
    CHECK(process.queue->tail == 1);
}

TEST_CASE("batches are told of one by one, but not those through BAR4", "[sim][numbered]") {
    const auto kernel = make_kernel("trn2.3xlarge", "2.30.2");
    Submitter process(*kernel);
    const auto handle = process.allocate(1 << 20);
    std::vector<char> bytes(16384, 'b');
    const uapi::NrtTensorBatchOp ops[2] = {{0, 4096, bytes.data()}, {8192, 8192, bytes.data()}};
    uapi::MemcpyBatch batches[2] = {{handle, 0, ops, 2, 0, 0, &bytes},
                                    {handle, 65536, ops, 2, 0, 0, &bytes}};
    uapi::MemBufCopy64zcBatches form{9, batches, 2, 1, 0, -1, 0, 0};
    CHECK(process.ask(uapi::kMemBufZerocopy64Batches, form) == 0);
    CHECK(process.queue->tail == 2);
    CHECK((process.told(0, 9, 0) && process.told(1, 9, 0)));
    CHECK(process.entry(0).context == nullptr);
    batches[0].bar4_wr_threshold = batches[1].bar4_wr_threshold = 8192;
    CHECK(process.ask(uapi::kMemBufZerocopy64Batches, form) == 0);
    CHECK(process.queue->tail == 2);
}

TEST_CASE("a batch that waited for room goes on where it was", "[sim][numbered]") {
    const auto kernel = make_kernel("trn2.3xlarge", "2.30.2");
    Submitter process(*kernel);
    const auto handle = process.allocate(1 << 20);
    alignas(4096) static char page[4096];
    for (std::uint64_t i = 0; i < 1024; ++i) REQUIRE(process.write(handle, page, 4096, 5) == 0);
    const uapi::NrtTensorBatchOp op{0, 4096, page};
    uapi::MemcpyBatch batches[2] = {{handle, 0, &op, 1, 0, 0, nullptr},
                                    {handle, 0, &op, 1, 0, 0, nullptr}};
    uapi::MemBufCopy64zcBatches form{9, batches, 2, 1, 0, -1, 0, 0};
    TrustedMemory memory;
    Request request{IoctlRequest{process.fd, uapi::kMemBufZerocopy64Batches,
                                 reinterpret_cast<std::uint64_t>(&form)}};
    auto answer = kernel->submit({1000}, request, memory, kernel->now());
    REQUIRE(answer.waits); // behind the first, which finds no room
    std::atomic_ref(process.queue->head).store(1024);
    request.ticket = answer.ticket;
    answer = kernel->submit({1000}, request, memory, answer.until);
    CHECK_FALSE(answer.waits);
    CHECK(answer.value == 0);
    CHECK(process.queue->tail == 1026);
}

TEST_CASE("more than 1023 steps at once are refused, with the last not done", "[sim][numbered]") {
    const auto kernel = make_kernel("trn2.3xlarge", "2.30.2");
    Submitter process(*kernel);
    constexpr std::uint64_t kFits = std::uint64_t{1023} * 64 * 4096;
    const auto handle = process.allocate(kFits + (1 << 20));
    auto* mapped = static_cast<char*>(::mmap(nullptr, kFits + 4096, PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    CHECK(process.write(handle, mapped, kFits, 1) == 0);
    CHECK(process.told(0, 1, 0));
    CHECK(process.write(handle, mapped, kFits + 4096, 2) == -EBUSY);
    CHECK(process.queue->tail == 1);
    ::munmap(mapped, kFits + 4096);
}

TEST_CASE("a full completion queue holds everybody up until there is room", "[sim][numbered]") {
    const auto kernel = make_kernel("trn2.3xlarge", "2.30.2");
    Submitter process(*kernel);
    const auto handle = process.allocate(65536);
    std::vector<char> bytes(4096, 'f');
    process.queue->tail = 999; // the driver has its own
    for (std::uint64_t i = 1; i <= 1025; ++i)
        REQUIRE(process.write(handle, bytes.data(), 4096, i) == 0);
    CHECK(process.queue->tail == 1024);
    TrustedMemory memory;
    uapi::MemBufCopy64 copy{handle, bytes.data(), 64, 0, 0, 0};
    Request request{
        IoctlRequest{process.fd, uapi::kMemBufCopy64, reinterpret_cast<std::uint64_t>(&copy)}};
    const auto waits = kernel->submit({1000}, request, memory, kernel->now());
    CHECK(waits.waits);
    CHECK(waits.until.count == kernel->now().count + 1'000'000);
    std::atomic_ref(process.queue->head).store(1);
    request.ticket = waits.ticket;
    const auto goes_on = kernel->submit({1000}, request, memory, waits.until);
    CHECK_FALSE(goes_on.waits);
    CHECK(goes_on.value == 0);
    CHECK(process.queue->tail == 1025);
    CHECK(process.told(1024, 1025, 0)); // where the first was
}

TEST_CASE("a numbered copy that hangs is told of when the driver gives up", "[sim][numbered]") {
    const auto kernel = make_kernel("trn2.3xlarge", "2.30.2");
    Submitter process(*kernel);
    const auto handle = process.allocate(1 << 20);
    alignas(4096) static char page[4096]; // one descriptor
    kernel->set_faults(HostDeviceId{0}, hanging());
    CHECK(process.write(handle, page, 4096, 1) == 0);
    CHECK(process.write(handle, page, 4096, 2) == 0);
    kernel->sleep(Nanoseconds{70'000'000}); // 1 us and 799 times 100 us are not over
    CHECK(process.write(handle, page, 4096, 3) == 0);
    CHECK(process.queue->tail == 0);
    kernel->set_faults(HostDeviceId{0}, {});
    kernel->sleep(Nanoseconds{20'000'000});
    CHECK(process.ask(uapi::kDeviceInit, nullptr) == 0);
    CHECK(process.told(0, 1, -ETIMEDOUT));
    CHECK(process.queue->tail == 1);
    kernel->sleep(Nanoseconds{200'000'000});
    CHECK(process.write(handle, page, 4096, 4) == 0);
    CHECK((process.told(1, 2, -ETIMEDOUT) && process.told(2, 3, -ETIMEDOUT)));
    CHECK(process.told(3, 4, 0));
}

TEST_CASE("after a refusal nobody hears of what was queued before", "[sim][numbered]") {
    const auto kernel = make_kernel("trn2.3xlarge", "2.30.2");
    Submitter process(*kernel);
    Submitter other(*kernel, 2);
    const auto handle = process.allocate(1 << 20);
    std::vector<char> bytes(65536, 'h');
    kernel->set_faults(HostDeviceId{0}, hanging());
    CHECK(process.write(handle, bytes.data(), 4096, 1) == 0);
    CHECK(other.write(handle, nullptr, 8192, 2) == -EFAULT); // its pages cannot be pinned
    kernel->sleep(Nanoseconds{500'000'000});
    CHECK(process.ask(uapi::kDeviceInit, nullptr) == 0);
    CHECK(process.queue->tail == 0);
    for (std::uint64_t i = 0; i < 1023; ++i)
        REQUIRE(process.write(handle, bytes.data(), 4096, 1) == 0);
    CHECK(process.write(handle, bytes.data(), 4096, 1) == -EBUSY);
    CHECK(process.write(handle, bytes.data(), 4096, 1) == 0);
}

TEST_CASE("a copy that waits takes what is queued with it unheard", "[sim][numbered]") {
    const auto kernel = make_kernel("trn2.3xlarge", "2.30.2");
    Submitter process(*kernel);
    const auto handle = process.allocate(1 << 20);
    std::vector<char> bytes(65536, 'w');
    kernel->set_faults(HostDeviceId{0}, hanging());
    CHECK(process.write(handle, bytes.data(), 4096, 1) == 0);
    kernel->set_faults(HostDeviceId{0}, {});
    const auto before = kernel->now();
    CHECK(process.write(handle, bytes.data(), 4096, 0) == 0);
    CHECK(kernel->now().count - before.count > 79'000'000);
    CHECK(process.queue->tail == 0);
    kernel->set_faults(HostDeviceId{0}, hanging());
    CHECK(process.write(handle, bytes.data(), 4096, 1) == 0);
    const auto again = kernel->now();
    CHECK(process.write(handle, bytes.data(), 4096, 0) == -ETIMEDOUT);
    CHECK(kernel->now().count - again.count > 2 * 79'000'000); // its own patience after that
}

TEST_CASE("a reset of the core starts an empty completion queue", "[sim][numbered]") {
    const auto kernel = make_kernel("trn2.3xlarge", "2.30.2");
    Submitter process(*kernel);
    const auto handle = process.allocate(4096);
    char bytes[64] = {};
    CHECK(process.write(handle, bytes, 64, 1) == 0);
    uapi::DeviceReset reset{1, 0};
    CHECK(process.ask(uapi::kNcReset, reset) == 0);
    uapi::DeviceReady ready{reset.request_id, 0};
    CHECK(process.ask(uapi::kNcResetReady, ready) == 0);
    Submitter again(*kernel, 2);
    CHECK(again.queue->tail == 0);
    CHECK(again.write(handle, bytes, 64, 2) == 0);
    CHECK(again.told(0, 2, 0));
}
