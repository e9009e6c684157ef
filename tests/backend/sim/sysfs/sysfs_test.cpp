// SPDX-License-Identifier: Apache-2.0
#include "neuronbook/backend/sim/sysfs/sysfs.hpp"

#include <array>
#include <cerrno>
#include <string>
#include <tuple>
#include <utility>

#include "backend/sim/fixture.hpp"
#include "neuronbook/backend/ioctl_driver.hpp"

using namespace sim_test;

namespace {

std::string text(SimKernel& kernel, const std::string& path) {
    std::array<char, 64> buffer;
    const auto size = kernel.read_file(path, buffer);
    return size < 0 ? "errno " + std::to_string(-size)
                    : std::string(buffer.data(), static_cast<std::size_t>(size));
}

const std::string kDevice = "/sys/devices/virtual/neuron_device/neuron0/";

} // namespace

TEST_CASE("the module says its version and parameters", "[sim][sysfs]") {
    const auto kernel = make_kernel("trn1.2xlarge", "2.24.7");
    CHECK(text(*kernel, "/sys/module/neuron/version") == "2.24.7.0\n");
    const std::string parameters = "/sys/module/neuron/parameters/";
    CHECK(text(*kernel, parameters + "mempool_small_pool_size") == "1073741824\n");
    CHECK(text(*kernel, parameters + "no_reset") == "0\n");
    CHECK(text(*kernel, parameters + "zerocopy_trn1_override") == "errno 2");
    CHECK(text(*make_kernel(), parameters + "zerocopy_trn1_override") == "0\n");
    CHECK(text(*kernel, "/sys/module/neuron/nothing") == "errno 2");
}

TEST_CASE("a device says what it is, under both of its paths", "[sim][sysfs]") {
    const auto kernel = make_kernel("trn1.32xlarge");
    CHECK(text(*kernel, kDevice + "core_count") == "2"); // no newline
    CHECK(text(*kernel, "/sys/class/neuron_device/neuron15/core_count") == "2");
    CHECK(text(*kernel, "/sys/class/neuron_device/neuron16/core_count") == "errno 2");
    CHECK(text(*kernel, kDevice + "connected_devices") == "12, 3, 4, 1\n");
    CHECK(text(*kernel, kDevice + "reset") == "1\n");
    CHECK(text(*kernel, kDevice + "neuron_core2/info/architecture/arch_type") == "errno 2");
    CHECK(text(*make_kernel(), kDevice + "connected_devices") == "\n");
}

TEST_CASE("names of products are sysfs's own, Inf2 included", "[sim][sysfs]") {
    struct Case {
        const char *instance, *arch, *type, *device, *core;
    };
    const auto [instance, arch, type, device, core] =
        GENERATE(values<Case>({{"trn1.2xlarge", "NDv2\n", "Trn1\n", "Trainium1\n", "NCv2\n"},
                               {"inf2.xlarge", "NDv3\n", "Inf2\n", "Inferentia2\n", "NCv2\n"},
                               {"trn2.3xlarge", "NDv3\n", "Trn2\n", "Trainium2\n", "NCv3\n"},
                               {"trn3pd98.3xlarge", "NDv4\n", "Trn3\n", "Trainium3\n", "NCv4\n"}}));
    const auto kernel = make_kernel(instance);
    CHECK(text(*kernel, kDevice + "info/architecture/arch_type") == arch);
    CHECK(text(*kernel, kDevice + "info/architecture/instance_type") == type);
    CHECK(text(*kernel, kDevice + "info/architecture/device_name") == device);
    CHECK(text(*kernel, kDevice + "neuron_core0/info/architecture/arch_type") == core);
}

TEST_CASE("counters: total is what is held, present the size of the last change", "[sim][sysfs]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    const auto core = kDevice + "neuron_core0/stats/memory_usage/";
    CHECK(text(*kernel, core + "device_mem/total") == "0\n"); // the carve-out is not counted
    const auto large = process.allocate(8u << 20);
    const auto small = process.allocate(5000);
    process.free(small);
    CHECK(text(*kernel, core + "device_mem/total") == "8388608\n");
    CHECK(text(*kernel, core + "device_mem/present") == "8192\n");
    CHECK(text(*kernel, core + "device_mem/peak") == "8396800\n");
    CHECK(text(*kernel, core + "device_mem/tensors/total") == "8388608\n");
    CHECK(text(*kernel, core + "device_mem/model_code/total") == "0\n");
    process.free(large);
    CHECK(text(*kernel, core + "device_mem/tensors/total") == "0\n");
    CHECK(text(*kernel, core + "device_mem/tensors/peak") == "8396800\n");
    CHECK(text(*kernel, core + "device_mem/tensors/size") == "errno 2");
}

TEST_CASE("chunks count for the core and category they name", "[sim][sysfs]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    auto form = uapi::MemAllocV2MemType64{};
    form.size = 4096;
    form.nc_id = 1;
    form.mem_type = 8;
    process.allocate_as(form);
    form.mem_type = 19;
    process.allocate_as(form);
    form.mem_type = 1000;
    process.allocate_as(form);
    form.mem_type = 2; // a host category on device memory has no directory
    process.allocate_as(form);
    const auto memory = kDevice + "neuron_core1/stats/memory_usage/device_mem/";
    CHECK(text(*kernel, memory + "total") == "16384\n");
    CHECK(text(*kernel, memory + "model_code/total") == "4096\n");
    CHECK(text(*kernel, memory + "model_shared_scratchpad/total") == "4096\n");
    CHECK(text(*kernel, memory + "uncategorized/total") == "4096\n");
    CHECK(text(*kernel, memory + "tensors/total") == "0\n");
    CHECK(text(*kernel, kDevice + "neuron_core0/stats/memory_usage/device_mem/total") == "0\n");
}

TEST_CASE("host memory counts by core without, by device with categories", "[sim][sysfs]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    const auto own = kDevice + "stats/memory_usage/host_mem/driver_memory/total";
    CHECK(text(*kernel, own) == "4796416\n"); // not 0 on an idle device
    const auto total = [&kernel](const char* core) {
        return text(*kernel, kDevice + core + "/stats/memory_usage/host_mem/total");
    };
    CHECK(total("neuron_core0") == "4530176\n");
    CHECK(total("neuron_core1") == "266240\n"); // its ring
    process.allocate_host(5000);
    CHECK(text(*kernel, own) == "4796416\n");
    CHECK(text(*kernel, kDevice + "neuron_core0/stats/memory_usage/host_mem/present") == "8192\n");
    CHECK(text(*kernel, kDevice + "stats/memory_usage/host_mem/tensors/total") == "8192\n");
    CHECK(text(*kernel, kDevice + "stats/memory_usage/host_mem/total") == "errno 2");
    CHECK(text(*kernel, kDevice + "neuron_core0/stats/memory_usage/host_mem/tensors/total") ==
          "errno 2");
}

TEST_CASE("what the driver itself holds differs by release and machine", "[sim][sysfs]") {
    const auto own = kDevice + "stats/memory_usage/host_mem/driver_memory/total";
    for (const auto& [instance, driver, bytes] : {std::tuple{"trn1.2xlarge", "2.24.7", "4796416\n"},
                                                  {"trn2.3xlarge", "2.26.5", "6393856\n"},
                                                  {"trn1.2xlarge", "2.30.2", "4853760\n"},
                                                  {"trn2.3xlarge", "2.30.2", "6623232\n"}})
        CHECK(text(*make_kernel(instance, driver), own) == bytes);
}

TEST_CASE("a reset of a core forgets a page in 2.24, the old ring in 2.26, nothing in 2.30",
          "[sim][sysfs]") {
    using Row = std::pair<const char*, const char*>;
    const auto [driver, bytes] = GENERATE(Row{"2.24.7", "4534272\n"}, Row{"2.26.5", "4796416\n"},
                                          Row{"2.30.2", "4587520\n"});
    const auto kernel = make_kernel("trn1.2xlarge", driver);
    Process process(*kernel);
    uapi::DeviceReset reset{1, 0};
    CHECK(process.ask(uapi::kNcReset, reset) == 0);
    uapi::DeviceReady ready{reset.request_id, 0};
    CHECK(process.ask(uapi::kNcResetReady, ready) == 0);
    CHECK(text(*kernel, kDevice + "neuron_core0/stats/memory_usage/host_mem/total") == bytes);
}

TEST_CASE("nodes and files exist, others do not", "[sim][sysfs]") {
    SimOptions options;
    options.instance = "trn2.48xlarge";
    options.visible = {HostDeviceId{3}};
    const auto kernel = std::move(*SimKernel::make(options));
    CHECK(kernel->exists("/dev/neuron3"));
    CHECK_FALSE(kernel->exists("/dev/neuron2"));
    CHECK_FALSE(kernel->exists("/dev/neuron"));
    CHECK(kernel->exists("/sys/module/neuron/version"));
    CHECK(kernel->exists("/sys/class/neuron_device/neuron2/core_count")); // sysfs shows the host
    CHECK_FALSE(kernel->exists("/etc/passwd"));
}

TEST_CASE("directories exist with the files in them", "[sim][sysfs]") {
    const auto kernel = make_kernel("trn1.32xlarge");
    for (const std::string path :
         {"/sys/module/neuron", "/sys/module/neuron/parameters",
          "/sys/devices/virtual/neuron_device", "/sys/class/neuron_device",
          "/sys/class/neuron_device/neuron15", "/sys/class/neuron_device/neuron15/stats"}) {
        CAPTURE(path);
        CHECK(kernel->exists(path));
        CHECK(text(*kernel, path) == "errno 2"); // no text in it
    }
    for (const std::string path :
         {"info", "info/architecture", "stats", "stats/memory_usage", "stats/memory_usage/host_mem",
          "stats/memory_usage/host_mem/dma_rings", "neuron_core1", "neuron_core1/info/architecture",
          "neuron_core1/stats/memory_usage/device_mem",
          "neuron_core1/stats/memory_usage/device_mem/model_code",
          "neuron_core1/stats/memory_usage/host_mem", "neuron_core1/stats/other_info",
          "neuron_core1/stats/other_info/reset_req_count"}) {
        CAPTURE(path);
        CHECK(kernel->exists(kDevice + path));
        CHECK_FALSE(kernel->exists(kDevice + path + "x"));
    }
    for (const auto* path :
         {"", "/", "/sys", "/dev", "/sys/module", "/sys/module/neuro",
          "/sys/module/neuron/version/x", "/sys/class/neuron_device/neuron",
          "/sys/class/neuron_device/neuron16", "/sys/class/neuron_device/neuron0/neuron_core2"})
        CHECK_FALSE(kernel->exists(path));
}

TEST_CASE("D16: a machine with the module and no node lists no device and cannot be opened",
          "[sim][sysfs][D16]") {
    auto kernel =
        SimKernel::make({.instance = "trn1.32xlarge", .visible = std::vector<HostDeviceId>{}});
    REQUIRE(kernel);
    CHECK((*kernel)->exists("/sys/module/neuron"));
    CHECK_FALSE((*kernel)->exists("/dev/neuron0"));
    CHECK((*kernel)->exists("/sys/class/neuron_device/neuron15")); // sysfs shows the host
    SimPort port(**kernel);
    CHECK(port.open("/dev/neuron0", Access::ReadWrite) == -ENOENT);
    CHECK(detail::present_devices(port).empty());
    const auto refused = IoctlDriver(port).connect();
    REQUIRE_FALSE(refused);
    CHECK(refused.error().detail == Detail::NoDevices);
    CHECK((*kernel)->census().open_files == 0);
}

TEST_CASE("a short buffer gets the front of a file", "[sim][sysfs]") {
    const auto kernel = make_kernel();
    std::array<char, 4> buffer;
    CHECK(kernel->read_file("/sys/module/neuron/version", buffer) == 4);
    CHECK(std::string(buffer.data(), 4) == "2.26");
    CHECK(kernel->read_file("/sys/module/neuron/version", {}) == 0);
}
