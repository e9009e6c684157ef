// SPDX-License-Identifier: Apache-2.0
// Copies through a caller's pinned pages or through BAR4, as 2.25 and newer do them.
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <vector>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

constexpr std::uint32_t kOwn = 0xFFFFFFFF; // the core's own queue

/// A process that asks in its driver's form.
struct Pinner : Process {
    Pinner(SimKernel& kernel, bool newer, std::int32_t pid = 1000)
        : Process(kernel, pid), newer_(newer) {}

    std::int64_t copy(std::uint64_t handle, const void* buffer, std::uint64_t size,
                      std::uint64_t offset, bool inward, std::uint32_t threshold = 0,
                      std::uint32_t qid = kOwn) {
        const auto queue = static_cast<std::int32_t>(qid);
        auto* bytes = const_cast<void*>(buffer);
        const auto way = inward ? 1u : 0u;
        if (!newer_) {
            uapi::MemBufCopy64zcDeprecated form{handle, bytes,     size,  offset,
                                                way,    threshold, queue, 0};
            return ask(uapi::kMemBufZerocopy64Deprecated, form);
        }
        uapi::MemBufCopy64zc form{handle,    bytes, size, offset, way,
                                  threshold, queue, 0,    0,      nullptr};
        return ask(uapi::kMemBufZerocopy64, form);
    }

    std::uint64_t on_core(std::uint32_t core, std::uint64_t size = 8192) {
        return allocate_as({size, 0, 0, 0, 0, core, 9, 0, nullptr, 0, 0});
    }

private:
    bool newer_;
};

const void* kernel_address() { return reinterpret_cast<void*>(0xFFFF800000000000u); }

} // namespace

TEST_CASE("each release knows one size of request 124", "[sim][zerocopy]") {
    std::array<std::uint64_t, 8> any{};
    const auto older = make_kernel();
    Process process(*older);
    CHECK(process.ask(uapi::kMemBufZerocopy64Form224, any) == -EINVAL);
    CHECK(process.ask(uapi::kMemBufZerocopy64, any) == -EINVAL);
    CHECK(process.ask(uapi::kMemBufZerocopy64Deprecated, nullptr) == 48);
    CHECK(process.ask(0x40304E7Cu, nullptr) == 48); // any direction
    const auto newer = make_kernel("trn1.2xlarge", "2.30.2");
    Process other(*newer);
    CHECK(other.ask(uapi::kMemBufZerocopy64Deprecated, any) == -EINVAL);
    CHECK(other.ask(uapi::kMemBufZerocopy64, nullptr) == -EFAULT);
    CHECK(older->unknown().empty());
}

TEST_CASE("on Trn1 engines refuse after everything else but the queue's owner", "[sim][zerocopy]") {
    const bool newer = GENERATE(false, true);
    const auto kernel = make_kernel("trn1.2xlarge", newer ? "2.30.2" : "2.26.5");
    Pinner process(*kernel, newer);
    const auto handle = process.allocate(8192);
    std::vector<char> bytes(8192);
    CHECK(process.copy(999, bytes.data(), 8192, 0, true) == -EINVAL);
    CHECK(process.copy(handle, bytes.data(), 8192, 1, true) == -EINVAL);
    CHECK(process.copy(handle, kernel_address(), 8192, 0, true) == -EFAULT);
    CHECK(process.copy(handle, nullptr, 8192, 0, true) == -EINVAL);
    for (const auto inward : {true, false}) {
        CHECK(process.copy(handle, bytes.data(), 8192, 0, inward) == -EINVAL);
        for (const std::uint32_t qid : {0u, 1u, 15u})
            CHECK(process.copy(handle, bytes.data(), 8192, 0, inward, 0, qid) == -EINVAL);
        for (const std::uint32_t qid : {16u, 99u, kOwn - 1})
            CHECK(process.copy(handle, bytes.data(), 8192, 0, inward, 0, qid) == -ENOENT);
    }
    CHECK(process.copy(process.allocate_host(8192), bytes.data(), 16, 0, true, 8192) == -EINVAL);
    CHECK(process.copy(handle, bytes.data(), 0, 0, true) == 0); // BAR4 takes that
    CHECK(process.copy(handle, bytes.data(), 0, 0, false) == -EINVAL);
    CHECK(process.copy(handle, bytes.data(), 0, 8193, true) == -EINVAL);
}

TEST_CASE("small even writes go through BAR4 on every machine", "[sim][zerocopy]") {
    const bool newer = GENERATE(false, true);
    const auto kernel =
        make_kernel(GENERATE("trn1.2xlarge", "trn2.3xlarge"), newer ? "2.30.2" : "2.26.5");
    Pinner process(*kernel, newer);
    const auto handle = process.on_core(1, 32768);
    std::vector<unsigned char> in(8192, 0x5C);
    std::vector<unsigned char> out(8192);
    CHECK(process.copy(handle, in.data(), 8192, 4, true, 8192) == 0);
    CHECK(process.copy(handle, in.data(), 8192, 16384, true, 0xFFFFFFFF) == 0);
    for (const auto offset : {4, 16384}) {
        process.copy_out(handle, out.data(), 8192, static_cast<std::uint64_t>(offset));
        CHECK(out == in);
    }
    // whoever holds the queue; since 2.29 its number must be one
    CHECK(process.copy(handle, in.data(), 64, 0, true, 64, 9) == 0);
    CHECK(process.copy(handle, in.data(), 64, 0, true, 64, 99) == (newer ? -ENOENT : 0));
    CHECK(process.copy(handle, nullptr, 4096, 0, true, 8192) == (newer ? -EFAULT : 4096));
    CHECK(process.copy(handle, kernel_address(), 64, 0, true, 8192) == -EFAULT);
    CHECK(process.copy(handle, in.data(), 64, 32768, true, 8192) == -EINVAL);
    CHECK(kernel->would_have_crashed().empty());
}

TEST_CASE("what is no small even write needs an engine", "[sim][zerocopy]") {
    const auto kernel = make_kernel();
    Pinner process(*kernel, false);
    const auto handle = process.allocate(32768);
    std::vector<char> bytes(16384);
    CHECK(process.copy(handle, bytes.data(), 4100, 0, true, 4096) == -EINVAL);
    CHECK(process.copy(handle, bytes.data(), 8196, 0, true, 100000) == -EINVAL);
    CHECK(process.copy(handle, bytes.data(), 4094, 0, true, 8192) == -EINVAL);
    CHECK(process.copy(handle, bytes.data(), 4096, 2, true, 8192) == -EINVAL);
    CHECK(process.copy(handle, bytes.data(), 4096, 0, false, 8192) == -EINVAL);
}

TEST_CASE("up to 2.26 a BAR4 write that ends with its HBM is not there", "[sim][zerocopy]") {
    const bool newer = GENERATE(false, true);
    const auto kernel = make_kernel("trn1.2xlarge", newer ? "2.30.2" : "2.26.5");
    Pinner process(*kernel, newer);
    std::uint64_t last = 0; // the small pool's last 512 KiB
    for (int i = 0; i < 2048; ++i) last = process.allocate(512 << 10);
    REQUIRE(process.pa(last) == 0x400000000 - (512 << 10));
    const std::uint32_t word = 0x12345678;
    std::uint32_t got = 0;
    CHECK(process.copy(last, &word, 4, (512 << 10) - 8, true, 8192) == 0);
    process.copy_out(last, &got, 4, (512 << 10) - 8);
    CHECK(got == word);
    CHECK(process.copy(last, &word, 4, (512 << 10) - 4, true, 8192) == 0);
    process.copy_out(last, &got, 4, (512 << 10) - 4);
    CHECK((got == word) == newer);
    CHECK(kernel->would_have_crashed().size() == (newer ? 0u : 1u));
}

TEST_CASE("Trn2 engines copy both ways, from odd addresses, host chunks too", "[sim][zerocopy]") {
    const bool newer = GENERATE(false, true);
    const bool host = GENERATE(false, true);
    const auto kernel =
        make_kernel(GENERATE("trn2.3xlarge", "trn3pd98.3xlarge"), newer ? "2.30.2" : "2.26.5");
    Pinner process(*kernel, newer);
    const auto handle = host ? process.allocate_host(2 << 20) : process.allocate(2 << 20);
    for (const std::size_t size : {1u, 100000u, 300001u, 524288u, 1000001u}) {
        std::vector<unsigned char> in(size + 123);
        for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<unsigned char>(i * 31 >> 3);
        std::vector<unsigned char> out(in.size());
        CHECK(process.copy(handle, in.data() + 123, size, 77, true) == 0);
        CHECK(process.copy(handle, out.data() + 123, size, 77, false) == 0);
        CHECK(std::equal(in.begin() + 123, in.end(), out.begin() + 123));
    }
    CHECK(process.copy(handle, nullptr, 0, 0, false) == 0);
}

TEST_CASE("an engine's queue must be the chunk's core's", "[sim][zerocopy]") {
    const bool newer = GENERATE(false, true);
    const auto kernel = make_kernel("trn2.3xlarge", newer ? "2.30.2" : "2.26.5");
    Pinner process(*kernel, newer);
    uapi::H2tDmaAllocQueues more{0, 1, 1, 1, 0, 0, 0};
    REQUIRE(process.ask(uapi::kH2tDmaAllocQueues, more) == 0); // 2 copies, 3 is a service queue
    std::vector<char> bytes(8192);
    const auto answers = [&](std::uint32_t core) {
        std::vector<std::int64_t> all;
        const auto handle = process.on_core(core);
        for (const std::uint32_t qid : {kOwn, 0u, 1u, 2u, 3u, 4u, 16u})
            all.push_back(process.copy(handle, bytes.data(), 8192, 0, true, 0, qid));
        return all;
    };
    constexpr std::int64_t kNo = -ENOENT;
    CHECK(answers(0) == std::vector<std::int64_t>{0, 0, kNo, kNo, kNo, kNo, kNo});
    CHECK(answers(1) == std::vector<std::int64_t>{0, kNo, 0, 0, kNo, kNo, kNo});
    CHECK(answers(7) == std::vector<std::int64_t>{0, kNo, 0, kNo, kNo, kNo, kNo});
    uapi::DeviceReset reset{2, 0};
    CHECK(process.ask(uapi::kNcReset, reset) == 0);
    uapi::DeviceReady ready{reset.request_id, 0};
    CHECK(process.ask(uapi::kNcResetReady, ready) == 0);
    CHECK(answers(1) == std::vector<std::int64_t>{0, kNo, 0, kNo, kNo, kNo, kNo});
}

TEST_CASE("pages are pinned all or none, with an errno since 2.29", "[sim][zerocopy]") {
    const bool newer = GENERATE(false, true);
    const auto kernel = make_kernel("trn2.3xlarge", newer ? "2.30.2" : "2.26.5");
    Pinner process(*kernel, newer);
    const auto handle = process.allocate(1 << 20);
    auto* pages = static_cast<char*>(
        ::mmap(nullptr, 12288, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::mprotect(pages + 4096, 4096, PROT_READ);
    ::mprotect(pages + 8192, 4096, PROT_NONE);
    const auto none = newer ? -EFAULT : -ENOMEM;
    CHECK(process.copy(handle, nullptr, 8192, 0, true) == none);
    CHECK(process.copy(handle, pages + 8192, 4096, 0, true) == none);
    CHECK(process.copy(handle, pages + 4096, 4096, 0, false) == none);
    pages[0] = 1;
    CHECK(process.copy(handle, pages + 4096, 8192, 0, true) == -ENOMEM);
    CHECK(process.copy(handle, pages, 8192, 0, false) == -ENOMEM);
    CHECK(pages[0] == 1);
    CHECK(process.copy(handle, pages, 8192, 0, true) == 0);
    ::munmap(pages, 12288);
}

TEST_CASE("a process that is not attached may ask for a zero-copy", "[sim][zerocopy]") {
    const auto kernel = make_kernel("trn2.3xlarge");
    Pinner process(*kernel, false);
    const auto handle = process.allocate(8192);
    Pinner child(*kernel, false, 2);
    CHECK(child.port.close(child.fd) == 0);
    child.fd = process.fd;
    char bytes[64] = {};
    CHECK(child.copy(handle, bytes, 64, 0, true) == 0);
    CHECK(child.copy(handle, bytes, 64, 0, true, 8192) == 0);
}
