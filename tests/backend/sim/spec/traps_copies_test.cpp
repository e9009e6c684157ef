// SPDX-License-Identifier: Apache-2.0
// "Easy to get wrong", driver-abi.md 15: rows 17 to 23, about copies, handles and cores.
#include "backend/sim/spec/spec.hpp"

using namespace spec_test;

namespace {

std::int64_t start(Process& process, std::uint64_t chunk, std::uint64_t size,
                   std::uint32_t previous, std::uint32_t& handle) {
    uapi::MemCopyAsync64 form{chunk, chunk, size, 0, 0, 0, previous, 77};
    const auto answer = process.ask(uapi::kMemCopyAsync64, form);
    handle = form.wait_handle;
    return answer;
}

std::int64_t wait(Process& process, std::uint64_t chunk, std::uint32_t handle) {
    uapi::MemCopyAsyncWait form{chunk, chunk, handle, 0};
    return process.ask(uapi::kMemCopyAsyncWait, form);
}

constexpr std::uint32_t kNone = 0xFFFFFFFF;

} // namespace

TEST_CASE("17: a copy in the background has a greatest size, and waits that processes share",
          "[sim][spec][traps]") {
    const auto kernel = make_kernel();
    Process process(*kernel, 5);
    Process other(*kernel, 6);
    const auto chunk = process.allocate(128 << 20);
    std::uint32_t handle = 0;
    CHECK(start(process, chunk, 133'169'152, kNone, handle) == 0);
    CHECK(handle == 1);
    CHECK(wait(process, chunk, 1) == 0);
    CHECK(start(process, chunk, 133'169'153, kNone, handle) == -EINVAL);
    CHECK(start(process, chunk, 64, kNone, handle) == 0);
    CHECK(start(process, chunk, 64, 1, handle) == 0);
    CHECK(handle == 2);
    CHECK(start(process, chunk, 64, 1, handle) == -EINVAL); // 1 was waited for
    CHECK(start(process, chunk, 64, 3, handle) == -EINVAL);
    CHECK(wait(process, chunk, 2) == 0);
    CHECK(start(process, chunk, 64, kNone, handle) == 0);
    CHECK(start(other, chunk, 64, kNone, handle) == 0); // takes the first one's place
    CHECK(handle == 1);
    CHECK(wait(process, chunk, 1) == 0);
    CHECK(wait(other, chunk, 1) == -EINVAL);
}

TEST_CASE("18: the zero-copy bit promises nothing, and the size changed three times",
          "[sim][spec][traps]") {
    std::array<std::uint32_t, 2> data{0x11223344, 0x55667788};
    for (const std::string release : {k26, k30}) {
        CAPTURE(release);
        const auto kernel = make_kernel(kV2, release);
        Process process(*kernel);
        CHECK((feature_word(process) & 0x100) != 0);
        const auto chunk = process.allocate(16384);
        const auto ask = [&](std::uint64_t size, std::uint32_t threshold, bool to_device) {
            std::vector<std::uint32_t> buffer(4096, data[0]);
            return release == k26
                       ? zero_copy_26(process, chunk, buffer.data(), size, threshold, to_device)
                       : zero_copy_30(process, chunk, buffer.data(), size, threshold, to_device);
        };
        CHECK(ask(8, 64, true) == 0); // small and aligned: through the window
        CHECK(ask(8, 4, true) == -EINVAL);
        CHECK(ask(6, 64, true) == -EINVAL);
        CHECK(ask(8, 64, false) == -EINVAL);
        CHECK(ask(8192, 99999, true) == 0);
        CHECK(ask(8196, 99999, true) == -EINVAL);
        std::uint32_t back = 0;
        CHECK(process.copy_out(chunk, &back, 4, 4) == 0);
        CHECK(back == 0x11223344);
    }
}

TEST_CASE("19: a freed handle is the next one given, so an old one names a stranger's chunk",
          "[sim][spec][traps]") {
    for (const auto& release : kReleases) {
        CAPTURE(release);
        const auto kernel = make_kernel(kV2, release);
        Process process(*kernel, 5);
        Process other(*kernel, 6);
        const auto first = process.allocate(4096);
        const auto second = process.allocate(4096);
        process.allocate(4096);
        process.free(first);
        process.free(second);
        CHECK(other.allocate(8192) == second);
        CHECK(other.allocate(8192) == first);
        CHECK(process.pa(second) != 0); // not the chunk it was
        CHECK(process.error == 0);
        CHECK(process.free(second) == 0); // and gone for its owner
        other.pa(second);
        CHECK(other.error == -EINVAL);
    }
}

TEST_CASE("20: a fresh HBM has a chunk, and the first answer is to ask again",
          "[sim][spec][traps]") {
    for (const auto& release : kReleases) {
        CAPTURE(release);
        const auto kernel = make_kernel(kV2, release);
        Process process(*kernel);
        uapi::DumpMemChunks form{0, 0, 0, 0, nullptr};
        CHECK(process.ask(0x80084E74u, form) == -EAGAIN);
        CHECK(form.num_entries_out == 1);
        form = {77, 0, 0, 0, nullptr}; // no such HBM: no chunk
        CHECK(process.ask(0x80084E74u, form) == 0);
        CHECK(form.num_entries_out == 0);
        form = {0, 0xFFFFFFFF, 0, 0, nullptr};
        CHECK(process.ask(0x80084E74u, form) == -ENOMEM);
    }
}

TEST_CASE("21: anybody may reset a core, and the work of its owner is gone", "[sim][spec][traps]") {
    for (const auto& release : kReleases) {
        CAPTURE(release);
        const auto kernel = make_kernel(kV2, release);
        Process owner(*kernel, 5);
        Process stranger(*kernel, 6);
        mark(owner, 1, 0, 0);
        const auto chunk = owner.allocate(4096);
        std::uint32_t handle = 0;
        CHECK(start(owner, chunk, 64, kNone, handle) == 0);
        uapi::DeviceReset reset{1, 0};
        CHECK(stranger.ask(0x80084E67u, reset) == 0);
        CHECK(reset.request_id == 6);
        uapi::DeviceReady ready{6, 9};
        CHECK(stranger.ask(0x80084E68u, ready) == 0);
        CHECK(ready.result == 0);
        CHECK(wait(owner, chunk, 1) == -EINVAL); // nobody knows of that copy
        CHECK(kernel->census().user_memory().chunks == 1);
        CHECK(kernel->census().marks == 1);
    }
}

TEST_CASE("22: the map of logical cores names devices that are not there", "[sim][spec][traps]") {
    for (const auto& release : kReleases) {
        CAPTURE(release);
        const auto kernel = make_kernel(kV3, release);
        Process process(*kernel, 1, Access::WriteOnly);
        std::array<std::uint32_t, 257> map{};
        uapi::GetLogicalToPhysicalNcMap ask{reinterpret_cast<uapi::NcMap*>(map.data()), 128, 0};
        CHECK(process.ask(0xC0104E78u, ask) == 0);
        CHECK(map[0] == 128);
        CHECK(map[1 + 2 * 127] == 15); // the last entry's device, of one
        ask.max_map_entries = 129;
        CHECK(process.ask(0xC0104E78u, ask) == -EINVAL);
    }
}

TEST_CASE("23: a free run right behind a busy core is not seen", "[sim][spec][traps]") {
    const auto kernel = make_kernel(kV3);
    Process other(*kernel, 5, Access::WriteOnly);
    Process process(*kernel, 6, Access::WriteOnly);
    mark(other, 1, 1, 1); // free, busy, free, free
    auto map = mark(process, 2, 0, 3);
    CHECK(process.error == -EBUSY);
    map = mark(process, 2, 1, 3); // from the busy one on
    CHECK(process.error == 0);
    CHECK(map.bitmap[0] == 0b1100);
    map = mark(process, 1, 0, 7);
    CHECK(map.bitmap[0] == 1);
    map = mark(process, 0, 0, 7); // none, and that succeeds
    CHECK(process.error == 0);
    CHECK(kernel->census().marks == 4);
}
