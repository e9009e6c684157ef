// SPDX-License-Identifier: Apache-2.0
// Filling chunks, and copies from chunk to chunk that are done when they answer.
#include <cerrno>
#include <cstdint>
#include <tuple>
#include <vector>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

using Data = std::vector<unsigned char>;

Data numbered(std::size_t size) {
    Data bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<unsigned char>(i * 7 + i / 251);
    return bytes;
}

struct Mover : Process {
    using Process::Process;

    std::int64_t fill(std::uint64_t handle, std::uint64_t offset, std::uint32_t value,
                      std::uint64_t size) {
        uapi::Memset64 form{handle, offset, value, 0, size};
        return ask(uapi::kMemset64, form);
    }

    std::int64_t copy(std::uint64_t from, std::uint64_t to, std::uint64_t size,
                      std::uint64_t from_offset = 0, std::uint64_t to_offset = 0) {
        uapi::MemCopy64Deprecated form{from, to, size, from_offset, to_offset};
        return ask(uapi::kMemCopy64Deprecated, form);
    }

    Data bytes(std::uint64_t handle, std::uint64_t size, std::uint64_t offset = 0) {
        Data out(size);
        error = copy_out(handle, out.data(), size, offset);
        return out;
    }

    std::uint64_t chunk(bool host) { return host ? allocate_host(1 << 20) : allocate(1 << 20); }
};

} // namespace

TEST_CASE("a fill sets the low byte of its value, and no more", "[sim][transfer]") {
    const auto kernel = make_kernel();
    Mover process(*kernel);
    const auto handle = process.chunk(GENERATE(false, true));
    auto expected = numbered(200000);
    process.copy_in(handle, expected.data(), expected.size());
    uapi::Memset shorter{handle, 100, 0x1ab, 1000};
    CHECK(process.ask(uapi::kMemset, shorter) == 0);
    std::fill_n(expected.begin() + 100, 1000, std::uint8_t{0xab});
    CHECK(process.bytes(handle, 200000) == expected);
    CHECK(process.fill(handle, 7, 0x77, 150000) == 0);
    std::fill_n(expected.begin() + 7, 150000, std::uint8_t{0x77});
    CHECK(process.bytes(handle, 200000) == expected);
}

TEST_CASE("a fill of size 0 sets 64 KiB to what earlier fills left behind", "[sim][transfer]") {
    const auto kernel = make_kernel();
    Mover process(*kernel);
    const auto handle = process.allocate(1 << 20);
    process.fill(handle, 0, 0x11, 1 << 20);
    process.fill(process.allocate(4096), 0, 0x22, 10);
    process.fill(handle, 0, 0x33, 0);
    auto expected = Data(1 << 20, 0x11);
    std::fill_n(expected.begin(), 10, std::uint8_t{0x22});
    CHECK(process.bytes(handle, 1 << 20) == expected);
    CHECK(process.fill(handle, (1 << 20) - 65536, 0, 0) == 0);
    CHECK(kernel->would_have_crashed().empty());
    CHECK(process.fill(handle, (1 << 20) - 65535, 0, 0) == 0);
    CHECK(kernel->would_have_crashed().size() == 1); // one byte of somebody else's
}

TEST_CASE("copies reach every kind of memory", "[sim][transfer]") {
    const auto kernel = make_kernel();
    Mover process(*kernel);
    const auto from = process.chunk(GENERATE(false, true));
    const auto to = process.chunk(GENERATE(false, true));
    const auto data = numbered(300001);
    process.copy_in(from, data.data(), data.size(), 5);
    CHECK(process.copy(from, to, 300001, 5, 9) == 0);
    CHECK(process.bytes(to, 300001, 9) == data);
    uapi::MemCopy shorter{to, from, 4096, 9, 500000, 0};
    CHECK(process.ask(uapi::kMemCopy, shorter) == 0);
    CHECK(process.bytes(from, 4096, 500000) == Data(data.begin(), data.begin() + 4096));
}

TEST_CASE("a copy of size 0 moves 64 KiB", "[sim][transfer]") {
    const auto kernel = make_kernel();
    Mover process(*kernel);
    const auto from = process.allocate(1 << 20);
    const auto to = process.allocate(1 << 20);
    process.fill(from, 0, 1, 1 << 20);
    process.fill(to, 0, 0, 1 << 20);
    auto expected = Data(200000, 0);
    CHECK(process.copy(from, to, 0, 0, 100) == 0);
    std::fill_n(expected.begin() + 100, 65536, std::uint8_t{1});
    CHECK(process.bytes(to, 200000) == expected);
    uapi::MemCopyAsync64 async{from, to, 0, 0, 100000, 0, 0xFFFFFFFF, 0};
    CHECK(process.ask(uapi::kMemCopyAsync64, async) == 0);
    std::fill_n(expected.begin() + 100000, 65536, std::uint8_t{1});
    CHECK(process.bytes(to, 200000) == expected);
}

TEST_CASE("ranges that overlap are moved piece after piece", "[sim][transfer]") {
    const auto kernel = make_kernel();
    Mover process(*kernel);
    const auto handle = process.allocate(1 << 20);
    auto expected = numbered(200000);
    process.copy_in(handle, expected.data(), expected.size());
    CHECK(process.copy(handle, handle, 100000, 0, 10) == 0);
    Data piece(expected.begin(), expected.begin() + 65536);
    std::copy(piece.begin(), piece.end(), expected.begin() + 10);
    piece.assign(expected.begin() + 65536, expected.begin() + 100000);
    std::copy(piece.begin(), piece.end(), expected.begin() + 65546);
    CHECK(process.bytes(handle, 200000) == expected);
}

TEST_CASE("fills and copies refuse what is not there as their release does", "[sim][transfer]") {
    for (const auto& [driver, range, nothing] : {std::tuple{"2.24.7", -EINVAL, -EINVAL},
                                                 {"2.26.5", -EINVAL, -EINVAL},
                                                 {"2.30.2", -E2BIG, -ENOENT}}) {
        const auto kernel = make_kernel("trn1.2xlarge", driver);
        Mover process(*kernel);
        const auto a = process.allocate(100);
        const auto b = process.allocate(8192);
        CHECK(process.fill(a, 0, 0, 4096) == 0); // the bound is whole pages
        CHECK(process.fill(a, 0, 0, 4097) == range);
        CHECK(process.fill(a, 4097, 0, 0) == range);
        CHECK(process.fill(999, 0, 0, 1) == nothing);
        CHECK(process.copy(a, b, 4096) == 0);
        CHECK(process.copy(a, b, 4097) == range);
        CHECK(process.copy(b, a, 4097) == range);
        CHECK(process.copy(b, a, 16, 8192 - 15) == range);
        CHECK(process.copy(a, 999, 4097) == nothing); // before the range
        CHECK(process.copy(0, a, 1) == nothing);
        uapi::MemCopyAsync64 async{a, b, 4097, 0, 0, 0, 3, 0};
        CHECK(process.ask(uapi::kMemCopyAsync64, async) == range); // before the wait handle
        async = {a, 999, 16, 0, 0, 0, 0xFFFFFFFF, 0};
        CHECK(process.ask(uapi::kMemCopyAsync64, async) == nothing);
        uapi::MemCopyAsyncWait wait{a, 999, 7, 0};
        CHECK(process.ask(uapi::kMemCopyAsyncWait, wait) == nothing);
        CHECK(kernel->would_have_crashed().empty());
    }
}

TEST_CASE("a form that cannot be read is answered with its size until 2.28", "[sim][transfer]") {
    const auto older = make_kernel();
    Mover process(*older);
    CHECK(process.ask(uapi::kMemset, nullptr) == 24);
    CHECK(process.ask(uapi::kMemset64, nullptr) == 32);
    CHECK(process.ask(uapi::kMemCopy, nullptr) == 32);
    CHECK(process.ask(uapi::kMemCopy64Deprecated, nullptr) == 40);
    CHECK(process.ask(uapi::kMemCopyAsync64, nullptr) == 56);
    CHECK(process.ask(uapi::kMemCopyAsyncWait, nullptr) == 24);
    const auto newer = make_kernel("trn1.2xlarge", "2.30.2");
    Mover other(*newer);
    CHECK(other.ask(uapi::kMemCopy, nullptr) == -EFAULT);
}

TEST_CASE("the form with a sequence number is 2.30's alone", "[sim][transfer]") {
    const auto older = make_kernel();
    Mover process(*older);
    uapi::MemCopy64 form{process.allocate(4096), 1, 16, 0, 100, 0, nullptr};
    CHECK(process.ask(uapi::kMemCopy64, form) == -EINVAL);
    const auto newer = make_kernel("trn1.2xlarge", "2.30.2");
    Mover other(*newer);
    form.src_mem_handle = form.dst_mem_handle = other.allocate(4096);
    CHECK(other.ask(uapi::kMemCopy64, form) == 0);
}
