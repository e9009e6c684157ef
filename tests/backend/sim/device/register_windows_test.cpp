// SPDX-License-Identifier: Apache-2.0
// The table of what anybody may map, whose numbers stand in the driver.
#include "neuronbook/backend/sim/device/register_windows.hpp"

#include <cerrno>
#include <cstring>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

/// Offset and size, or 0 and 0 for -EINVAL.
std::pair<std::uint64_t, std::uint64_t> ask(Process& process, std::uint32_t block, std::uint32_t id,
                                            std::uint32_t kind) {
    uapi::ResourceMmapInfo info{block, id, kind, 0, 0, 0};
    const auto answer = process.ask(uapi::kResourceMmapInfo, info);
    if (answer != 0) CHECK(answer == -EINVAL);
    return answer == 0 ? std::pair{info.offset, info.size}
                       : std::pair{std::uint64_t{0}, std::uint64_t{0}};
}

using Pair = std::pair<std::uint64_t, std::uint64_t>;

} // namespace

TEST_CASE("register windows of Trn1", "[sim][map]") {
    const auto kernel = make_kernel("trn1.2xlarge", GENERATE("2.24.7", "2.26.5", "2.30.2"));
    Process process(*kernel);
    CHECK(ask(process, 0, 0, 0) == Pair{0xfffc2700000, 0x2000});
    CHECK(ask(process, 0, 1, 0) == Pair{0xfffc6700000, 0x2000});
    CHECK(ask(process, 0, 0, 2) == Pair{0xfffc0000000, 0x2000000});
    CHECK(ask(process, 0, 1, 2) == Pair{0xfffc4000000, 0x2000000});
    CHECK(ask(process, 1, 0, 0) == Pair{0xfffd0000000, 0x2000});
    CHECK(ask(process, 1, 5, 1) == Pair{0xfffd1400000, 0x400000});
    for (const auto& [block, id, kind] :
         {std::array{0u, 2u, 0u}, std::array{1u, 6u, 0u}, std::array{0u, 0u, 1u},
          std::array{1u, 0u, 2u}, std::array{2u, 0u, 3u}, std::array{3u, 0u, 0u},
          std::array{0u, 0xffffffffu, 0u}})
        CHECK(ask(process, block, id, kind) == Pair{0, 0});
}

TEST_CASE("register windows and whole HBMs of Trn2 and Trn3", "[sim][map]") {
    const bool third = GENERATE(false, true);
    const auto kernel = make_kernel(third ? "trn3pd98.3xlarge" : "trn2.3xlarge", "2.26.5");
    Process process(*kernel);
    const std::uint64_t hbm = third ? 0x900000000 : 0x600000000;
    CHECK(ask(process, 0, 0, 0) == Pair{0x2002700000, 0x2000});
    CHECK(ask(process, 0, 7, 0) == Pair{0x201e700000, 0x2000});
    CHECK(ask(process, 0, 7, 2) == Pair{0x201c000000, 0x2000000});
    CHECK(ask(process, 1, 0, 0) == Pair{0x8280000000, 0x2000});
    CHECK(ask(process, 1, 7, 1) == Pair{0x8440000000, 0x400000});
    CHECK(ask(process, 1, 8, 0) == Pair{0x808280000000, 0x2000});
    CHECK(ask(process, 1, 15, 1) == Pair{0x808440000000, 0x400000});
    CHECK(ask(process, 2, 0, 3) == Pair{0, hbm});
    CHECK(ask(process, 2, 1, 3) == Pair{0x4000000000, hbm});
    CHECK(ask(process, 2, 2, 3) == Pair{0x800000000000, hbm});
    CHECK(ask(process, 2, 3, 3) == Pair{0x804000000000, hbm});
    CHECK(ask(process, 0, 8, 0) == Pair{0, 0});
    CHECK(ask(process, 1, 16, 0) == Pair{0, 0});
    CHECK(ask(process, 2, 4, 3) == Pair{0, 0});
}

TEST_CASE("what is written to a register window is there for every mapping of it", "[sim][map]") {
    const auto kernel = make_kernel();
    Process one(*kernel, 1);
    Process two(*kernel, 2);
    const auto write = one.port.map(one.fd, Bytes{0x2000}, true, 0xfffd0400000);
    const auto read = two.port.map(two.fd, Bytes{0x400000}, true, 0xfffd0400000); // all of it
    REQUIRE(write.error == 0);
    REQUIRE(read.error == 0);
    std::strcpy(static_cast<char*>(write.address) + 0x100, "semaphore");
    CHECK(std::strcmp(static_cast<char*>(read.address) + 0x100, "semaphore") == 0);
    CHECK(one.port.unmap(write.address, Bytes{0x2000}) == 0);
    CHECK(two.port.unmap(read.address, Bytes{0x400000}) == 0);
}

TEST_CASE("from 2.29 on large mappings begin at 2 MiB", "[sim][map]") {
    const auto kernel = make_kernel("trn1.2xlarge", "2.30.2");
    Process process(*kernel);
    const auto pa = process.pa(process.allocate(4 << 20, 2 << 20));
    for (int i = 0; i < 4; ++i) {
        const auto mapping = process.port.map(process.fd, Bytes{4 << 20}, true, pa);
        REQUIRE(mapping.error == 0);
        CHECK(reinterpret_cast<std::uint64_t>(mapping.address) % (2 << 20) == 0);
        std::strcpy(static_cast<char*>(mapping.address) + (4 << 20) - 8, "end");
        CHECK(process.port.unmap(mapping.address, Bytes{4 << 20}) == 0);
    }
    TrustedMemory memory;
    const auto align = [&](std::uint64_t offset, std::uint64_t length) {
        return kernel
            ->submit({1000, false}, {MapRequest{process.fd, Bytes{length}, offset, true}}, memory,
                     {})
            .map.alignment.count();
    };
    CHECK(align(pa, 4 << 20) == 2 << 20);
    CHECK(align(pa + 4096, 4 << 20) == 4096);
    CHECK(align(process.pa(process.allocate(8192)), 8192) == 4096);
}
