// SPDX-License-Identifier: Apache-2.0
// "Easy to get wrong", driver-abi.md 15: rows 1 to 8, about files, answers and arguments.
#include "backend/sim/spec/spec.hpp"

using namespace spec_test;

TEST_CASE("1: the compatible versions are said greatest first", "[sim][spec][traps]") {
    for (const auto& release : kReleases) {
        CAPTURE(release);
        std::array<std::uint32_t, 2> range{};
        Process(*make_kernel(kV2, release), 1, Access::WriteOnly).ask(0x40084E5Du, range);
        CHECK(range == std::array<std::uint32_t, 2>{7, 5});
        Process(*make_kernel(kV3, release), 1, Access::WriteOnly).ask(0x40084E5Du, range);
        CHECK(range == std::array<std::uint32_t, 2>{11, 10});
    }
}

TEST_CASE("2: write-only is another door, and a writable mapping needs both ways",
          "[sim][spec][traps]") {
    const auto kernel = make_kernel();
    Process discovery(*kernel, 1, Access::WriteOnly);
    std::uint32_t id = 77;
    CHECK(discovery.ask(0x80044E72u, id) == -EINVAL); // HOST_DEVICE_ID
    CHECK(kernel->census().devices[0].attached == 0);
    Process reader(*kernel, 2, Access::ReadOnly);
    CHECK(reader.ask(0x80044E72u, id) == 0);
    CHECK(id == 0);
    CHECK(kernel->census().devices[0].attached == 1);
    const auto pa = reader.pa(reader.allocate(4096));
    CHECK(reader.port.map(reader.fd, Bytes{4096}, true, pa).error == EACCES);
    const auto map = reader.port.map(reader.fd, Bytes{4096}, false, pa);
    CHECK(map.error == 0);
    reader.port.unmap(map.address, Bytes{4096});
    CHECK(discovery.port.map(discovery.fd, Bytes{4096}, false, pa).error != 0);
}

TEST_CASE("3: closing any write-only file drops every mark of the process", "[sim][spec][traps]") {
    const auto kernel = make_kernel("trn1.32xlarge");
    Process here(*kernel, 5, Access::WriteOnly, "/dev/neuron0");
    Process there(*kernel, 5, Access::WriteOnly, "/dev/neuron9");
    Process normal(*kernel, 5, Access::ReadWrite, "/dev/neuron3");
    Process stranger(*kernel, 6, Access::WriteOnly, "/dev/neuron0");
    mark(here, 1, 0, 1);
    mark(there, 2, 0, 1);
    mark(normal, 1, 0, 1);
    mark(stranger, 1, 0, 1);
    CHECK(kernel->census().marks == 5);
    Process nothing(*kernel, 5, Access::WriteOnly, "/dev/neuron15");
    CHECK(nothing.port.close(nothing.fd) == 0);
    CHECK(kernel->census().marks == 1);
    mark(normal, 1, 0, 1);
    CHECK(normal.port.close(normal.fd) == 0); // a normal one drops none
    CHECK(kernel->census().marks == 2);
}

TEST_CASE("4: closing a duplicate frees all memory, and a child has none", "[sim][spec][traps]") {
    const auto kernel = make_kernel();
    Process process(*kernel, 5);
    const auto handle = process.allocate(1 << 20);
    CHECK(process.port.close_duplicate(process.fd) == 0);
    CHECK(kernel->census().user_memory().chunks == 0);
    CHECK(process.free(handle) == -EACCES); // the file is open, its owner no longer attached
    Process parent(*kernel, 6);
    parent.allocate(4096);
    SimPort child(*kernel, Caller{7, false}, Pointers::Checked);
    uapi::MemFree form{1};
    CHECK(child.ioctl(parent.fd, uapi::kMemFree, &form) == -EACCES);
    CHECK(child.close_duplicate(parent.fd) == 0);
    CHECK(kernel->census().user_memory().chunks == 1);
    CHECK(kernel->would_have_crashed().empty());
    uapi::MemAllocV2MemType64 trap{4096, 0, 0, 0, 0, 0, 9, 0, nullptr, 0, 0};
    CHECK(child.ioctl(parent.fd, uapi::kMemAllocV2mt64, &trap) != 0);
    CHECK(kernel->would_have_crashed().size() == 1);
}

TEST_CASE("5: an unknown request and a bad argument are answered alike", "[sim][spec][traps]") {
    for (const auto& release : kReleases) {
        CAPTURE(release);
        const auto kernel = make_kernel(kV2, release);
        Process process(*kernel);
        std::uint64_t argument = 0;
        CHECK(process.ask(0x80084EC8u, argument) == -EINVAL); // number 200, in no release
        CHECK(process.allocate(4096, 0, 99) == 0);
        CHECK(process.error == -EINVAL);
        CHECK(feature_word(process) >= 0xFF); // what tells them apart
    }
}

TEST_CASE("6: an answer above zero is an error too", "[sim][spec][traps]") {
    for (const auto& release : kReleases) {
        CAPTURE(release);
        const auto kernel = make_kernel(kV2, release);
        Process process(*kernel);
        uapi::MemGetExtendedInfo info;
        info.mem_handle = 4711;
        CHECK(process.ask(0x80084E1Du, info) == 22);
        uapi::MemGetPa form{process.allocate(4096), nullptr};
        CHECK(process.ask(0x80084E19u, form) == 8); // eight bytes found no place
        uapi::DeviceReset reset{1, 0};
        CHECK(process.ask(0x80084E67u, reset) == 0);
        CHECK(process.ask(0x80084E67u, reset) == 1); // one is pending
        CHECK(process.ask(0x80084E16u, nullptr) == by_release(release, 8, 8, -EFAULT));
    }
}

TEST_CASE("7: what a request returns is not where one looks for it", "[sim][spec][traps]") {
    for (const auto& release : kReleases) {
        CAPTURE(release);
        const auto kernel = make_kernel(kV2, release);
        Process process(*kernel, 31);
        std::uint64_t handle = 0;
        uapi::MemAllocV2MemType64 form{8192, 0, 0, 0, 0, 1, 9, 0, &handle, 0, 0};
        const auto before = form;
        REQUIRE(process.ask(0x80384E66u, form) == 0);
        CHECK(handle != 0); // through the pointer, and the structure is as it was
        CHECK(std::memcmp(&before, &form, sizeof form) == 0);
        uapi::MemGetExtendedInfo info;
        info.mem_handle = handle;
        REQUIRE(process.ask(0x80084E1Du, info) == 0);
        CHECK(info.mem_handle != handle); // destroyed
        CHECK(info.size == 8192);
        CHECK(info.pid == 31);
        CHECK(info.host_memory == 0);
        CHECK(info.pa == process.pa(handle));
    }
}

TEST_CASE("8: host memory needs an HBM and a core that exist, and no alignment",
          "[sim][spec][traps]") {
    for (const auto& release : kReleases) {
        CAPTURE(release);
        const auto kernel = make_kernel(kV2, release);
        Process process(*kernel);
        const auto host = [&](std::uint64_t align, std::uint32_t hbm, std::uint32_t core) {
            process.allocate_as({4096, align, 1, hbm, 0, core, 2, 0, nullptr, 0, 0});
            return process.error;
        };
        CHECK(host(0, 0, 0) == 0);
        CHECK(host(0, 2, 0) == -EINVAL);
        CHECK(host(0, 0, 8) == -EINVAL);
        CHECK(host(1, 0, 0) == -EINVAL);
        CHECK(host(4096, 0, 0) == -EINVAL);
    }
}
