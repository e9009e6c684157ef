// SPDX-License-Identifier: Apache-2.0
// "Easy to get wrong", driver-abi.md 15: rows 9 to 16, about where memory is and what maps it.
#include "backend/sim/spec/spec.hpp"

using namespace spec_test;

TEST_CASE("9: bounds are of tables, not of the device, and a category has none",
          "[sim][spec][traps]") {
    for (const auto& release : kReleases) {
        CAPTURE(release);
        for (const std::string instance : {kV2, kV3}) {
            const auto kernel = make_kernel(instance, release);
            Process process(*kernel);
            const auto ask = [&](std::uint32_t hbm, std::uint32_t core, std::uint32_t category) {
                process.allocate_as({4096, 0, 0, hbm, 0, core, category, 0, nullptr, 0, 0});
                return process.error;
            };
            CHECK(ask(0, 7, 9) == 0); // the first generation has two cores
            CHECK(ask(0, 8, 9) == -EINVAL);
            CHECK(ask(1, 0, 9) == 0);
            CHECK(ask(2, 0, 9) == (instance == kV2 ? -EINVAL : 0));
            CHECK(ask(4, 0, 9) == -EINVAL);
            CHECK(ask(0, 0, 1000) == 0);
            CHECK(ask(0, 0, 2) == 0); // a host's category on the device
            CHECK(dump(process, 0).back().mem_type == 2);
        }
    }
}

TEST_CASE("10: HBMs do not lie where their windows do", "[sim][spec][traps]") {
    const auto kernel = make_kernel("trn2.48xlarge");
    Process process(*kernel, 1, Access::ReadWrite, "/dev/neuron11");
    const std::array<std::uint64_t, 4> bases{0, std::uint64_t{1} << 38, std::uint64_t{1} << 47,
                                             (std::uint64_t{1} << 47) + (std::uint64_t{1} << 38)};
    for (std::uint32_t hbm = 0; hbm < 4; ++hbm) {
        CHECK(dump(process, hbm)[0].pa == bases[hbm]);
        CHECK(process.pa(process.allocate(1 << 20, 0, hbm)) == bases[hbm] + 0x1000000);
        CHECK(process.pa(process.allocate(4096, 0, hbm)) == bases[hbm] + 0x5C0000000);
    }
}

TEST_CASE("11: the driver's own 16 MiB are the first of each HBM", "[sim][spec][traps]") {
    for (const auto& release : kReleases) {
        CAPTURE(release);
        const auto kernel = make_kernel(kV2, release);
        Process process(*kernel);
        for (std::uint32_t hbm = 0; hbm < 2; ++hbm) {
            const auto first = dump(process, hbm).at(0);
            CHECK(first.pa == hbm * 0x1000000000);
            CHECK(first.size == 16 << 20);
            CHECK(first.mem_type == 13);
        }
    }
}

TEST_CASE("12: small chunks come from the top, so addresses follow no order",
          "[sim][spec][traps]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    const auto small = process.pa(process.allocate(512 << 10));
    const auto large = process.pa(process.allocate((512 << 10) + 1));
    const auto next = process.pa(process.allocate(100));
    CHECK(small == 0x3C0000000);
    CHECK(large == 0x1000000);
    CHECK(next == 0x3C0080000);
    const auto chunks = dump(process, 0);
    REQUIRE(chunks.size() == 4);
    CHECK(chunks[1].pa == large);
    CHECK(chunks[1].size == (512 << 10) + 4096); // not what was asked for
    CHECK(chunks[3].size == 4096);
}

TEST_CASE("13: a mapping of another length is not permitted", "[sim][spec][traps]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    const auto pa = process.pa(process.allocate(10000)); // 12288 in whole pages
    for (const std::uint64_t length : {4096ull, 8192ull, 16384ull})
        CHECK(process.port.map(process.fd, Bytes{length}, false, pa).error == EPERM);
    const auto map = process.port.map(process.fd, Bytes{12288}, true, pa);
    CHECK(map.error == 0);
    process.port.unmap(map.address, Bytes{12288});
}

TEST_CASE("14: a host chunk's offset says that it is the host's, and any of its pages will do",
          "[sim][spec][traps]") {
    const bool later = GENERATE(false, true);
    const auto kernel = make_kernel(later ? kV3 : kV2);
    Process process(*kernel);
    const auto handle = process.allocate_host(8192);
    std::uint64_t offset = 0;
    std::uint64_t pa = 0;
    uapi::MemGetInfo info{handle, &offset, &pa};
    CHECK(process.ask(uapi::kMemGetInfo, info) == 0);
    CHECK(offset == pa);
    CHECK(pa >> 44 == (later ? 4 : 1)); // bit 46, or bit 44
    const std::string text = "from the base";
    CHECK(process.copy_in(handle, text.data(), text.size()) == 0);
    const auto map = process.port.map(process.fd, Bytes{8192}, true, offset + 4096);
    REQUIRE(map.error == 0);
    CHECK(std::memcmp(map.address, text.data(), text.size()) == 0);
    process.port.unmap(map.address, Bytes{8192});
}

TEST_CASE("15: a mapping of the device shows what copies see, so that bulk can be copied",
          "[sim][spec][traps]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    const auto handle = process.allocate(1 << 20);
    const auto map = process.port.map(process.fd, Bytes{1 << 20}, true, process.pa(handle));
    REQUIRE(map.error == 0);
    auto* bytes = static_cast<char*>(map.address);
    std::memset(bytes + 70000, 'm', 1000);
    std::vector<char> back(1000);
    CHECK(process.copy_out(handle, back.data(), 1000, 70000) == 0);
    CHECK(back == std::vector<char>(1000, 'm'));
    const std::vector<char> text(1000, 'c');
    CHECK(process.copy_in(handle, text.data(), 1000, 200000) == 0);
    CHECK(std::memcmp(bytes + 200000, text.data(), 1000) == 0);
    process.port.unmap(map.address, Bytes{1 << 20});
}

TEST_CASE("16: a buffer copy of 4 GiB and a page copies a page, and says nothing",
          "[sim][spec][traps]") {
    for (const auto& release : kReleases) {
        CAPTURE(release);
        const auto kernel = make_kernel(kV2, release);
        Process process(*kernel);
        constexpr std::uint64_t kSize = (std::uint64_t{4} << 30) + 4096;
        const auto handle = process.allocate(kSize);
        REQUIRE(handle != 0);
        std::vector<char> page(4096, 'p');
        CHECK(process.copy_in(handle, page.data(), kSize) == 0);
        std::vector<char> back(8192, '-');
        CHECK(process.copy_out(handle, back.data(), 8192) == 0);
        CHECK(std::vector<char>(back.begin(), back.begin() + 4096) == page);
        CHECK(std::vector<char>(back.begin() + 4096, back.end()) != page);
        CHECK(process.copy_in(handle, page.data(), std::uint64_t{4} << 30) == 0); // nothing at all
    }
}
