// SPDX-License-Identifier: Apache-2.0
// Copies through a caller's pinned pages, as 2.24 does them.
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <vector>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

struct Pinner : Process {
    using Process::Process;

    std::int64_t zero_copy(std::uint64_t handle, const void* buffer, std::uint64_t size,
                           std::uint64_t offset, std::uint32_t inward) {
        uapi::MemBufCopy64 form{handle, const_cast<void*>(buffer), size, offset, inward, 0};
        return ask(uapi::kMemBufZerocopy64Form224, form);
    }
};

} // namespace

TEST_CASE("a zero-copy goes out and comes back, from odd addresses", "[sim][zerocopy]") {
    const auto kernel = make_kernel("trn1.2xlarge", "2.24.7");
    Pinner process(*kernel);
    const bool host = GENERATE(false, true);
    const auto handle = host ? process.allocate_host(2 << 20) : process.allocate(2 << 20);
    std::vector<unsigned char> in(1000001 + 123);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<unsigned char>(i * 31 >> 3);
    std::vector<unsigned char> out(in.size());
    CHECK(process.zero_copy(handle, in.data() + 123, 1000001, 77, 1) == 0);
    CHECK(process.zero_copy(handle, out.data() + 123, 1000001, 77, 0) == 0);
    CHECK(std::equal(in.begin() + 123, in.end(), out.begin() + 123));
}

TEST_CASE("a zero-copy refuses what it cannot reach or pin", "[sim][zerocopy]") {
    const auto kernel = make_kernel("trn1.2xlarge", "2.24.7");
    Pinner process(*kernel);
    const auto handle = process.allocate(1 << 20);
    auto* pages = static_cast<char*>(
        ::mmap(nullptr, 12288, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::mprotect(pages + 4096, 4096, PROT_READ);
    ::mprotect(pages + 8192, 4096, PROT_NONE);
    pages[0] = 1;
    CHECK(process.zero_copy(999, pages, 16, 0, 1) == -EINVAL);
    CHECK(process.zero_copy(handle, pages, 1 << 20, 1, 1) == -EINVAL);
    CHECK(process.zero_copy(handle, reinterpret_cast<void*>(~std::uint64_t{4095}), 16, 0, 1) ==
          -ENOMEM); // the kernel's own pages are not looked at before they are to be pinned
    CHECK(process.zero_copy(handle, nullptr, 16, 0, 1) == -ENOMEM);
    CHECK(process.zero_copy(handle, pages + 4096, 8192, 0, 1) == -ENOMEM);
    CHECK(process.zero_copy(handle, pages, 8192, 0, 0) == -ENOMEM); // a page is read-only
    CHECK(pages[0] == 1);                                           // and the other untouched
    unsigned char byte = 0;
    process.copy_out(handle, &byte, 1);
    CHECK(byte == sim::kPoison);
    CHECK(process.zero_copy(handle, pages, 8192, 0, 1) == 0);
    CHECK(kernel->would_have_crashed().empty());
    process.zero_copy(handle, pages, 0, 0, 1);
    CHECK(kernel->would_have_crashed().size() == 1);
    ::munmap(pages, 12288);
}

TEST_CASE("2.24 knows one size of the zero-copy request", "[sim][zerocopy]") {
    const auto kernel = make_kernel("trn1.2xlarge", "2.24.7");
    Pinner process(*kernel);
    std::array<std::uint64_t, 8> any{};
    CHECK(process.ask(uapi::kMemBufZerocopy64Deprecated, any) == -EINVAL);
    CHECK(process.ask(uapi::kMemBufZerocopy64, any) == -EINVAL);
    CHECK(process.ask(uapi::kMemBufZerocopy64Form224, nullptr) == 40);
}
