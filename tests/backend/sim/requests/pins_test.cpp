// SPDX-License-Identifier: Apache-2.0
// Pinning and unpinning host memory.
#include "neuronbook/backend/sim/requests/pins.hpp"

#include <sys/mman.h>

#include <cerrno>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

struct Pages {
    char* at;
    explicit Pages(int protection)
        : at(static_cast<char*>(
              ::mmap(nullptr, 3 * 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}
    ~Pages() { ::munmap(at, 3 * 4096); }
};

std::int64_t pin(Process& process, const void* va, std::uint64_t size,
                 std::uint64_t* pa = nullptr) {
    uapi::HostMemPin ask{reinterpret_cast<std::uint64_t>(va), size, 5};
    const auto answer = process.ask(uapi::kHostMemPin, ask);
    if (pa != nullptr) *pa = ask.pa;
    return answer;
}

std::int64_t unpin(Process& process, const void* va) {
    uapi::HostMemUnpin ask{reinterpret_cast<std::uint64_t>(va)};
    return process.ask(uapi::kHostMemUnpin, ask);
}

} // namespace

TEST_CASE("a pin is by process and machine-wide, on either lane", "[sim][pins]") {
    const auto kernel = make_kernel("trn1.32xlarge", "2.30.2");
    Process device(*kernel, 1);
    Process elsewhere(*kernel, 1, Access::ReadWrite, "/dev/neuron5");
    Process discovery(*kernel, 1, Access::WriteOnly);
    Process other(*kernel, 2, Access::WriteOnly);
    const Pages pages(PROT_READ | PROT_WRITE);
    std::uint64_t pa = 0;
    CHECK(pin(device, pages.at, 4096, &pa) == 0);
    CHECK((pa & 0x100000000000) != 0);
    CHECK(pa % 4096 == 0);
    CHECK(pin(discovery, pages.at + 4096, 5000, &pa) == 0);
    CHECK(pa == ~std::uint64_t{0}); // pages that are not adjacent
    CHECK(pin(elsewhere, pages.at + 4095, 2, &pa) == -EEXIST);
    CHECK(pa == 5);
    CHECK(pin(other, pages.at + 10, 4, &pa) == 0);
    CHECK(pa % 4096 == 10);
    CHECK(unpin(device, pages.at + 1) == -ENOENT);
    CHECK(unpin(discovery, pages.at) == 0);
    CHECK(unpin(device, pages.at) == -ENOENT);
    CHECK(kernel->census().pins == 2);
    CHECK(device.port.close(device.fd) == 0);
    CHECK(kernel->census().pins == 2); // still attached elsewhere
    CHECK(elsewhere.port.close(elsewhere.fd) == 0);
    CHECK(kernel->census().pins == 1);
    kernel->end_process(2);
    CHECK(kernel->census().pins == 1); // never attached: nobody takes it back
}

TEST_CASE("what cannot be pinned is refused before an overlap is seen", "[sim][pins]") {
    const auto kernel = make_kernel("trn2.3xlarge", "2.30.2");
    Process process(*kernel);
    const Pages pages(PROT_READ | PROT_WRITE);
    const Pages read_only(PROT_READ);
    CHECK(process.ask(uapi::kHostMemPin, nullptr) == -EFAULT);
    CHECK(process.ask(uapi::kHostMemUnpin, nullptr) == -EFAULT);
    CHECK(pin(process, nullptr, 4096) == -EINVAL);
    CHECK(pin(process, pages.at, 0) == -EINVAL);
    CHECK(pin(process, pages.at, std::uint64_t{1} << 41) == -ENOMEM);
    CHECK(pin(process, pages.at, ~std::uint64_t{0}) == -EFAULT);
    CHECK(pin(process, reinterpret_cast<void*>(0x1000), 4096) == -EFAULT);
    CHECK(pin(process, read_only.at, 4096) == -EFAULT);
    CHECK(pin(process, pages.at + 100, 4096) == 0);
    ::mprotect(pages.at + 8192, 4096, PROT_NONE);
    CHECK(pin(process, pages.at, 8193) == -EFAULT);
    CHECK(pin(process, pages.at, 8192) == -EEXIST);
    const auto pa = process.pa(process.allocate_host(8192));
    const auto mapping = process.port.map(process.fd, Bytes{8192}, true, pa);
    CHECK(pin(process, mapping.address, 4096) == -EFAULT);
    process.port.unmap(mapping.address, Bytes{8192});
}

TEST_CASE("older drivers do not pin", "[sim][pins]") {
    const auto kernel = make_kernel("trn1.2xlarge", GENERATE("2.24.7", "2.26.5"));
    Process process(*kernel);
    char byte = 0;
    CHECK(pin(process, &byte, 1) == -EINVAL);
    CHECK(kernel->unknown().size() == 1);
}
