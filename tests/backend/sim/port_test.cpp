// SPDX-License-Identifier: Apache-2.0
#include "neuronbook/backend/sim/port.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <dlfcn.h>
#include <memory>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "backend/sim/fixture.hpp"
#include "neuronbook/backend/ioctl_driver.hpp"

using namespace sim_test;

TEST_CASE("ports of one caller at one kernel are the same, others differ", "[sim][port]") {
    const auto one = make_kernel();
    const auto two = make_kernel();
    const SimPort port(*one, Caller{5, false});
    CHECK(port.identity().kind == "sim");
    CHECK(port.identity() == SimPort(*one, Caller{5, false}).identity());
    CHECK_FALSE(port.identity() == SimPort(*one, Caller{6, false}).identity());
    CHECK_FALSE(port.identity() == SimPort(*two, Caller{5, false}).identity());
}

TEST_CASE("kernels made in shared objects that share nothing have a door each", "[sim][port]") {
    std::vector<std::unique_ptr<SimKernel>> kernels;
    for (const auto* path : {KERNEL_PLUGIN_A, KERNEL_PLUGIN_B}) {
        void* object = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
        REQUIRE(object != nullptr);
        const auto make = reinterpret_cast<SimKernel* (*)()>(::dlsym(object, "make_kernel"));
        REQUIRE(make != nullptr);
        kernels.emplace_back(make());
        REQUIRE(kernels.back() != nullptr);
    }
    IoctlDriver one{SimPort(*kernels[0])};
    IoctlDriver two{SimPort(*kernels[1])};
    REQUIRE(one.connect());
    REQUIRE(two.connect());
    CHECK(kernels[0]->census().open_files == 1);
    CHECK(kernels[1]->census().open_files == 1);
    one.disconnect();
    CHECK(kernels[0]->census().open_files == 0);
    CHECK(kernels[1]->census().open_files == 1);
}

TEST_CASE("callers of every number are processes of their own", "[sim][port]") {
    const auto kernel = make_kernel();
    IoctlDriver one{SimPort(*kernel, {.pid = 5})};
    IoctlDriver two{SimPort(*kernel, {.pid = 5 + (1 << 20)})};
    REQUIRE(one.connect());
    REQUIRE(two.connect());
    CHECK(kernel->census().open_files == 2);
}

TEST_CASE("time passes only by sleeping", "[sim][port]") {
    const auto kernel = make_kernel();
    SimPort port(*kernel);
    const auto start = port.now();
    CHECK(port.now() == start);
    port.sleep({1234});
    CHECK(port.now().count == start.count + 1234);
    CHECK(SimPort(*kernel, Caller{7, false}).now() == port.now());
}

TEST_CASE("trusted pointers still give NULL back as the driver does", "[sim][port]") {
    const auto kernel = make_kernel();
    SimPort port(*kernel);
    const auto fd = static_cast<int>(port.open("/dev/neuron0", Access::ReadWrite));
    CHECK(port.ioctl(fd, uapi::kMemFree, nullptr) == 8);
}

TEST_CASE("a mapping is real memory and may outlive the kernel", "[sim][port]") {
    auto kernel = make_kernel();
    Process process(*kernel);
    const auto pa = process.pa(process.allocate(4096));
    const auto mapping = process.port.map(process.fd, Bytes{4096}, true, pa);
    REQUIRE(mapping.error == 0);
    auto port = process.port;
    kernel.reset();
    *static_cast<char*>(mapping.address) = 'x';
    CHECK(*static_cast<char*>(mapping.address) == 'x');
    CHECK(port.unmap(mapping.address, Bytes{4096}) == 0);
}

TEST_CASE("a mapping is moved by whole pages, whatever was said", "[sim][port]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    const auto handle = process.allocate(8192);
    const auto mapping = process.port.map(process.fd, Bytes{8192}, true, process.pa(handle));
    REQUIRE(mapping.error == 0);
    auto* to = ::mmap(nullptr, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const auto moved = process.port.move(mapping.address, Bytes{8000}, to);
    REQUIRE(moved.error == 0);
    uapi::GetVaPlacement where{reinterpret_cast<std::uint64_t>(mapping.address), 0, 0};
    CHECK(process.ask(uapi::kGetVaPlacement, where) == -ENXIO); // the record went with it
    process.port.unmap(moved.address, Bytes{8192});
}

TEST_CASE("a child of fork has nothing where its parent mapped", "[sim][port]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    const auto pa = process.pa(process.allocate(4096));
    const auto mapping = process.port.map(process.fd, Bytes{4096}, true, pa);
    REQUIRE(mapping.error == 0);
    unsigned char resident = 0;
    CHECK(::mincore(mapping.address, 4096, &resident) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const bool gone = ::mincore(mapping.address, 4096, &resident) != 0 && errno == ENOMEM;
        ::_exit(gone ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
    CHECK(process.port.unmap(mapping.address, Bytes{4096}) == 0);
}

TEST_CASE("files are read through the port", "[sim][port]") {
    const auto kernel = make_kernel();
    SimPort port(*kernel);
    std::array<char, 16> buffer;
    CHECK(port.read_file("/sys/module/neuron/version", buffer) == 9);
    CHECK(port.exists("/dev/neuron0"));
    CHECK_FALSE(port.exists("/dev/neuron1"));
}

TEST_CASE("processes in many threads leave nothing behind", "[sim][port]") {
    const auto kernel = make_kernel("trn1.32xlarge");
    const auto before = kernel->census();
    std::atomic<int> failures{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&, i] {
            SimPort port(*kernel, Caller{100 + i % 2, false});
            for (int round = 0; round < 50; ++round) {
                const auto fd = static_cast<int>(port.open("/dev/neuron3", Access::ReadWrite));
                std::uint64_t handle = 0;
                uapi::MemAllocV2MemType64 form;
                form.size = 4096u * static_cast<unsigned>(1 + round % 7);
                form.mem_handle = &handle;
                failures += port.ioctl(fd, uapi::kMemAllocV2mt64, &form) != 0;
                unsigned char byte = static_cast<unsigned char>(round);
                uapi::MemBufCopy64 copy{handle, &byte, 1, 0, 1, 0};
                failures += port.ioctl(fd, uapi::kMemBufCopy64, &copy) != 0;
                failures += port.close(fd) != 0;
            }
        });
    for (auto& thread : threads) thread.join();
    CHECK(failures == 0);
    CHECK(kernel->census() == before);
}
