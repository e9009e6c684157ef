// SPDX-License-Identifier: Apache-2.0
// Mapping chunks, register windows and HBMs.
#include <cerrno>
#include <cstring>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

struct Mapped {
    Process& process;
    std::uint64_t length;
    Mapping mapping;

    Mapped(Process& p, std::uint64_t offset, std::uint64_t size, bool writable = true)
        : process(p), length(size), mapping(p.port.map(p.fd, Bytes{size}, writable, offset)) {}
    ~Mapped() {
        if (mapping.address != nullptr) process.port.unmap(mapping.address, Bytes{length});
    }
    [[nodiscard]] char* bytes() const { return static_cast<char*>(mapping.address); }
    [[nodiscard]] int error() const { return mapping.error; }
};

bool writable(SimKernel& kernel, const Process& process, std::int32_t pid, std::uint64_t offset,
              std::uint64_t size) {
    TrustedMemory memory;
    const auto answer = kernel.submit(
        {pid, false}, {MapRequest{process.fd, Bytes{size}, offset, true}}, memory, {});
    REQUIRE(answer.value == 0);
    return answer.map.writable;
}

} // namespace

TEST_CASE("a mapping and the copies see the same bytes", "[sim][map]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    const bool host = GENERATE(false, true);
    const auto handle = host ? process.allocate_host(65536) : process.allocate(65536);
    const Mapped one(process, process.pa(handle), 65536);
    const Mapped two(process, process.pa(handle), 65536, false);
    REQUIRE(one.error() == 0);
    std::strcpy(one.bytes() + 100, "through the mapping");
    char text[20];
    CHECK(process.copy_out(handle, text, 20, 100) == 0);
    CHECK(std::strcmp(text, "through the mapping") == 0);
    CHECK(std::strcmp(two.bytes() + 100, text) == 0);
    CHECK(process.copy_in(handle, "by a copy", 10, 5000) == 0);
    CHECK(std::strcmp(one.bytes() + 5000, "by a copy") == 0);
}

TEST_CASE("a chunk is mapped as a whole and from its base", "[sim][map]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    const auto pa = process.pa(process.allocate(1 << 20));
    Mapped whole(process, pa, 1 << 20);
    std::strcpy(whole.bytes(), "base");
    const Mapped inside(process, pa + 4096, 1 << 20);
    CHECK(std::strcmp(inside.bytes(), "base") == 0);
    CHECK(Mapped(process, pa, (1 << 20) - 100).error() == 0); // rounded up
    CHECK(Mapped(process, pa, 1 << 19).error() == EPERM);
    CHECK(Mapped(process, pa, 1 << 21).error() == EPERM);
    CHECK(Mapped(process, 0x3f0000000, 4096).error() == EPERM);
    CHECK(Mapped(process, 0, 4096).error() == EPERM);
    CHECK(Mapped(process, pa + 1, 1 << 20).error() == EINVAL);
    CHECK(Mapped(process, pa, 0).error() == EINVAL);
}

TEST_CASE("a contiguous scratchpad is mapped with any length up to the main pool's end",
          "[sim][map]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    const auto first = process.pa(process.allocate(1 << 20, 0, 0, 19)); // ends with the pool
    CHECK(first == 0x3bff00000);
    CHECK(Mapped(process, first, 1 << 20).error() == 0);
    CHECK(Mapped(process, first, 4096).error() == 0);
    CHECK(Mapped(process, first, (1 << 20) + 4096).error() == EPERM);
    const auto second = process.pa(process.allocate(1 << 20, 0, 0, 19));
    CHECK(Mapped(process, second, 4096).error() == 0);
    CHECK(Mapped(process, second, 2 << 20).error() == 0);
    CHECK(Mapped(process, second, (2 << 20) + 4096).error() == EPERM);
    const auto plain = process.pa(process.allocate(1 << 20, 0, 0, 11));
    CHECK(Mapped(process, plain, 4096).error() == EPERM);
}

TEST_CASE("a mapping outlives the chunk, as stale memory", "[sim][map]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    const auto handle = process.allocate(4096);
    const Mapped mapped(process, process.pa(handle), 4096);
    process.free(handle);
    const auto next = process.allocate(4096);
    process.copy_in(next, "other", 6);
    CHECK(std::strcmp(mapped.bytes(), "other") == 0);
}

TEST_CASE("the file's access decides what may be mapped", "[sim][map]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    const auto pa = process.pa(process.allocate_host(8192));
    Process reader(*kernel, 1000, Access::ReadOnly);
    CHECK(Mapped(reader, pa, 8192, true).error() == EACCES);
    CHECK(Mapped(reader, pa, 8192, false).error() == 0);
    Process discovery(*kernel, 1000, Access::WriteOnly);
    CHECK(Mapped(discovery, pa, 8192, false).error() == EACCES);
}

TEST_CASE("somebody else's chunk is mapped read-only, the driver's own is not", "[sim][map]") {
    const auto kernel = make_kernel();
    Process process(*kernel, 1);
    const auto pa = process.pa(process.allocate(4096));
    CHECK(writable(*kernel, process, 1, pa, 4096));
    CHECK_FALSE(writable(*kernel, process, 2, pa, 4096));
    CHECK(writable(*kernel, process, 2, 0, 16u << 20)); // the carve-out
}

TEST_CASE("a chunk at its HBM's end shows other memory up to 2.26", "[sim][map]") {
    const auto driver = std::string{GENERATE("2.24.7", "2.26.5", "2.30.2")};
    const auto kernel = make_kernel("trn2.3xlarge", driver);
    Process process(*kernel);
    process.allocate(0x5c0000000 - 0x1000000);
    const auto last = process.allocate(std::uint64_t{1} << 30); // all of the small pool
    process.copy_in(last, "data", 5);
    const Mapped mapped(process, process.pa(last), std::uint64_t{1} << 30);
    REQUIRE(mapped.error() == 0);
    const bool right = std::strcmp(mapped.bytes(), "data") == 0;
    CHECK(right == (driver == "2.30.2"));
    CHECK(kernel->would_have_crashed().empty() == right);
}

TEST_CASE("register windows are mapped by exact offset and size", "[sim][map]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    uapi::ResourceMmapInfo info{0, 0, 0, 0, 0, 0};
    CHECK(process.ask(uapi::kResourceMmapInfo, info) == 0);
    CHECK(info.offset == 0xfffc2700000);
    CHECK(info.size == 0x2000);
    CHECK(Mapped(process, info.offset, info.size).error() == 0);
    CHECK(Mapped(process, info.offset, 0x1000).error() == EPERM);
    info = {1, 6, 0, 0, 0, 0}; // a Trn1 device has six of these
    CHECK(process.ask(uapi::kResourceMmapInfo, info) == -EINVAL);
    info = {2, 0, 3, 0, 0, 0}; // and no window on a whole HBM
    CHECK(process.ask(uapi::kResourceMmapInfo, info) == -EINVAL);
    info = {1, 0, 1, 0, 0, 0};
    CHECK(process.ask(uapi::kResourceMmapInfo, info) == 0);
    CHECK_FALSE(writable(*kernel, process, 1000, info.offset, info.size));
}

TEST_CASE("Trn2 and later give whole HBMs to anyone", "[sim][map]") {
    const auto kernel = make_kernel("trn2.3xlarge");
    Process process(*kernel);
    uapi::ResourceMmapInfo info{2, 3, 3, 0, 0, 0};
    CHECK(process.ask(uapi::kResourceMmapInfo, info) == 0);
    CHECK(info.offset == 0x804000000000);
    CHECK(info.size == 0x600000000);
    const auto handle = process.allocate(4096, 0, 3);
    process.copy_in(handle, "seen", 5);
    const Mapped all(process, info.offset, info.size);
    REQUIRE(all.error() == 0);
    CHECK(std::strcmp(all.bytes() + (process.pa(handle) - info.offset), "seen") == 0);
}

TEST_CASE("raw I/O rights map any range of an HBM, old drivers whatever lies beyond",
          "[sim][map]") {
    const bool old = GENERATE(true, false);
    const auto kernel = make_kernel("trn1.2xlarge", old ? "2.26.5" : "2.30.2");
    Process process(*kernel);
    process.port = SimPort(*kernel, Caller{1000, true});
    CHECK(Mapped(process, 0x200000000, 4096).error() == 0);
    CHECK(Mapped(process, 0, 4096).error() == 0);
    CHECK(kernel->would_have_crashed().empty());
    // up to 2.26 the end of the HBM is beyond it already
    CHECK(Mapped(process, 0x3fffff000, 4096).error() == 0);
    CHECK(kernel->would_have_crashed().empty() != old);
    CHECK(Mapped(process, 0x3fffff000, 8192).error() == (old ? 0 : EINVAL));
    CHECK(Mapped(process, 0x800000000, 4096).error() == (old ? 0 : EINVAL));
    const auto host = process.pa(process.allocate_host(8192));
    CHECK(Mapped(process, host, 4096).error() == (old ? 0 : EINVAL));
}
