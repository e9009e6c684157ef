// SPDX-License-Identifier: Apache-2.0
// Opening and closing: lanes, attach slots, what each close takes along.
#include <cerrno>
#include <deque>
#include <fcntl.h>
#include <vector>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

std::size_t chunks(SimKernel& kernel) { return kernel.census().user_memory().chunks; }

} // namespace

TEST_CASE("only the nodes that exist can be opened", "[sim][attach]") {
    const auto kernel = make_kernel();
    for (const auto* path : {"/dev/neuron1", "/dev/neuron", "/dev/neuron00", "/dev/neuron0x",
                             "/dev/neuron-1", "/dev/null", ""})
        CHECK(SimPort(*kernel).open(path, Access::ReadWrite) == -ENOENT);
    CHECK(SimPort(*kernel).open("/dev/neuron0", Access::ReadWrite) >= 1 << 20);
}

TEST_CASE("a descriptor number is never a real descriptor", "[sim][attach]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    CHECK(::fcntl(process.fd, F_GETFD) == -1);
}

TEST_CASE("sixteen processes share a device, the seventeenth is refused", "[sim][attach]") {
    const auto kernel = make_kernel();
    std::deque<Process> processes;
    for (int i = 0; i < 16; ++i) {
        processes.emplace_back(*kernel, 100 + i);
        REQUIRE(processes.back().fd > 0);
    }
    CHECK(Process(*kernel, 200).fd == -EBUSY);
    CHECK(Process(*kernel, 200, Access::WriteOnly).fd > 0); // attaches nobody
    CHECK(Process(*kernel, 100).fd > 0);                    // has a slot already
    CHECK(kernel->census().devices[0].attached == 16);
    CHECK(processes[5].port.close(processes[5].fd) == 0);
    CHECK(Process(*kernel, 200).fd > 0);
}

TEST_CASE("the last close of a process frees what it allocated, and only that", "[sim][attach]") {
    const auto kernel = make_kernel();
    Process one(*kernel, 1);
    Process two(*kernel, 2);
    const auto before = kernel->census();
    Process again(*kernel, 1);
    one.allocate(5000);
    again.allocate(1 << 20);
    again.allocate_host(4096);
    two.allocate(4096);
    CHECK(chunks(*kernel) == 4);
    CHECK(one.port.close(one.fd) == 0);
    CHECK(chunks(*kernel) == 4);
    CHECK(again.port.close(again.fd) == 0);
    CHECK(chunks(*kernel) == 1);
    CHECK(two.port.close(two.fd) == 0);
    Process(*kernel, 1), Process(*kernel, 2);
    CHECK(kernel->census() == before);
}

TEST_CASE("closing a duplicate frees everything while the other still works", "[sim][attach]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    const auto handle = process.allocate(4096);
    CHECK(process.port.close_duplicate(process.fd) == 0);
    CHECK(chunks(*kernel) == 0);
    CHECK(kernel->census().devices[0].attached == 0);
    uapi::HostDeviceId id;
    CHECK(process.ask(uapi::kHostDeviceId, id) == 0);
    CHECK(process.free(handle) == -EACCES);
}

TEST_CASE("a child's close of an inherited file frees nothing", "[sim][attach]") {
    const auto kernel = make_kernel();
    Process parent(*kernel, 1);
    parent.allocate(4096);
    SimPort child(*kernel, Caller{2, false});
    CHECK(child.close_duplicate(parent.fd) == 0);
    CHECK(chunks(*kernel) == 1);
}

TEST_CASE("checked requests need attachment, the others do not", "[sim][attach]") {
    const auto kernel = make_kernel();
    Process parent(*kernel, 1);
    const auto handle = parent.allocate(4096);
    SimPort child(*kernel, Caller{2, false}, Pointers::Checked);
    for (const auto word :
         {uapi::kMemAlloc, uapi::kMemFree, uapi::kMemCopy, uapi::kMemGetPa, uapi::kMemGetInfo,
          uapi::kMemCopyAsync, uapi::kMemCopyAsyncWait, uapi::kDmaEngInit, uapi::kDmaEngSetState,
          uapi::kDmaQueueInit, uapi::kDmaAckCompleted, uapi::kDmaQueueRelease,
          uapi::kDmaCopyDescriptors, uapi::kBarWrite, uapi::kPostMetric, uapi::kNotificationsInitV1,
          uapi::kNotificationsInitV2, uapi::kNotificationsInitWithReallocV2, uapi::kDriverInfoSet})
        CHECK(child.ioctl(parent.fd, word, nullptr) == -EACCES);
    char byte = 0;
    uapi::MemBufCopy64 copy{handle, &byte, 1, 0, 0, 0};
    CHECK(child.ioctl(parent.fd, uapi::kMemBufCopy64, &copy) == 0);
    uapi::MemGetExtendedInfo info{handle, 1, 0, 0, 0, 0, 0};
    CHECK(child.ioctl(parent.fd, uapi::kMemGetExtendedInfo, &info) == 0);
    CHECK(info.pid == 1);
}

TEST_CASE("an allocation from an unattached process is noted as a crash", "[sim][attach]") {
    const auto kernel = make_kernel();
    Process parent(*kernel, 1);
    SimPort child(*kernel, Caller{2, false});
    std::uint64_t handle = 0;
    uapi::MemAllocV2MemType64 form;
    form.size = 4096;
    form.mem_handle = &handle;
    CHECK(kernel->would_have_crashed().empty());
    CHECK(child.ioctl(parent.fd, uapi::kMemAllocV2mt64, &form) == -EACCES);
    CHECK(kernel->would_have_crashed().size() == 1);
    CHECK(chunks(*kernel) == 0);
}

TEST_CASE("the last close takes 10 ms of the given clock, an earlier one none", "[sim][attach]") {
    const auto kernel = make_kernel();
    Process one(*kernel);
    Process two(*kernel);
    one.port.close(one.fd);
    CHECK(kernel->now().count == 0);
    two.port.close(two.fd);
    CHECK(kernel->now().count == 10'000'000);
}

TEST_CASE("a process that ends gives everything back at once", "[sim][attach]") {
    const auto kernel = make_kernel("trn1.32xlarge");
    const auto before = kernel->census();
    Process a(*kernel, 7);
    Process b(*kernel, 7, Access::WriteOnly);
    Process c(*kernel, 7, Access::ReadWrite, "/dev/neuron9");
    a.allocate(4096);
    c.allocate(1 << 22, 0, 1);
    uapi::CrwlNcMap map{2, 0, 31, 0, 0};
    CHECK(b.ask(uapi::kCrwlNcRangeMark, map) == 0);
    CHECK(kernel->census().open_files == 3);
    kernel->end_process(7);
    CHECK(kernel->census() == before);
    CHECK(a.port.close(a.fd) == -EBADF);
}

TEST_CASE("a closed file is a bad file", "[sim][attach]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    CHECK(process.port.close(process.fd) == 0);
    CHECK(process.port.close(process.fd) == -EBADF);
    CHECK(process.port.close_duplicate(process.fd) == -EBADF);
    uapi::HostDeviceId id;
    CHECK(process.ask(uapi::kHostDeviceId, id) == -EBADF);
    CHECK(process.port.map(process.fd, Bytes{4096}, false, 0).error == EBADF);
    CHECK(process.port.ioctl(3, uapi::kHostDeviceId, &id) == -EBADF);
    CHECK(Process(*kernel).fd != process.fd);
}
