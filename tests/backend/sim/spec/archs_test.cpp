// SPDX-License-Identifier: Apache-2.0
// What differs between architectures: driver-abi.md 14, the text below its table.
#include "backend/sim/spec/spec.hpp"

using namespace spec_test;

namespace {

std::int64_t resource(Process& process, std::uint32_t block, std::uint32_t id, std::uint32_t kind,
                      std::uint64_t& size) {
    uapi::ResourceMmapInfo form{block, id, kind, 0, 0, 0};
    const auto answer = process.ask(0xC0204E70u, form);
    size = form.size;
    return answer;
}

} // namespace

TEST_CASE("only the later architectures map logical cores", "[sim][spec][archs]") {
    for (const auto& release : kReleases) {
        CAPTURE(release);
        std::array<std::uint32_t, 257> map{};
        uapi::GetLogicalToPhysicalNcMap ask{reinterpret_cast<uapi::NcMap*>(map.data()), 128, 0};
        CHECK(Process(*make_kernel(kV2, release), 1).ask(0xC0104E78u, ask) == -524);
        CHECK(Process(*make_kernel(kV3, release), 1).ask(0xC0104E78u, ask) == 0);
        if (release != k24)
            CHECK(Process(*make_kernel(kV4, release), 1).ask(0xC0104E78u, ask) == 0);
    }
}

TEST_CASE("only the later architectures show a whole HBM", "[sim][spec][archs]") {
    for (const auto& release : kReleases) {
        CAPTURE(release);
        std::uint64_t size = 0;
        const auto sunda = make_kernel(kV2, release);
        Process first(*sunda);
        CHECK(resource(first, 2, 0, 3, size) == -EINVAL);
        CHECK(resource(first, 0, 1, 2, size) == 0); // SBUF of core 1
        CHECK(size == 32 << 20);
        CHECK(resource(first, 0, 2, 2, size) == -EINVAL);
        CHECK(resource(first, 1, 5, 1, size) == 0); // TOPSP 5
        CHECK(resource(first, 1, 6, 1, size) == -EINVAL);
        const auto cayman = make_kernel(kV3, release);
        Process second(*cayman);
        CHECK(resource(second, 2, 3, 3, size) == 0);
        CHECK(size == 0x600000000);
        CHECK(resource(second, 2, 4, 3, size) == -EINVAL);
        CHECK(resource(second, 0, 7, 0, size) == 0);
        CHECK(size == 8192);
        CHECK(resource(second, 1, 15, 1, size) == 0);
        CHECK(size == 4 << 20);
        if (release == k24) continue;
        const auto mariana = make_kernel(kV4, release);
        Process third(*mariana);
        CHECK(resource(third, 2, 3, 3, size) == 0);
        CHECK(size == 0x900000000);
    }
}

TEST_CASE("zero-copy through pinned pages works everywhere in 2.24, later not on the first",
          "[sim][spec][archs]") {
    std::vector<char> buffer(6, 'z'); // no multiple of 4: never through the window
    for (const auto& release : kReleases)
        for (const std::string instance : {kV2, kV3, kV4}) {
            if (instance == kV4 && release == k24) continue;
            CAPTURE(release, instance);
            const auto kernel = make_kernel(instance, release);
            Process process(*kernel);
            const auto handle = process.allocate(4096);
            uapi::MemBufCopy64 oldest{handle, buffer.data(), 6, 0, 1, 0};
            const auto answer = release == k24 ? process.ask(0xC0284E7Cu, oldest)
                                : release == k26
                                    ? zero_copy_26(process, handle, buffer.data(), 6, 8192)
                                    : zero_copy_30(process, handle, buffer.data(), 6, 8192);
            CHECK(answer == (release != k24 && instance == kV2 ? -EINVAL : 0));
        }
}

TEST_CASE("the third generation is the second but for the size of its memory",
          "[sim][spec][archs]") {
    for (const std::string release : {k26, k30}) {
        CAPTURE(release);
        for (const std::string instance : {kV3, kV4}) {
            const auto kernel = make_kernel(instance, release);
            Process process(*kernel);
            const std::uint64_t size = instance == kV3 ? 0x600000000 : 0x900000000;
            CHECK(process.pa(process.allocate(4096)) == size - (1 << 30));
            CHECK(process.pa(process.allocate(1 << 20)) == 0x1000000);
            CHECK(process.pa(process.allocate(1 << 20, 0, 3)) == 0x804001000000);
            CHECK(process.allocate(size - (1 << 30) - (17 << 20)) != 0); // all the rest
            CHECK(process.allocate(1 << 20, 0, 0, 19) == 0);
            CHECK(process.error == -ENOMEM);
        }
    }
}

TEST_CASE("the first generation has 2 cores and 2 HBMs of 16 GiB", "[sim][spec][archs]") {
    for (const auto& release : kReleases) {
        CAPTURE(release);
        const auto kernel = make_kernel(kV2, release);
        Process process(*kernel);
        CHECK(process.pa(process.allocate(4096, 0, 1)) == 0x1000000000 + 0x3C0000000);
        CHECK(process.pa(process.allocate(1 << 20, 0, 1)) == 0x1001000000);
        CHECK(process.allocate(4096, 0, 2) == 0);
        CHECK(process.error == -EINVAL);
    }
}
