// SPDX-License-Identifier: Apache-2.0
// Asking about chunks.
#include <array>
#include <cerrno>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

TEST_CASE("address and offset of a chunk are one number", "[sim][query]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    const auto handle = process.allocate(5000, 0, 1);
    CHECK(process.pa(handle) == 0x13c0000000);
    std::uint64_t offset = 0;
    std::uint64_t pa = 0;
    uapi::MemGetInfo info{handle, &offset, &pa};
    CHECK(process.ask(uapi::kMemGetInfo, info) == 0);
    CHECK(offset == 0x13c0000000);
    CHECK(pa == 0x13c0000000);
    info.mmap_offset = nullptr; // may be left out
    CHECK(process.ask(uapi::kMemGetInfo, info) == 0);
    info.pa = nullptr; // may not
    CHECK(process.ask(uapi::kMemGetInfo, info) == 8);
    info.mem_handle = 12345;
    CHECK(process.ask(uapi::kMemGetInfo, info) == -EINVAL);
    uapi::MemGetPa bad{handle, reinterpret_cast<std::uint64_t*>(8)};
    CHECK(process.ask(uapi::kMemGetPa, bad) == 8);
}

TEST_CASE("a host chunk's address carries the host's bit", "[sim][query]") {
    for (const auto& [instance, bit] : {std::pair{"trn1.2xlarge", 44}, {"trn2.3xlarge", 46}}) {
        const auto kernel = make_kernel(instance);
        Process process(*kernel);
        CHECK(process.pa(process.allocate_host(100)) >> bit == 1);
    }
}

TEST_CASE("extended information destroys the handle it was asked with", "[sim][query]") {
    const auto kernel = make_kernel();
    Process process(*kernel, 55);
    uapi::MemGetExtendedInfo info{process.allocate(5000), 1, 9, 0, 0, 0, 0};
    CHECK(process.ask(uapi::kMemGetExtendedInfo, info) == 0);
    CHECK(info.mem_handle >> 40 == 0xFFFF88);
    CHECK(info.version != 1);
    CHECK(info.host_memory == 0);
    CHECK(info.pa == 0x3c0000000);
    CHECK(info.mmap_offset == 0x3c0000000);
    CHECK(info.pid == 55);
    CHECK(info.size == 8192);
    CHECK(process.ask(uapi::kMemGetExtendedInfo, info) == 22); // plus, not minus
}

TEST_CASE("any address inside a chunk finds it", "[sim][query]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    const auto handle = process.allocate(5000);
    const auto host = process.allocate_host(5000);
    uapi::MemGetMcMmapInfoV2 info{0x3c0001FFF, 0, 0, 0};
    CHECK(process.ask(uapi::kMemMcGetInfoV2, info) == 0);
    CHECK(info.mmap_offset == 0x3c0000000);
    CHECK(info.size == 8192);
    CHECK(info.mem_handle == handle);
    info.pa = process.pa(host) + 4096;
    CHECK(process.ask(uapi::kMemMcGetInfoV2, info) == 0);
    CHECK(info.mem_handle == host);
    uapi::MemGetMcMmapInfo older{0x3c0002000, 0, 0};
    CHECK(process.ask(uapi::kMemMcGetInfo, older) == -ENOMEM);
    older.pa = 0x3c0000000;
    CHECK(process.ask(uapi::kMemMcGetInfo, older) == 0);
    CHECK(process.ask(0xC0284E6Fu, older) == -EINVAL); // 40 bytes
}

TEST_CASE("asking by address makes a handle for a chunk that has none", "[sim][query]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    process.allocate(4096);
    uapi::MemGetMcMmapInfoV2 carve_out{0x1000, 0, 0, 0};
    CHECK(process.ask(uapi::kMemMcGetInfoV2, carve_out) == 0);
    CHECK(carve_out.mmap_offset == 0);
    CHECK(carve_out.size == 0x1000000);
    CHECK(carve_out.mem_handle == 2);
    carve_out.mem_handle = 0;
    CHECK(process.ask(uapi::kMemMcGetInfoV2, carve_out) == 0);
    CHECK(carve_out.mem_handle == 2);
    CHECK(process.pa(2) == 0);
    CHECK(process.error == 0);
}

TEST_CASE("a dump lists every process's chunks in address order", "[sim][query]") {
    const auto kernel = make_kernel();
    Process one(*kernel, 1);
    Process two(*kernel, 2);
    two.allocate(4096, 0, 0, 1000);
    one.allocate(1 << 20);
    std::array<uapi::MemChunkInfo, 8> entries{};
    uapi::DumpMemChunks dump{0, 8, 0, 0, entries.data()};
    CHECK(one.ask(uapi::kDumpMemChunks, dump) == 0);
    REQUIRE(dump.num_entries_out == 3);
    CHECK(entries[0].pa == 0);
    CHECK(entries[0].size == 0x1000000);
    CHECK(entries[0].mem_type == 13);
    CHECK(entries[1].pa == 0x1000000);
    CHECK(entries[2].pa == 0x3c0000000);
    CHECK(entries[2].mem_type == 1000);
}

TEST_CASE("a dump into too small a buffer says how many there are", "[sim][query]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    process.allocate(4096);
    uapi::MemChunkInfo entry{7, 7, 7, 7};
    uapi::DumpMemChunks dump{0, 1, 0, 0, &entry};
    CHECK(process.ask(uapi::kDumpMemChunks, dump) == -EAGAIN);
    CHECK(dump.num_entries_out == 2);
    CHECK(entry.pa == 7);
    dump = {0, 0, 0, 0, nullptr};
    CHECK(process.ask(uapi::kDumpMemChunks, dump) == -EAGAIN);
    dump = {9, 0, 5, 0, nullptr}; // no such HBM: nothing in it
    CHECK(process.ask(uapi::kDumpMemChunks, dump) == 0);
    CHECK(dump.num_entries_out == 0);
    dump = {0, 0xFFFFFFFF, 0, 0, &entry};
    CHECK(process.ask(uapi::kDumpMemChunks, dump) == -ENOMEM);
    dump = {0, 8, 77, 0, nullptr};
    CHECK(process.ask(uapi::kDumpMemChunks, dump) == 48);
    CHECK(dump.num_entries_out == 2); // written first
}
