// SPDX-License-Identifier: Apache-2.0
// What the same request is answered in each release: driver-abi.md 14, the lower rows.
#include <algorithm>

#include "backend/sim/spec/spec.hpp"

using namespace spec_test;

TEST_CASE("a bad handle or range: EINVAL up to 2.28, then ENOENT and E2BIG",
          "[sim][spec][versions]") {
    std::vector<char> buffer(16384);
    for (const auto& release : kReleases) {
        CAPTURE(release);
        const auto kernel = make_kernel(kV2, release);
        Process process(*kernel);
        const auto good = process.allocate(4096);
        const auto bad = good + 77;
        const auto no_handle = by_release(release, -EINVAL, -EINVAL, -ENOENT);
        const auto no_range = by_release(release, -EINVAL, -EINVAL, -E2BIG);
        const auto fill = [&](std::uint64_t handle, std::uint64_t size) {
            uapi::Memset64 form{handle, 0, 0, 0, size};
            return process.ask(uapi::kMemset64, form);
        };
        const auto copy = [&](std::uint64_t from, std::uint64_t to, std::uint64_t size) {
            uapi::MemCopy64Deprecated form{from, to, size, 0, 0};
            return process.ask(uapi::kMemCopy64Deprecated, form);
        };
        const auto copy_async = [&](std::uint64_t from, std::uint64_t to, std::uint64_t size) {
            uapi::MemCopyAsync64 form{from, to, size, 0, 0, 0, 0, 0};
            return process.ask(uapi::kMemCopyAsync64, form);
        };
        CHECK(process.free(bad) == no_handle);
        CHECK(fill(bad, 1) == no_handle);
        CHECK(fill(good, 4097) == no_range);
        CHECK(copy(bad, good, 1) == no_handle);
        CHECK(copy(good, bad, 1) == no_handle);
        CHECK(copy(good, good, 4097) == no_range);
        CHECK(copy_async(bad, good, 1) == no_handle);
        CHECK(copy_async(good, good, 4097) == no_range);
        CHECK(process.copy_in(bad, buffer.data(), 1) == no_handle);
        CHECK(process.copy_in(good, buffer.data(), 4097) == no_range);
        uapi::MemCopyAsyncWait wait{bad, good, 1, 0};
        CHECK(process.ask(uapi::kMemCopyAsyncWait, wait) == no_handle);
        process.pa(bad); // these never changed
        CHECK(process.error == -EINVAL);
        uapi::MemGetExtendedInfo info;
        info.mem_handle = bad;
        CHECK(process.ask(uapi::kMemGetExtendedInfo, info) == 22);
        CHECK(process.free(good) == 0);
    }
}

TEST_CASE("marks beyond the map: EINVAL up to 2.26, ENXIO since", "[sim][spec][versions]") {
    for (const auto& release : kReleases) {
        CAPTURE(release);
        const auto kernel = make_kernel(kV2, release);
        Process process(*kernel, 1, Access::WriteOnly);
        const auto refused = by_release(release, -EINVAL, -EINVAL, -ENXIO);
        mark(process, 1, 3, 2);
        CHECK(process.error == refused);
        mark(process, 1, 0, 512);
        CHECK(process.error == refused);
        mark(process, 1, 511, 511); // cores need not exist
        CHECK(process.error == 0);
    }
}

TEST_CASE("offset + size that wraps passes in 2.24 alone", "[sim][spec][versions]") {
    std::vector<char> buffer(8192);
    for (const auto& release : kReleases) {
        CAPTURE(release);
        const auto kernel = make_kernel(kV2, release);
        Process process(*kernel);
        const auto handle = process.allocate(4096);
        CHECK(process.copy_out(handle, buffer.data(), 8192, std::uint64_t{0} - 4096) ==
              by_release(release, 0, -EINVAL, -E2BIG));
        CHECK(kernel->would_have_crashed().empty() == (release != k24));
    }
}

TEST_CASE("the HBM and the region of an allocation stand where they stood under older names",
          "[sim][spec][versions]") {
    for (const auto& release : kReleases) {
        CAPTURE(release);
        const auto kernel = make_kernel(kV2, release);
        Process process(*kernel);
        std::uint64_t handle = 0;
        std::array<std::uint32_t, 14> words{}; // 56 bytes
        words[0] = 4096;
        words[5] = 1;   // dram_channel, hbm_index
        words[6] = 999; // dram_region: one region, whatever is said
        const auto pointer = reinterpret_cast<std::uint64_t>(&handle);
        std::memcpy(&words[10], &pointer, 8);
        CHECK(process.ask(uapi::kMemAllocV2mt64, words) == 0);
        CHECK(process.pa(handle) == 0x1000000000 + 0x3C0000000);
    }
}

TEST_CASE("a copy that never ends: EPERM up to 2.26, then ETIMEDOUT", "[sim][spec][versions]") {
    std::vector<char> buffer(4096);
    for (const auto& release : kReleases) {
        CAPTURE(release);
        const auto kernel = make_kernel(kV3, release);
        Process process(*kernel);
        const auto handle = process.allocate(4096);
        SimFaults faults;
        faults.copies_hang = true;
        kernel->set_faults(HostDeviceId{0}, faults);
        const auto late = by_release(release, -1, -1, -ETIMEDOUT);
        CHECK(process.copy_in(handle, buffer.data(), 4096) == late);
        uapi::Memset64 fill{handle, 0, 0, 0, 4096};
        CHECK(process.ask(uapi::kMemset64, fill) == late);
        CHECK(kernel->now().count > 0); // the caller waited for it
        kernel->set_faults(HostDeviceId{0}, {});
        CHECK(process.copy_in(handle, buffer.data(), 4096) == 0);
    }
}

TEST_CASE("a mapping that ends with its HBM shows something else up to 2.26",
          "[sim][spec][versions]") {
    constexpr std::uint64_t kSize = 512 << 10;
    for (const auto& release : kReleases) {
        CAPTURE(release);
        const auto kernel = make_kernel(kV2, release);
        Process process(*kernel);
        std::uint64_t last = 0;
        for (int i = 0; i < 2048; ++i) last = process.allocate(kSize); // 1 GiB of small chunks
        const auto pa = process.pa(last);
        REQUIRE(pa + kSize == 0x400000000);
        std::vector<char> text(kSize, 'x');
        CHECK(process.copy_in(last, text.data(), kSize) == 0);
        const auto map = process.port.map(process.fd, Bytes{kSize}, true, pa);
        REQUIRE(map.error == 0);
        CHECK((std::memcmp(map.address, text.data(), kSize) == 0) == (release == k30));
        process.port.unmap(map.address, Bytes{kSize});
        CHECK(kernel->would_have_crashed().empty() == (release == k30));
    }
}

TEST_CASE("a write through the window that ends with its HBM is lost up to 2.26",
          "[sim][spec][versions]") {
    constexpr std::uint64_t kSize = 512 << 10;
    for (const std::string release : {k26, k30}) {
        CAPTURE(release);
        const auto kernel = make_kernel(kV2, release);
        Process process(*kernel);
        std::uint64_t last = 0;
        for (int i = 0; i < 2048; ++i) last = process.allocate(kSize);
        std::vector<char> old(4096, 'o');
        std::vector<char> text(4096, 'x');
        std::vector<char> back(4096);
        CHECK(process.copy_in(last, old.data(), 4096, kSize - 4096) == 0);
        if (release == k26) {
            CHECK(zero_copy_26(process, last, text.data(), 4096, 8192, true, -1, kSize - 4096) ==
                  0);
        } else {
            uapi::MemBufCopy64zc form{last, text.data(), 4096, kSize - 4096, 1, 8192,
                                      -1,   0,           0,    nullptr};
            CHECK(process.ask(0xC0404E7Cu, form) == 0);
        }
        CHECK(process.copy_out(last, back.data(), 4096, kSize - 4096) == 0);
        CHECK(back == (release == k26 ? old : text));
    }
}

TEST_CASE("core_count and connected_devices: one without a newline, only root's up to 2.28",
          "[sim][spec][versions]") {
    for (const auto& release : kReleases) {
        CAPTURE(release);
        const auto kernel = make_kernel("trn1.32xlarge", release);
        CHECK(read_text(*kernel, std::string(kSysfs) + "core_count") == "2");
        CHECK(read_text(*kernel, std::string(kSysfs) + "connected_devices") == "12, 3, 4, 1\n");
        std::array<char, 64> buffer{};
        const auto others = [&](const char* name) {
            return kernel->read_file(std::string(kSysfs) + name, buffer, FileUser::Other);
        };
        CHECK(others("core_count") == by_release(release, -EACCES, -EACCES, 1));
        CHECK(others("connected_devices") == by_release(release, -EACCES, -EACCES, 12));
        const auto alone = make_kernel(kV3, release);
        CHECK(read_text(*alone, std::string(kSysfs) + "core_count") == "8");
        CHECK(read_text(*alone, std::string(kSysfs) + "connected_devices") == "\n");
    }
}

TEST_CASE("a datastore has 31 device counters in every release", "[sim][spec][versions]") {
    CHECK(uapi::kNdsNdCountersSize == 31 * 8);
    CHECK(static_cast<int>(uapi::NdsNdCounter::DeviceClusterId) == 12);
    CHECK(static_cast<int>(uapi::NdsNdCounter::AggNeffId) == 13);
}

TEST_CASE("a new datastore is 256 KiB of zeros, which its process signs", "[sim][spec][versions]") {
    for (const auto& release : kReleases) {
        CAPTURE(release);
        const auto kernel = make_kernel(kV2, release);
        Process process(*kernel);
        uapi::NeuronDsInfo info;
        REQUIRE(process.ask(uapi::kAcquireNeuronDs, info) == 0);
        CHECK(info.size == 262144);
        const auto map = process.port.map(process.fd, Bytes{262144}, true, info.mmap_offset);
        REQUIRE(map.error == 0);
        const auto* bytes = static_cast<const char*>(map.address);
        CHECK(std::count(bytes, bytes + 262144, '\0') == 262144);
        process.port.unmap(map.address, Bytes{262144});
        CHECK(process.ask(uapi::kReleaseNeuronDs, info) == 0);
    }
}

TEST_CASE("the firmware's versions are in sysfs since 2.29", "[sim][spec][versions]") {
    for (const auto& release : kReleases) {
        CAPTURE(release);
        const auto kernel = make_kernel(kV2, release);
        CHECK(kernel->exists(std::string(kSysfs) + "fw_api_version") == (release == k30));
        CHECK(kernel->exists(std::string(kSysfs) + "fw_build") == (release == k30));
    }
}
