// SPDX-License-Identifier: Apache-2.0
// "Easy to get wrong", driver-abi.md 15: rows 24 to 32.
#include "backend/sim/spec/spec.hpp"

using namespace spec_test;

namespace {

/// A request that waits, answered at the first moment it may be; how long that took.
std::int64_t ask_and_time(Process& process, std::uint32_t word, void* argument,
                          std::uint64_t& nanoseconds) {
    const auto before = process.port.now();
    const auto answer = process.ask(word, argument);
    nanoseconds = process.port.now().count - before.count;
    return answer;
}

} // namespace

TEST_CASE("24: what sysfs calls present is the last change, not the usage", "[sim][spec][traps]") {
    for (const auto& release : kReleases) {
        CAPTURE(release);
        const auto kernel = make_kernel(kV2, release);
        Process process(*kernel);
        const auto large = process.allocate(1 << 20);
        process.allocate(5000);
        const auto tensors =
            std::string(kSysfs) + "neuron_core0/stats/memory_usage/device_mem/tensors/";
        CHECK(read_text(*kernel, tensors + "total") == "1056768\n");
        CHECK(read_text(*kernel, tensors + "present") == "8192\n");
        CHECK(process.free(large) == 0);
        CHECK(read_text(*kernel, tensors + "total") == "8192\n");
        CHECK(read_text(*kernel, tensors + "present") == "1048576\n");
        CHECK(read_text(*kernel, tensors + "peak") == "1056768\n");
        CHECK(read_text(*kernel, std::string(kSysfs) + "core_count") == "2");
    }
}

TEST_CASE("25: one Inf2 is a third, a second and another second generation", "[sim][spec][traps]") {
    for (const auto& release : kReleases) {
        CAPTURE(release);
        const auto kernel = make_kernel("inf2.24xlarge", release);
        uapi::DeviceBasicInfo info;
        CHECK(Process(*kernel, 1, Access::WriteOnly).ask(0x40084E64u, info) == 0);
        CHECK(info.architecture == 2);
        const std::string info_folder = "info/architecture/";
        CHECK(read_text(*kernel, kSysfs + info_folder + "arch_type") == "NDv3\n");
        CHECK(read_text(*kernel, kSysfs + ("neuron_core0/" + info_folder) + "arch_type") ==
              "NCv2\n");
        CHECK(read_text(*kernel, kSysfs + info_folder + "instance_type") == "Inf2\n");
        CHECK(read_text(*kernel, kSysfs + info_folder + "device_name") == "Inferentia2\n");
    }
}

TEST_CASE("26: some numbers count from the opened device, others from the host's first",
          "[sim][spec][traps]") {
    const auto kernel = make_kernel("trn2.48xlarge");
    Process zero(*kernel, 1, Access::WriteOnly, "/dev/neuron0");
    Process five(*kernel, 2, Access::WriteOnly, "/dev/neuron5");
    const auto place = [](Process& process, std::uint32_t index) {
        uapi::DeviceBdfExt form;
        form.nd_index = index;
        process.error = process.ask(0x80084E6Au, form);
        return form;
    };
    const auto next = place(five, 1);
    const auto sixth = place(zero, 6);
    CHECK(next.bus_number == sixth.bus_number);
    CHECK(next.slot == sixth.slot);
    place(five, 10);
    CHECK(five.error == 0);
    place(five, 11);
    CHECK(five.error == -EINVAL);
    CHECK(mark(five, 2, 0, 7).bitmap[0] == 0b11);
    mark(zero, 8, 40, 47); // the same cores from the first device
    CHECK(zero.error == -EBUSY);
    CHECK(mark(zero, 6, 42, 47).bitmap[0] == 0xFC0000000000);
    uapi::HostDeviceIdToRidMap one;
    uapi::HostDeviceIdToRidMap two;
    CHECK(zero.ask(0xC1044E73u, one) == 0);
    CHECK(five.ask(0xC1044E73u, two) == 0);
    CHECK(std::memcmp(&one, &two, sizeof one) == 0);
    CHECK(one.host_did_to_rid_map[5] == 10);
    std::array<std::uint32_t, 257> map{};
    uapi::GetLogicalToPhysicalNcMap ask{reinterpret_cast<uapi::NcMap*>(map.data()), 128, 0};
    CHECK(five.ask(0xC0104E78u, ask) == 0);
    CHECK(map[1] == 0);
    CHECK(map[1 + 2 * 40] == 5);
}

TEST_CASE("27: category 19 grows down from the end, for all processes together",
          "[sim][spec][traps]") {
    for (const auto& release : kReleases) {
        CAPTURE(release);
        const auto kernel = make_kernel(kV2, release);
        Process process(*kernel, 5);
        Process other(*kernel, 6);
        constexpr std::uint64_t kEnd = std::uint64_t{15} << 30; // of the main pool
        const auto first = process.allocate(1 << 20, 0, 0, 19);
        const auto second = other.allocate(2 << 20, 1 << 30, 0, 19); // align is not looked at
        CHECK(process.pa(first) == kEnd - (1 << 20));
        CHECK(process.pa(second) == kEnd - (3 << 20));
        CHECK(process.free(first) == 0); // in the wrong order: done, and the total is less
        process.allocate(1 << 20, 0, 0, 19);
        CHECK(process.error == -ENOMEM); // collides with the second
        CHECK(other.free(second) == 0);
        CHECK(process.pa(process.allocate(4096, 0, 0, 19)) == kEnd - 4096);
    }
}

TEST_CASE("28: a writer that comes again is told EALREADY and holds the lock",
          "[sim][spec][traps]") {
    for (const auto& release : kReleases) {
        CAPTURE(release);
        const auto kernel = make_kernel(kV2, release);
        Process process(*kernel, 5);
        Process other(*kernel, 6);
        uapi::Crwl lock{1, {{1, 2, 3}}};
        std::uint64_t took = 0;
        CHECK(process.ask(uapi::kCrwlWriterEnter, lock) == 0);
        CHECK(process.ask(uapi::kCrwlWriterDowngrade, lock) == 0);
        CHECK(process.ask(uapi::kCrwlReaderExit, lock) == 0);
        CHECK(process.ask(uapi::kCrwlReaderExit, lock) == -EINVAL); // no reader is left
        CHECK(process.ask(uapi::kCrwlWriterEnter, lock) == -EALREADY);
        CHECK(ask_and_time(other, uapi::kCrwlWriterEnter, &lock, took) == -EBUSY); // held
        CHECK(took > 1'000'000'000);
        CHECK(took < 4'000'000'000);
        CHECK(process.ask(uapi::kCrwlWriterDowngrade, lock) == 0);
        CHECK(process.ask(uapi::kCrwlReaderExit, lock) == 0);
        lock.nc_id = 8;
        CHECK(process.ask(uapi::kCrwlWriterEnter, lock) == -EINVAL);
    }
}

TEST_CASE("29: the driver's 524 has no name", "[sim][spec][traps]") {
    for (const auto& release : kReleases) {
        CAPTURE(release);
        const auto kernel = make_kernel(kV2, release);
        Process process(*kernel, 1, Access::WriteOnly);
        uapi::GetLogicalToPhysicalNcMap ask;
        CHECK(process.ask(0xC0104E78u, ask) == -524);
        uapi::DeviceDriverInfo info;
        CHECK(process.ask(0x40184E6Eu, info) == -524);
    }
}

TEST_CASE("30: size 0 is no size, and memory is not zero", "[sim][spec][traps]") {
    for (const auto& release : kReleases) {
        CAPTURE(release);
        const auto kernel = make_kernel(kV2, release);
        Process process(*kernel);
        CHECK(process.allocate(0) == 0);
        CHECK(process.error == -ENOMEM);
        CHECK(process.allocate_host(0) == 0);
        CHECK(process.error == -ENOMEM);
        const auto chunk = process.allocate(1 << 20);
        const auto other = process.allocate(1 << 20);
        unsigned char last = 0;
        CHECK(process.copy_out(chunk, &last, 1, (1 << 20) - 1) == 0);
        CHECK(last != 0); // whatever was there
        std::vector<unsigned char> bytes(65537);
        uapi::Memset64 fill{chunk, 0, 0x7E, 0, 1 << 20};
        CHECK(process.ask(uapi::kMemset64, fill) == 0);
        fill = {other, 0, 0x11, 0, 1 << 20};
        CHECK(process.ask(uapi::kMemset64, fill) == 0);
        uapi::MemCopy64Deprecated copy{chunk, other, 0, 0, 0};
        CHECK(process.ask(uapi::kMemCopy64Deprecated, copy) == 0);
        CHECK(process.copy_out(other, bytes.data(), bytes.size()) == 0);
        CHECK(bytes[65535] == 0x7E); // 64 KiB were moved
        CHECK(bytes[65536] == 0x11);
        CHECK(process.copy_in(chunk, bytes.data(), 0) == 0); // harmless there
        if (release != k24) continue;
        uapi::MemBufCopy64 zero{chunk, bytes.data(), 0, 0, 1, 0};
        process.ask(uapi::kMemBufZerocopy64Form224, zero);
        CHECK(kernel->would_have_crashed().size() == 1);
    }
}

TEST_CASE("30: a freed notification queue brings the next core reset down", "[sim][spec][traps]") {
    for (const auto& release : kReleases) {
        CAPTURE(release);
        const auto kernel = make_kernel(kV2, release);
        Process process(*kernel);
        uapi::NotificationsInitV2 form{0, 0, 1, 0, 4096, 1, 0, 0, 0, 0};
        REQUIRE(process.ask(uapi::kNotificationsInitV2, form) == 0);
        CHECK(form.mem_handle != 0);
        CHECK(process.free(form.mem_handle) == 0);
        uapi::DeviceReset reset{1, 0};
        process.ask(uapi::kNcReset, reset);
        uapi::DeviceReady ready{reset.request_id, 0};
        process.ask(uapi::kNcResetReady, ready);
        CHECK_FALSE(kernel->would_have_crashed().empty());
    }
}

TEST_CASE("31: a failed submit never completes, and neither does what it took with it",
          "[sim][spec][traps]") {
    const auto kernel = make_kernel(kV3, k30);
    Process process(*kernel);
    const auto chunk = process.allocate(1 << 20);
    uapi::GetAsyncH2tDmaComplQueues ask;
    ask.qid_bitmap = 1;
    REQUIRE(process.ask(0xC1084E87u, ask) == 0);
    CHECK(ask.compl_queue_info[0].mmap_size == 24592);
    const auto map =
        process.port.map(process.fd, Bytes{28672}, true, ask.compl_queue_info[0].mmap_offset);
    REQUIRE(map.error == 0);
    const auto* words = static_cast<volatile std::uint32_t*>(map.address);
    CHECK(words[0] == 1024);
    std::vector<char> buffer(65536, 'a');
    CHECK(zero_copy_30(process, chunk, buffer.data(), 65536, 0, true, -1, 7) == 0);
    process.port.sleep(Nanoseconds{1'000'000'000});
    CHECK(zero_copy_30(process, chunk, buffer.data(), 4, 0, true, -1, 8) == 0);
    auto* nothing = reinterpret_cast<void*>(0x10000); // a page that nobody has
    CHECK(zero_copy_30(process, chunk, nothing, 4096, 0, true, -1, 9) < 0);
    const auto tail = words[2];
    CHECK(tail >= 1);
    CHECK(tail <= 2);
    process.port.sleep(Nanoseconds{1'000'000'000});
    uapi::Memset64 fill{chunk, 0, 0, 0, 64};
    CHECK(process.ask(uapi::kMemset64, fill) == 0);
    CHECK(words[2] == tail); // what had not come does not come
    const auto* first = static_cast<const char*>(map.address) + 16;
    std::uint64_t sequence = 0;
    std::memcpy(&sequence, first, 8);
    CHECK(sequence == 7);
    process.port.unmap(map.address, Bytes{28672});
}

TEST_CASE("32: what overruns its size inside the last page is not caught", "[sim][spec][traps]") {
    std::vector<char> buffer(8192, 'o');
    for (const auto& release : kReleases) {
        CAPTURE(release);
        const auto kernel = make_kernel(kV2, release);
        Process process(*kernel);
        for (const auto chunk : {process.allocate(100), process.allocate_host(100)}) {
            CHECK(process.copy_in(chunk, buffer.data(), 4096) == 0);
            CHECK(process.copy_in(chunk, buffer.data(), 96, 4000) == 0);
            CHECK(process.copy_in(chunk, buffer.data(), 97, 4000) < 0);
            CHECK(process.copy_in(chunk, buffer.data(), 4097) < 0);
        }
    }
}
