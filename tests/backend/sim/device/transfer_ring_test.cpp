// SPDX-License-Identifier: Apache-2.0
// Copies that are waited for later, and what they take of a ring.
#include <cerrno>
#include <cstdint>
#include <vector>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

constexpr std::uint32_t kStart = 0xFFFFFFFF;
constexpr std::uint64_t kLargest = 133169152; // 2032 descriptors

struct Copies : Process {
    using Process::Process;

    std::uint64_t allocate_on(std::uint32_t core, std::uint64_t size = 8192) {
        return allocate_as({size, 0, 0, 0, 0, core, 9, 0, nullptr, 0, 0});
    }

    /// The handle to wait with, or minus an errno.
    std::int64_t start(std::uint64_t from, std::uint64_t to, std::uint32_t previous = kStart,
                       std::uint64_t size = 16) {
        uapi::MemCopyAsync64 form{from, to, size, 0, 4096, 0, previous, 77};
        const auto answer = ask(uapi::kMemCopyAsync64, form);
        return answer != 0 ? answer : std::int64_t{form.wait_handle};
    }

    std::int64_t wait(std::uint64_t from, std::uint64_t to, std::uint32_t handle) {
        uapi::MemCopyAsyncWait form{from, to, handle, 0};
        return ask(uapi::kMemCopyAsyncWait, form);
    }

    std::int64_t touch(std::uint64_t handle) {
        unsigned char byte = 0;
        return copy_out(handle, &byte, 1);
    }

    /// Starts copies and waits for none: how many went well before the first that did not.
    std::uint32_t fill_ring(std::uint64_t handle) {
        for (std::uint32_t count = 0;; ++count)
            if (start(handle, handle) != 1) return count;
    }
};

} // namespace

TEST_CASE("a chain of copies alternates between handles 1 and 2", "[sim][async]") {
    const auto driver = GENERATE("2.24.7", "2.26.5", "2.30.2");
    const auto kernel = make_kernel("trn1.2xlarge", driver);
    Copies process(*kernel);
    const auto a = process.allocate(8192);
    CHECK(process.start(a, a) == 1);
    CHECK(process.start(a, a, 1) == 2);
    CHECK(process.start(a, a, 2) == 1);
    CHECK(process.start(a, a, 1) == 2);
    CHECK(process.wait(a, a, 1) == -EINVAL);
    CHECK(process.wait(a, a, 2) == 0);
    CHECK(process.wait(a, a, 2) == -EINVAL);
    for (const std::uint32_t handle : {0u, 3u, kStart})
        CHECK(process.wait(a, a, handle) == -EINVAL);
    CHECK(process.start(a, a, 0) == 0); // synchronous
    CHECK(process.start(a, a, 3) == -EINVAL);
    CHECK(process.start(a, a, 2) == -EINVAL); // nothing to wait for
}

TEST_CASE("the bytes of an awaited copy are there, in both forms", "[sim][async]") {
    const auto kernel = make_kernel();
    Copies process(*kernel);
    const auto from = process.allocate(8192);
    const auto to = process.allocate_host(8192);
    process.copy_in(from, "of the first", 12);
    CHECK(process.start(from, to) == 1);
    CHECK(process.wait(from, to, 1) == 0);
    char bytes[13] = {};
    process.copy_out(to, bytes, 12, 4096);
    CHECK(bytes == std::string{"of the first"});
    uapi::MemCopyAsync shorter{to, from, 5, 4096 + 3, 100, 0, 0, kStart, 0};
    CHECK(process.ask(uapi::kMemCopyAsync, shorter) == 0);
    CHECK(shorter.wait_handle == 1);
    CHECK(process.wait(to, from, 1) == 0);
    process.copy_out(from, bytes, 5, 100);
    CHECK(std::string(bytes, 5) == "the f");
}

TEST_CASE("a new start takes an abandoned chain over, whoever began it", "[sim][async]") {
    const auto kernel = make_kernel();
    Copies one(*kernel, 1);
    Copies two(*kernel, 2);
    const auto a = one.allocate(8192);
    CHECK(one.start(a, a) == 1);
    CHECK(two.start(a, a) == 1);
    CHECK(one.wait(a, a, 1) == 0);
    CHECK(two.wait(a, a, 1) == -EINVAL);
}

TEST_CASE("waiting on another core's ring finds nothing", "[sim][async]") {
    const auto kernel = make_kernel();
    Copies process(*kernel);
    const auto core0 = process.allocate_on(0);
    const auto core1 = process.allocate_on(1);
    const auto host = process.allocate_host(8192);
    CHECK(process.start(core0, core1) == 1); // the source's ring
    CHECK(process.wait(core1, core0, 1) == -EINVAL);
    CHECK(process.wait(core0, core0, 1) == 0);
    CHECK(process.start(host, core1) == 1); // the device's end
    CHECK(process.wait(core0, host, 1) == -EINVAL);
    CHECK(process.wait(core1, host, 1) == 0);
    CHECK(process.start(host, host) == 1);
    CHECK(process.wait(host, host, 1) == 0);
}

TEST_CASE("cores 1 to 7 of a Trn1 chunk share a ring; those of Trn2 do not", "[sim][async]") {
    const auto trn1 = make_kernel();
    Copies old(*trn1);
    const auto a = old.allocate_on(1);
    CHECK(old.start(a, a) == 1);
    CHECK(old.wait(old.allocate_on(0), a, 1) == -EINVAL);
    CHECK(old.wait(old.allocate_on(7), a, 1) == 0);
    const auto trn2 = make_kernel("trn2.3xlarge");
    Copies process(*trn2);
    std::vector<std::uint64_t> chunks;
    for (std::uint32_t core = 0; core < 8; ++core) chunks.push_back(process.allocate_on(core));
    for (const auto chunk : chunks) CHECK(process.start(chunk, chunk) == 1);
    for (const auto chunk : chunks) CHECK(process.wait(chunk, chunk, 1) == 0);
}

TEST_CASE("one asynchronous copy has at most 2032 descriptors", "[sim][async]") {
    const auto kernel = make_kernel();
    Copies process(*kernel);
    const auto a = process.allocate(std::uint64_t{256} << 20);
    CHECK(process.start(a, a, kStart, kLargest) == 1);
    CHECK(process.wait(a, a, 1) == 0);
    CHECK(process.start(a, a, kStart, kLargest + 1) == -EINVAL);
    CHECK(process.start(a, a, 0, kLargest + 1) == 0); // a synchronous one goes on
}

TEST_CASE("the 4089th copy that nobody waits for finds no room", "[sim][async]") {
    const auto kernel = make_kernel();
    Copies process(*kernel);
    Copies other(*kernel, 2);
    const auto a = process.allocate(8192);
    const auto core1 = process.allocate_on(1);
    CHECK(process.fill_ring(a) == 4088);
    CHECK(process.start(a, a) == -ENOMEM);
    CHECK(other.touch(a) == -ENOMEM);
    CHECK(other.copy_in(a, "x", 1) == -ENOMEM);
    uapi::Memset fill{a, 0, 0, 1};
    CHECK(other.ask(uapi::kMemset, fill) == -ENOMEM);
    uapi::MemCopy64Deprecated copy{core1, a, 1, 0, 0};
    CHECK(other.ask(uapi::kMemCopy64Deprecated, copy) == -ENOMEM); // the destination's ring
    copy = {a, core1, 1, 0, 0};
    CHECK(other.ask(uapi::kMemCopy64Deprecated, copy) == 0);
    CHECK(other.touch(core1) == 0);
    CHECK(other.copy_in(process.allocate_host(8192), "x", 1) == 0); // no engine
    uapi::DeviceReset reset{2, 0};
    CHECK(process.ask(uapi::kNcReset, reset) == 0);
    CHECK(process.touch(a) == -ENOMEM); // that was core 1
    reset = {1, 0};
    CHECK(other.ask(uapi::kNcReset, reset) == 0);
    uapi::DeviceReady ready{2, 0};
    CHECK(other.ask(uapi::kNcResetReady, ready) == 0);
    CHECK(process.touch(a) == 0);
    CHECK(process.wait(a, a, 1) == -EINVAL);
}

TEST_CASE("awaited copies leave the ring as it was", "[sim][async]") {
    const auto kernel = make_kernel();
    Copies process(*kernel);
    const auto a = process.allocate(8192);
    for (int i = 0; i < 5000; ++i) {
        REQUIRE(process.start(a, a) == 1);
        REQUIRE(process.wait(a, a, 1) == 0);
    }
    CHECK(process.fill_ring(a) == 4088);
}

TEST_CASE("four copies refused for their size pass, the fifth blocks the ring", "[sim][async]") {
    const auto kernel = make_kernel();
    Copies process(*kernel);
    const auto a = process.allocate(std::uint64_t{130} << 20);
    for (int i = 0; i < 4; ++i) {
        CHECK(process.start(a, a, kStart, kLargest + 1) == -EINVAL);
        CHECK(process.touch(a) == 0);
    }
    CHECK(process.start(a, a, kStart, kLargest + 1) == -ENOMEM);
    CHECK(process.touch(a) == -ENOMEM);
    CHECK(process.touch(process.allocate_on(1)) == 0);
}
