// SPDX-License-Identifier: Apache-2.0
// Requests that say what the machine is.
#include <array>
#include <cerrno>
#include <cstring>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

TEST_CASE("basic and driver information name generation and features", "[sim][identity]") {
    const auto kernel = make_kernel("trn2.48xlarge", "2.26.5");
    Process process(*kernel, 1, Access::WriteOnly);
    uapi::DeviceBasicInfo basic;
    CHECK(process.ask(uapi::kDeviceBasicInfo, basic) == 0);
    CHECK(basic.architecture == 3);
    CHECK(basic.revision == 0);
    uapi::DeviceDriverInfo info;
    CHECK(process.ask(uapi::kDriverInfoGet, info) == 0);
    CHECK(info.architecture == 3);
    CHECK(info.size == 24);
    CHECK(info.feature_flags1 == 0x1FF);
    CHECK(process.ask(uapi::kDeviceBasicInfo, nullptr) == 8);
    CHECK(process.ask(uapi::kDriverInfoGet, nullptr) == 24);
}

TEST_CASE("driver information takes larger sizes and writes 24 bytes", "[sim][identity]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    std::array<unsigned char, 40> bytes;
    bytes.fill(0xEE);
    CHECK(process.ask(0x80284E6Eu, bytes) == 0);
    CHECK(bytes[23] == 0);
    CHECK(bytes[24] == 0xEE);
    CHECK(process.ask(0x80104E6Eu, bytes) == -EINVAL);
    CHECK(process.ask(uapi::kDriverInfoSet, bytes) == -524);
}

TEST_CASE("compatible versions come with the larger one first", "[sim][identity]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    std::array<std::uint32_t, 2> words{};
    CHECK(process.ask(uapi::kCompatibleVersion, words) == 0);
    CHECK(words[0] == 7);
    CHECK(words[1] == 5);
}

TEST_CASE("device information lists neighbours and kernel addresses", "[sim][identity]") {
    const auto kernel = make_kernel("trn1.32xlarge");
    Process process(*kernel, 1, Access::ReadWrite, "/dev/neuron6");
    uapi::DeviceInfo info;
    CHECK(process.ask(uapi::kDeviceInfo, info) == 0);
    CHECK(info.connected_device_count == 4);
    CHECK(info.connected_devices[0] == 2);
    CHECK(info.connected_devices[3] == 7);
    CHECK(info.connected_devices[4] != 0); // not initialised
    CHECK(info.bar_address[0] >> 48 == 0xFFFF);
    CHECK(info.bar_size[0] == 0x40000000);
    CHECK(info.bar_address[1] == 0);
}

TEST_CASE("bus addresses are of the opened device or relative to it", "[sim][identity]") {
    const auto kernel = make_kernel("trn1.32xlarge");
    Process process(*kernel, 1, Access::ReadWrite, "/dev/neuron2");
    uapi::DeviceBdf bdf;
    CHECK(process.ask(uapi::kDeviceBdf, bdf) == 0);
    CHECK(bdf.bus_number == 0x10);
    CHECK(bdf.slot == 6);
    uapi::DeviceBdfExt ext;
    ext.nd_index = 1; // device 3
    CHECK(process.ask(uapi::kDeviceBdfExt, ext) == 0);
    CHECK(ext.domain == 1);
    CHECK(ext.slot == 4);
    ext.nd_index = 14; // device 16
    CHECK(process.ask(uapi::kDeviceBdfExt, ext) == -EINVAL);
    ext.nd_index = 0xFFFFFFFF;
    CHECK(process.ask(uapi::kDeviceBdfExt, ext) == -EINVAL);
}

TEST_CASE("the routing map counts every device of the host, also in a container",
          "[sim][identity]") {
    SimOptions options;
    options.instance = "trn2.48xlarge";
    options.visible = {HostDeviceId{0}, HostDeviceId{3}};
    const auto kernel = std::move(*SimKernel::make(options));
    CHECK(Process(*kernel, 1, Access::ReadWrite, "/dev/neuron1").fd == -ENOENT);
    Process process(*kernel, 1, Access::ReadWrite, "/dev/neuron3");
    uapi::HostDeviceId id;
    CHECK(process.ask(uapi::kHostDeviceId, id) == 0);
    CHECK(id.host_device_id == 3);
    uapi::HostDeviceIdToRidMap map;
    CHECK(process.ask(uapi::kHostDeviceIdToRidMap, map) == 0);
    CHECK(map.count == 16);
    CHECK(map.host_did_to_rid_map[3] == 1);
    CHECK(map.host_did_to_rid_map[63] == 0);
    CHECK(process.ask(0xC0844E73u, map) == -EINVAL); // 132 bytes
    CHECK(process.ask(0xC1084E73u, map) == -EINVAL); // 264 bytes
}

TEST_CASE("logical cores map to physical ones on Trn2 and later", "[sim][identity]") {
    struct {
        uapi::NcMap head;
        uapi::NcMapEntry entries[128];
    } map{};
    uapi::GetLogicalToPhysicalNcMap ask{&map.head, 128, 0};
    const auto trn1 = make_kernel("trn1.2xlarge");
    CHECK(Process(*trn1).ask(uapi::kGetLogicalToPhysicalNcMap, ask) == -524);
    const auto kernel = make_kernel("trn2.48xlarge");
    Process process(*kernel, 1, Access::WriteOnly);
    CHECK(process.ask(uapi::kGetLogicalToPhysicalNcMap, ask) == 0);
    CHECK(map.head.num_entries == 128);
    CHECK(map.entries[0].device_nc_idx == 4);
    CHECK(map.entries[8 * 13 + 1].device_id == 13);
    CHECK(map.entries[8 * 13 + 1].device_nc_idx == 7);
    ask.max_map_entries = 2;
    map.entries[2].device_id = 77;
    CHECK(process.ask(uapi::kGetLogicalToPhysicalNcMap, ask) == 0);
    CHECK(map.head.num_entries == 2);
    CHECK(map.entries[2].device_id == 77);
    ask.max_map_entries = 129;
    CHECK(process.ask(uapi::kGetLogicalToPhysicalNcMap, ask) == -EINVAL);
    ask = {nullptr, 2, 0};
    CHECK(process.ask(uapi::kGetLogicalToPhysicalNcMap, ask) == 20);
}

TEST_CASE("the second core numbering came with 2.28, but not behind a switch of Trn3",
          "[sim][identity]") {
    struct {
        uapi::NcMap head;
        uapi::NcMapEntry entries[8];
    } map{};
    const auto answer = [&map](const char* instance, const char* driver, std::uint32_t version) {
        const auto kernel = make_kernel(instance, driver);
        uapi::GetLogicalToPhysicalNcMap ask{&map.head, 8, version};
        return Process(*kernel).ask(uapi::kGetLogicalToPhysicalNcMap, ask);
    };
    CHECK(answer("trn2.48xlarge", "2.26.5", 1) == -EINVAL);
    CHECK(answer("trn2.48xlarge", "2.30.2", 1) == 0);
    CHECK(answer("trn2.48xlarge", "2.30.2", 2) == -EINVAL);
    CHECK(answer("trn2es.48xlarge", "2.30.2", 1) == 0);
    CHECK(answer("trn3p.48xlarge", "2.30.2", 1) == 0);
    CHECK(answer("trn3p.48xlarge", "2.26.5", 1) == -EINVAL);
    CHECK(answer("trn3.48xlarge", "2.30.2", 1) == -EINVAL);
    CHECK(answer("trn3.48xlarge", "2.30.2", 0) == 0);
}

TEST_CASE("requests that do nothing do it with any argument", "[sim][identity]") {
    const auto kernel = make_kernel();
    Process process(*kernel, 4711);
    for (const auto word : {uapi::kDeviceInit, uapi::kDeviceRelease, uapi::kDmaEngInit,
                            uapi::kNotificationsDestroyV1, uapi::kDmaQueueRelease})
        CHECK(process.ask(word, nullptr) == 0);
    CHECK(process.ask(uapi::kDmaQuiesceQueues, nullptr) == -ENOTTY);
    CHECK(process.ask(uapi::kNotificationsQueueInfo, nullptr) == -EPERM);
    std::int32_t pid = 0;
    CHECK(process.ask(uapi::kDeviceAppPid, pid) == 0);
    CHECK(pid == 4711);
    std::uint8_t ready = 0;
    CHECK(process.ask(uapi::kDeviceResetStatus, ready) == 0);
    CHECK(ready == 1);
    uapi::NcPidStateDump dump{16, 511, 0, 0};
    CHECK(process.ask(uapi::kNcPidStateDump, dump) == 0);
    dump.nc_id = 512;
    CHECK(process.ask(uapi::kNcPidStateDump, dump) == -ENOENT);
}
