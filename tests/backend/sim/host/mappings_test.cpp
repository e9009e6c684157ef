// SPDX-License-Identifier: Apache-2.0
// Areas that are cut, and records that are not.
#include "neuronbook/backend/sim/host/mappings.hpp"

#include "backend/sim/fixture.hpp"

using namespace sim_test;
using sim::Mappings;

namespace {

constexpr std::uint64_t kVa = 0x7f0000000000;

MapGrant chunk_of(std::uint64_t length) {
    return {.length = Bytes{length}, .kind = MapKind::DeviceChunk, .pa = 0x1000000};
}

} // namespace

TEST_CASE("a whole unmap ends the record, a partial one never does", "[sim][mappings]") {
    Mappings mappings;
    mappings.add(0, 1, true, kVa, chunk_of(0x10000));
    REQUIRE(mappings.records().size() == 1);
    SECTION("whole") {
        mappings.cut(1, kVa, 0x10000);
        CHECK(mappings.records().empty());
        CHECK_FALSE(mappings.touches(1, kVa, 0x10000));
    }
    SECTION("more than whole") {
        mappings.cut(1, kVa - 0x1000, 0x20000);
        CHECK(mappings.records().empty());
    }
    SECTION("in pieces, all of it in the end") {
        mappings.cut(1, kVa + 0x4000, 0x1000);
        CHECK_FALSE(mappings.touches(1, kVa + 0x4000, 0x1000));
        CHECK(mappings.touches(1, kVa + 0x3fff, 1));
        CHECK(mappings.touches(1, kVa + 0x5000, 1));
        CHECK(mappings.touches(1, kVa + 0x4000, 0x1001));
        mappings.cut(1, kVa, 0x10000);
        CHECK_FALSE(mappings.touches(1, kVa, 0x10000));
        CHECK(mappings.records().size() == 1);
        CHECK(mappings.find(0, 1, kVa + 0x4000) != nullptr);
        mappings.drop_records(1, 1); // another device's
        CHECK(mappings.records().size() == 1);
        mappings.drop_records(0, 1);
        CHECK(mappings.records().empty());
    }
    SECTION("by another process: nothing") {
        mappings.cut(2, kVa, 0x10000);
        CHECK(mappings.records().size() == 1);
        CHECK(mappings.find(0, 2, kVa) == nullptr);
        CHECK_FALSE(mappings.touches(2, kVa, 0x10000));
    }
    SECTION("moved: the record goes, the area is elsewhere") {
        mappings.move(1, kVa, 0x10000, 0x1000000);
        CHECK(mappings.records().empty());
        CHECK(mappings.touches(1, 0x1000fff, 1));
        CHECK_FALSE(mappings.touches(1, kVa, 0x10000));
    }
}

TEST_CASE("who is not attached maps without a record; raw ranges have none and are inherited",
          "[sim][mappings]") {
    Mappings mappings;
    mappings.add(0, 1, false, kVa, chunk_of(0x1000));
    mappings.add(0, 1, true, kVa + 0x1000, {.length = Bytes{0x1000}});
    CHECK(mappings.records().empty());
    CHECK(mappings.touches(1, kVa, 1));
    mappings.fork(1, 2);
    CHECK_FALSE(mappings.touches(2, kVa, 0x1000));
    CHECK(mappings.touches(2, kVa + 0x1000, 1));
    mappings.drop_process(1);
    CHECK_FALSE(mappings.touches(1, 0, ~std::uint64_t{0}));
    CHECK(mappings.touches(2, 0, ~std::uint64_t{0}));
}

TEST_CASE("ranges at the end of all addresses do no harm", "[sim][mappings]") {
    Mappings mappings;
    constexpr auto kMost = ~std::uint64_t{0};
    mappings.add(0, 1, true, kMost, chunk_of(0x1000));
    mappings.add(0, 1, true, kMost - 0xfff, chunk_of(kMost));
    CHECK(mappings.touches(1, kMost - 1, kMost));
    CHECK_FALSE(mappings.touches(1, 0, 0x1000));
    mappings.move(1, kMost - 0xfff, kMost, kMost - 0x10);
    mappings.cut(1, 0, kMost);
    CHECK_FALSE(mappings.touches(1, 0, kMost));
}

TEST_CASE("the last close forgets records, and the kernel knows what is mapped from it",
          "[sim][mappings]") {
    const auto kernel = make_kernel("trn1.2xlarge", "2.24.7");
    Process process(*kernel);
    const auto handle = process.allocate(65536);
    const auto target = process.allocate(65536);
    const auto mapping = process.port.map(process.fd, Bytes{65536}, true, process.pa(handle));
    REQUIRE(mapping.error == 0);
    // pages that the driver itself mapped cannot be pinned for a zero-copy, others can
    uapi::MemBufCopy64 copy{target, mapping.address, 4096, 0, 1, 0};
    CHECK(process.ask(uapi::kMemBufZerocopy64Form224, copy) == -ENOMEM);
    copy.copy_to_mem_handle = 0;
    CHECK(process.ask(uapi::kMemBufZerocopy64Form224, copy) == -ENOMEM);
    std::vector<char> own(4096);
    copy.buffer = own.data();
    CHECK(process.ask(uapi::kMemBufZerocopy64Form224, copy) == 0);
    CHECK(process.port.unmap(mapping.address, Bytes{65536}) == 0);
}
