// SPDX-License-Identifier: Apache-2.0
// Allocating and freeing: forms, checks in their order, handles.
#include <cerrno>
#include <vector>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

/// The answer to one allocation of the newest form all drivers know.
std::int64_t answer(Process& process, uapi::MemAllocV2MemType64 form) {
    const auto handle = process.allocate_as(form);
    if (process.error == 0) process.free(handle);
    return process.error;
}

uapi::MemAllocV2MemType64 form_of(std::uint64_t size) {
    uapi::MemAllocV2MemType64 form;
    form.size = size;
    form.mem_type = 9;
    return form;
}

} // namespace

TEST_CASE("every form allocates a page for 100 bytes", "[sim][memory]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    std::uint64_t handle = 0;
    const auto check = [&](std::uint32_t word, auto form, std::uint32_t category) {
        form.size = 100;
        form.mem_handle = &handle;
        REQUIRE(process.ask(word, form) == 0);
        const auto chunk = kernel->chunks(HostDeviceId{0}, 0).back();
        CHECK(chunk == ChunkView{0x3c0000000, Bytes{4096}, category, 0, 1000, 1});
        CHECK(process.free(handle) == 0);
    };
    check(uapi::kMemAlloc, uapi::MemAlloc{}, 7);
    check(uapi::kMemAllocV2, uapi::MemAllocV2{}, 7);
    check(uapi::kMemAllocV2mt, uapi::MemAllocV2MemType{}, 0);
    check(uapi::kMemAllocV2mt64, uapi::MemAllocV2MemType64{}, 0);
}

TEST_CASE("sizes are refused by the rule they break", "[sim][memory]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    CHECK(answer(process, form_of(0)) == -ENOMEM);
    CHECK(answer(process, form_of(~std::uint64_t{0} >> 1)) == -ENOMEM);
    CHECK(answer(process, form_of(std::uint64_t{1} << 63)) == -EINVAL);
    CHECK(answer(process, form_of(~std::uint64_t{0})) == -EINVAL);
    CHECK(answer(process, form_of(0x3bf000000)) == 0);
    CHECK(answer(process, form_of(0x3bf001000)) == -ENOMEM);
    process.allocate_host(0);
    CHECK(process.error == -ENOMEM);
    process.allocate_host(4u << 20);
    CHECK(process.error == 0);
    process.allocate_host((4u << 20) + 1);
    CHECK(process.error == -ENOMEM);
}

TEST_CASE("HBM and core are checked for host memory too, the category never", "[sim][memory]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    const bool host = GENERATE(false, true);
    auto form = form_of(4096);
    form.host_memory = host ? 7 : 0;
    form.hbm_index = 2;
    CHECK(answer(process, form) == -EINVAL);
    form.hbm_index = 1;
    form.nc_id = 8;
    CHECK(answer(process, form) == -EINVAL);
    form.nc_id = 7; // a Trn1 device has two cores
    form.dram_region_unused = 4000000000u;
    for (const auto category : {0u, 6u, 17u, 20u, 1000u, 0xFFFFFFFFu}) {
        form.mem_type = category;
        CHECK(answer(process, form) == 0);
    }
}

TEST_CASE("B08: up to 524288 bytes after rounding are small, one byte more is not",
          "[sim][memory][B08]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    constexpr std::uint64_t kSmallPool = 0x3c0000000; // the last GiB of the HBM
    for (const auto size : {1u, 4096u, 4097u, 520193u, 524287u, 524288u}) {
        CAPTURE(size);
        CHECK(process.pa(process.allocate(size)) >= kSmallPool);
    }
    CHECK(process.pa(process.allocate(524289)) == 0x1000000);
}

TEST_CASE("B08: when the small pool is full, small requests are served by the main one",
          "[sim][memory][B08]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    for (int i = 0; i < 2048; ++i) REQUIRE(process.pa(process.allocate(524288)) >= 0x3c0000000);
    CHECK(process.pa(process.allocate(4096)) == 0x1000000);
}

TEST_CASE("B08: alignment is refused from 2^31 on and for host memory, and 3 is accepted",
          "[sim][memory][B08]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    auto form = form_of(0x100000);
    form.align = 3;
    CHECK(answer(process, form) == 0);
    form.align = 0x7FFFFFFF;
    CHECK(answer(process, form) == 0);
    form.align = 0x80000000;
    CHECK(answer(process, form) == -EINVAL);
    form.size = 4096;
    form.host_memory = 1;
    form.align = 1;
    CHECK(answer(process, form) == -EINVAL);
}

TEST_CASE("a bad result pointer takes the chunk back", "[sim][memory]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    const auto before = kernel->census();
    auto form = form_of(4096);
    form.mem_handle = reinterpret_cast<std::uint64_t*>(8);
    CHECK(process.ask(uapi::kMemAllocV2mt64, form) == 8);
    uapi::MemAlloc oldest;
    oldest.size = 4096;
    oldest.mem_handle = form.mem_handle;
    CHECK(process.ask(uapi::kMemAlloc, oldest) == 8);
    CHECK(kernel->census() == before);
    CHECK(process.allocate(4096) == 1);
}

TEST_CASE("an unreadable argument is answered as each release does", "[sim][memory]") {
    const auto older = make_kernel("trn1.2xlarge", "2.24.7");
    Process process(*older);
    CHECK(process.ask(uapi::kMemAllocV2mt64, nullptr) == 56);
    CHECK(process.ask(uapi::kMemAllocV2mt, nullptr) == 48);
    CHECK(process.ask(uapi::kMemAlloc, nullptr) == -EACCES);
    CHECK(process.ask(uapi::kMemFree, nullptr) == 8);
    CHECK(process.ask(uapi::kMemGetPa, nullptr) == 16);
    const auto newer = make_kernel("trn1.2xlarge", "2.30.2");
    CHECK(Process(*newer).ask(uapi::kMemAllocV2mt64, nullptr) == -EFAULT);
    CHECK(Process(*newer).ask(uapi::kMemAlloc, nullptr) == -EFAULT);
}

TEST_CASE("who is not attached is told of a bad argument first", "[sim][memory]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    Process child(*kernel, 2, Access::WriteOnly);
    child.fd = process.fd;
    CHECK(answer(child, {4096, 1u << 31, 0, 0, 0, 0, 9, 0, nullptr, 0, 0}) == -EINVAL);
    CHECK(answer(child, {0, 0, 0, 0, 0, 0, 9, 0, nullptr, 0, 0}) == -ENOMEM);
    CHECK(answer(child, {4096, 0, 0, 9, 0, 0, 9, 0, nullptr, 0, 0}) == -EINVAL);
    CHECK(kernel->would_have_crashed().empty());
    CHECK(answer(child, form_of(4096)) == -EACCES);
    CHECK(kernel->would_have_crashed().size() == 1);
    CHECK(kernel->census().user_memory().chunks == 0);
}

TEST_CASE("handles are reused at once, so a stale one names the new chunk", "[sim][memory]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    CHECK(process.allocate(4096) == 1);
    CHECK(process.allocate(4096) == 2);
    CHECK(process.free(2) == 0);
    CHECK(process.free(1) == 0);
    CHECK(process.allocate(4096) == 1);
    CHECK(process.free(1) == 0);
    CHECK(process.free(1) == -EINVAL);
    for (const auto handle : {0ull, 100ull, 4194303ull, 4194304ull, ~0ull})
        CHECK(process.free(handle) == -EINVAL);
}

TEST_CASE("a bad handle is another errno since 2.29", "[sim][memory]") {
    const auto kernel = make_kernel("trn1.2xlarge", "2.30.2");
    CHECK(Process(*kernel).free(5) == -ENOENT);
}

TEST_CASE("any attached process frees any handle, and each device has its own", "[sim][memory]") {
    const auto kernel = make_kernel("trn1.32xlarge");
    Process one(*kernel, 1);
    Process two(*kernel, 2);
    Process far(*kernel, 1, Access::ReadWrite, "/dev/neuron15");
    CHECK(one.allocate(4096) == 1);
    CHECK(far.allocate(4096) == 1);
    CHECK(two.free(1) == 0);
    CHECK(far.free(1) == 0);
    CHECK(kernel->census().user_memory().chunks == 0);
    one.port.close(one.fd); // does not free it again
    CHECK(kernel->would_have_crashed().empty());
}

TEST_CASE("memory runs out and comes back", "[sim][memory]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    std::vector<std::uint64_t> handles;
    while (const auto handle = process.allocate(std::uint64_t{1} << 30)) handles.push_back(handle);
    CHECK(process.error == -ENOMEM);
    CHECK(handles.size() == 15);
    CHECK(process.pa(handles.back()) == 0x3c0000000);
    CHECK(process.allocate(std::uint64_t{1} << 30, 0, 1) != 0);
    for (const auto handle : handles) CHECK(process.free(handle) == 0);
    CHECK(process.allocate(0x3bf000000) != 0);
}

TEST_CASE("HBMs stand where the generation puts them", "[sim][memory]") {
    const auto kernel = make_kernel("trn3p.48xlarge");
    Process process(*kernel);
    const std::uint64_t bases[] = {0, 0x4000000000, 0x800000000000, 0x804000000000};
    for (std::uint32_t hbm = 0; hbm < 4; ++hbm) {
        CHECK(process.pa(process.allocate(1 << 20, 0, hbm)) == bases[hbm] + 0x1000000);
        CHECK(process.pa(process.allocate(4096, 0, hbm)) == bases[hbm] + 0x8C0000000);
    }
    CHECK(process.allocate(4096, 0, 4) == 0);
    CHECK(process.error == -EINVAL);
    CHECK(process.pa(process.allocate_host(4096)) >> 46 == 1);
}

TEST_CASE("category 19 on the host crashes a real kernel at its free", "[sim][memory]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    auto form = form_of(4096);
    form.host_memory = 1;
    form.mem_type = 19;
    const auto handle = process.allocate_as(form);
    CHECK(process.error == 0);
    CHECK(kernel->would_have_crashed().empty());
    process.free(handle);
    CHECK(kernel->would_have_crashed().size() == 1);
}
