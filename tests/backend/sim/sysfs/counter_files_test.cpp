// SPDX-License-Identifier: Apache-2.0
// Counters as the driver keeps them, and the recorded listing of a device.
#include "neuronbook/backend/sim/sysfs/core_files.hpp"

#include <array>
#include <map>
#include <string>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

const std::string kNode = "/sys/devices/virtual/neuron_device/neuron0";
const std::string kDevice = kNode + "/";

std::string text(const SimKernel& kernel, const std::string& path) {
    std::array<char, 128> buffer;
    const auto size = kernel.read_file(kDevice + path, buffer);
    return size < 0 ? "errno " + std::to_string(-size)
                    : std::string(buffer.data(), static_cast<std::size_t>(size));
}

/// Every file below a directory that says something other than 0.
void gather(const SimKernel& kernel, const std::string& path,
            std::map<std::string, std::string>& said) {
    const auto names = kernel.list_directory(path.empty() ? kNode : kDevice + path);
    REQUIRE(names);
    for (const auto& name : *names) {
        const auto full = path.empty() ? name : path + "/" + name;
        if (kernel.file_facts(kDevice + full)->directory)
            gather(kernel, full, said);
        else if (const auto words = text(kernel, full); words != "0\n")
            said[full] = words;
    }
}

void reset_core(Process& process, std::uint32_t map) {
    uapi::DeviceReset ask{map, 0};
    CHECK(process.ask(uapi::kNcReset, ask) == 0);
    uapi::DeviceReady ready{ask.request_id, 9};
    CHECK(process.ask(uapi::kNcResetReady, ready) == 0);
    CHECK(ready.result == 0);
}

} // namespace

TEST_CASE("the recorded listing: a process with 8 MiB + 4 KiB of device and 1 MiB of host memory",
          "[sim][sysfs]") {
    const auto kernel = make_kernel("trn1.2xlarge", "2.24.7");
    Process process(*kernel);
    // what came before, as far as the peaks tell: a piece of 1 GiB on core 0, 4 KiB of code on
    // core 1, and one reset of core 0
    process.free(process.allocate(std::uint64_t{1} << 30));
    auto form = uapi::MemAllocV2MemType64{};
    form.size = 4096;
    form.nc_id = 1;
    form.mem_type = 8;
    process.free(process.allocate_as(form));
    form.mem_type = 9;
    process.free(process.allocate_as(form));
    reset_core(process, 1);
    process.allocate(8u << 20);
    process.allocate_host(1u << 20);
    std::map<std::string, std::string> said;
    gather(*kernel, "", said);
    const std::map<std::string, std::string> recorded{
        {"core_count", "2"},
        {"connected_devices", "\n"},
        {"reset", "1\n"},
        {"info/architecture/arch_type", "NDv2\n"},
        {"info/architecture/device_name", "Trainium1\n"},
        {"info/architecture/instance_type", "Trn1\n"},
        {"info/notify_delay", "-1\n"},
        {"info/serial_number", "0000fa4e005e0000\n"},
        {"neuron_core0/info/architecture/arch_type", "NCv2\n"},
        {"neuron_core0/stats/memory_usage/device_mem/peak", "1073741824\n"},
        {"neuron_core0/stats/memory_usage/device_mem/present", "8388608\n"},
        {"neuron_core0/stats/memory_usage/device_mem/tensors/peak", "1073741824\n"},
        {"neuron_core0/stats/memory_usage/device_mem/tensors/present", "8388608\n"},
        {"neuron_core0/stats/memory_usage/device_mem/tensors/total", "8388608\n"},
        {"neuron_core0/stats/memory_usage/device_mem/total", "8388608\n"},
        {"neuron_core0/stats/memory_usage/host_mem/peak", "5582848\n"},
        {"neuron_core0/stats/memory_usage/host_mem/present", "1048576\n"},
        {"neuron_core0/stats/memory_usage/host_mem/total", "5582848\n"},
        {"neuron_core0/stats/other_info/reset_req_count/present", "1\n"},
        {"neuron_core0/stats/other_info/reset_req_count/total", "2\n"},
        {"neuron_core1/info/architecture/arch_type", "NCv2\n"},
        {"neuron_core1/stats/memory_usage/device_mem/model_code/peak", "4096\n"},
        {"neuron_core1/stats/memory_usage/device_mem/model_code/present", "4096\n"},
        {"neuron_core1/stats/memory_usage/device_mem/peak", "4096\n"},
        {"neuron_core1/stats/memory_usage/device_mem/present", "4096\n"},
        {"neuron_core1/stats/memory_usage/device_mem/tensors/peak", "4096\n"},
        {"neuron_core1/stats/memory_usage/device_mem/tensors/present", "4096\n"}};
    for (const auto& [path, words] : recorded) {
        CAPTURE(path);
        CHECK(said[path] == words);
    }
    // the recording ends there; up to there it has every file that says something
    for (const auto& [path, words] : said) {
        CAPTURE(path);
        if (path <= "neuron_core1/stats/memory_usage/device_mem/tensors/present" &&
            path.find("pe_cntrs") == std::string::npos && path.rfind("neuron_core", 0) == 0)
            CHECK(recorded.contains(path));
    }
}

TEST_CASE("writing anything makes one value zero, and later frees take a total below it",
          "[sim][sysfs]") {
    const auto kernel = make_kernel();
    Process process(*kernel);
    const std::string core = "neuron_core0/stats/memory_usage/device_mem/";
    const auto handle = process.allocate(8192);
    CHECK(kernel->write_file(kDevice + core + "total", "whatever\n") == 9);
    CHECK(text(*kernel, core + "total") == "0\n");
    CHECK(text(*kernel, core + "peak") == "8192\n");
    CHECK(text(*kernel, core + "present") == "8192\n");
    CHECK(text(*kernel, core + "tensors/total") == "8192\n");
    CHECK(process.free(handle) == 0);
    CHECK(text(*kernel, core + "total") == "18446744073709543424\n"); // 2^64 - 8192
    CHECK(text(*kernel, core + "tensors/total") == "0\n");
    CHECK(kernel->write_file(kDevice + core + "peak", "") == 0); // nothing is written
    CHECK(text(*kernel, core + "peak") == "8192\n");
    process.allocate(4096);
    CHECK(text(*kernel, core + "peak") == "18446744073709547520\n");
    CHECK(kernel->write_file(kDevice + "neuron_core1/stats/other_info/reset_req_count/present",
                             "0") == 1);
    CHECK(text(*kernel, "neuron_core1/stats/other_info/reset_req_count/present") == "0\n");
    CHECK(text(*kernel, "neuron_core1/stats/other_info/reset_req_count/total") == "1\n");
}

TEST_CASE("the reset at load counts on every core, later ones on those they name", "[sim][sysfs]") {
    const auto kernel = make_kernel("trn2.3xlarge", "2.26.5");
    const auto total = [&kernel](int core) {
        return text(*kernel, "neuron_core" + std::to_string(core) +
                                 "/stats/other_info/reset_req_count/total");
    };
    CHECK(total(0) == "1\n");
    CHECK(total(7) == "1\n");
    {
        Process process(*kernel);
        reset_core(process, 0x80);
        CHECK(total(0) == "1\n");
        CHECK(total(7) == "2\n");
        CHECK(kernel->write_file(kDevice + "reset", "1") == 1); // somebody has it open
        CHECK(total(0) == "1\n");
        process.port.close(process.fd);
    }
    CHECK(kernel->write_file(kDevice + "reset", "1", FileUser::Other) == -EACCES);
    CHECK(kernel->write_file(kDevice + "reset", "1") == 1);
    CHECK(total(0) == "2\n");
    CHECK(total(7) == "3\n");
}

TEST_CASE("the driver's own host memory is that of its generation and release", "[sim][sysfs]") {
    struct Row {
        const char *instance, *driver, *device, *first, *other;
    };
    const Row rows[] = {
        {"trn1.2xlarge", "2.24.7", "4796416\n", "4530176\n", "266240\n"},
        {"trn1.2xlarge", "2.26.5", "4796416\n", "4530176\n", "266240\n"},
        {"trn1.2xlarge", "2.30.2", "4853760\n", "4587520\n", "266240\n"},
        {"trn2.3xlarge", "2.24.7", "6393856\n", "4530176\n", "266240\n"},
        {"trn3pd98.3xlarge", "2.26.5", "6393856\n", "4530176\n", "266240\n"},
        {"trn3pd98.3xlarge", "2.30.2", "6623232\n", "4759552\n", "266240\n"},
    };
    for (const auto& row : rows) {
        CAPTURE(row.instance, row.driver);
        const auto kernel = make_kernel(row.instance, row.driver);
        CHECK(text(*kernel, "stats/memory_usage/host_mem/driver_memory/total") == row.device);
        CHECK(text(*kernel, "neuron_core0/stats/memory_usage/host_mem/total") == row.first);
        CHECK(text(*kernel, "neuron_core1/stats/memory_usage/host_mem/total") == row.other);
    }
}
