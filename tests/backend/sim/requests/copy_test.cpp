// SPDX-License-Identifier: Apache-2.0
// Copies between a buffer and a chunk.
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

std::vector<unsigned char> pattern(std::size_t size) {
    std::vector<unsigned char> bytes(size);
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<unsigned char>(i * 2654435761u >> 13);
    return bytes;
}

constexpr std::uint64_t kGiB4 = std::uint64_t{4} << 30;

} // namespace

TEST_CASE("what was copied in comes out, at any offset, from both kinds of memory", "[sim][copy]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    const bool host = GENERATE(false, true);
    const auto handle = host ? process.allocate_host(4u << 20) : process.allocate(4u << 20);
    const auto in = pattern(3u << 20);
    std::vector<unsigned char> out(in.size());
    CHECK(process.copy_in(handle, in.data(), in.size(), 12345) == 0);
    CHECK(process.copy_out(handle, out.data(), out.size(), 12345) == 0);
    CHECK(in == out);
    uapi::MemBufCopy shorter{handle, out.data(), 70001, 3, 1, 0};
    CHECK(process.ask(uapi::kMemBufCopy, shorter) == 0);
    shorter.copy_to_mem_handle = 0;
    shorter.buffer = out.data() + 100000;
    CHECK(process.ask(uapi::kMemBufCopy, shorter) == 0);
    CHECK(std::memcmp(out.data(), out.data() + 100000, 70001) == 0);
}

TEST_CASE("the bound is the size rounded to pages", "[sim][copy]") {
    for (const auto& [driver, range, handle_error] : {std::tuple{"2.24.7", -EINVAL, -EINVAL},
                                                      {"2.26.5", -EINVAL, -EINVAL},
                                                      {"2.30.2", -E2BIG, -ENOENT}}) {
        const auto kernel = make_kernel("trn1.2xlarge", driver);
        Process process(*kernel);
        const auto handle = process.allocate(100);
        std::vector<unsigned char> bytes(8192);
        CHECK(process.copy_in(handle, bytes.data(), 4096) == 0);
        CHECK(process.copy_in(handle, bytes.data(), 4097) == range);
        CHECK(process.copy_in(handle, bytes.data(), 1, 4095) == 0);
        CHECK(process.copy_in(handle, bytes.data(), 1, 4096) == range);
        CHECK(process.copy_in(handle, bytes.data(), 0, 4096) == 0);
        CHECK(process.copy_in(handle, bytes.data(), 0, 4097) == range);
        CHECK(process.copy_in(handle, nullptr, 0) == 0);
        CHECK(process.copy_in(999, bytes.data(), 16) == handle_error);
        CHECK(process.copy_in(0, bytes.data(), 16) == handle_error);
    }
}

TEST_CASE("a bad buffer is answered with what is missing, or EFAULT since 2.29", "[sim][copy]") {
    auto* pages = static_cast<char*>(
        ::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::mprotect(pages + 4096, 4096, PROT_NONE);
    const auto older = make_kernel();
    Process process(*older);
    const auto device = process.allocate(1 << 20);
    const auto host = process.allocate_host(8192);
    CHECK(process.copy_in(device, nullptr, 16) == 16);
    CHECK(process.copy_in(host, nullptr, 16) == 16);
    std::memset(pages, 1, 4096);
    CHECK(process.copy_in(device, pages, 8192) == 4096);
    unsigned char byte = 0;
    process.copy_out(device, &byte, 1);
    CHECK(byte == sim::kPoison); // half a piece never reaches the device
    CHECK(process.copy_in(host, pages, 8192) == 4096);
    process.copy_out(host, &byte, 1);
    CHECK(byte == 1);
    CHECK(process.copy_out(device, pages, 8192) == 4096);
    CHECK(pages[0] == static_cast<char>(sim::kPoison));
    ::mprotect(pages, 8192, PROT_READ);
    CHECK(process.copy_out(device, pages, 8192) == 8192);
    const auto newer = make_kernel("trn1.2xlarge", "2.30.2");
    Process other(*newer);
    CHECK(other.copy_out(other.allocate(8192), pages, 8192) == -EFAULT);
    ::munmap(pages, 8192);
}

TEST_CASE("on device memory the size is cut to 32 bits", "[sim][copy]") {
    const auto driver = GENERATE("2.24.7", "2.26.5", "2.30.2");
    const auto kernel = make_kernel("trn1.2xlarge", driver);
    Process process(*kernel);
    const auto handle = process.allocate(kGiB4 + 65536);
    auto bytes = pattern(8192);
    const auto kept = bytes;
    CHECK(process.copy_in(handle, bytes.data(), 4096, kGiB4) == 0);
    CHECK(process.copy_out(handle, nullptr, kGiB4) == 0);
    std::memset(bytes.data(), 0, 4096);
    CHECK(process.copy_out(handle, bytes.data(), 4096, kGiB4) == 0);
    CHECK(bytes == kept);
    CHECK(process.copy_out(handle, bytes.data(), kGiB4 + 4096) == 0); // moves 4096
    CHECK(std::memcmp(bytes.data() + 4096, kept.data() + 4096, 4096) == 0);
}

TEST_CASE("a sum that wraps passes in 2.24.7 and reaches the neighbour", "[sim][copy]") {
    unsigned char bytes[64] = {};
    const auto old = make_kernel("trn1.2xlarge", "2.24.7");
    Process process(*old);
    const auto before = process.allocate(4096);
    const auto handle = process.allocate(4096);
    CHECK(process.copy_in(handle, bytes, 64, ~std::uint64_t{0} - 31) == 0);
    CHECK(old->would_have_crashed().size() == 1);
    unsigned char last[33];
    process.copy_out(before, last, 33, 4096 - 33);
    CHECK(last[0] == sim::kPoison);
    CHECK(last[1] == 0);
    const auto newer = make_kernel("trn1.2xlarge", "2.26.5");
    Process other(*newer);
    CHECK(other.copy_in(other.allocate(4096), bytes, 64, ~std::uint64_t{0} - 31) == -EINVAL);
    CHECK(newer->would_have_crashed().empty());
}

TEST_CASE("a new chunk holds poison at its ends and freed memory keeps its bytes", "[sim][copy]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    const auto handle = process.allocate(16384);
    std::vector<unsigned char> bytes(16384);
    CHECK(process.copy_out(handle, bytes.data(), bytes.size()) == 0);
    CHECK(bytes[0] == sim::kPoison);
    CHECK(bytes[4096] == 0);
    CHECK(bytes[16383] == sim::kPoison);
    CHECK(process.copy_in(handle, pattern(16384).data(), 16384) == 0);
    process.free(handle);
    process.copy_out(process.allocate(16384), bytes.data(), bytes.size());
    CHECK(bytes[5000] == pattern(16384)[5000]);
}

TEST_CASE("a copy on device memory needs 64 KiB of host memory for a moment", "[sim][copy]") {
    SimOptions options;
    options.host_memory = Bytes{8u << 20};
    const auto kernel = std::move(*SimKernel::make(options));
    Process process(*kernel);
    const auto device = process.allocate(4096);
    const auto host = process.allocate_host(4096);
    char byte = 'x';
    CHECK(process.copy_in(device, &byte, 1) == 0);
    char text[32] = {};
    CHECK(kernel->read_file("/sys/devices/virtual/neuron_device/neuron0/stats/memory_usage/"
                            "host_mem/driver_memory/present",
                            text) > 0);
    CHECK(std::string(text) == "65536\n");
    while (process.allocate_host(4096) != 0) {}
    CHECK(process.copy_in(device, &byte, 1) == -ENOMEM);
    CHECK(process.copy_out(device, &byte, 1) == -ENOMEM);
    CHECK(process.copy_in(host, &byte, 1) == 0);
    CHECK(process.copy_in(device, &byte, 0) == 0);
}
