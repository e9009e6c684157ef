// SPDX-License-Identifier: Apache-2.0
// What a device's files say of its hardware.
#include "neuronbook/backend/sim/sysfs/device_files.hpp"

#include <array>
#include <string>
#include <utility>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

std::unique_ptr<SimKernel> machine(const char* instance, const char* driver,
                                   const SimHardware& hardware) {
    SimOptions options{.instance = instance, .driver_version = driver};
    options.hardware = hardware;
    auto made = SimKernel::make(options);
    REQUIRE(made);
    return *std::move(made);
}

std::string text(const SimKernel& kernel, const std::string& path) {
    std::array<char, 128> buffer;
    const auto size = kernel.read_file("/sys/class/neuron_device/" + path, buffer);
    return size < 0 ? "none" : std::string(buffer.data(), static_cast<std::size_t>(size));
}

const std::string kHardware = "neuron0/stats/hardware/";

} // namespace

TEST_CASE("serial numbers are 16 digits, or nothing when the register is empty", "[sim][sysfs]") {
    const auto kernel = make_kernel("trn1.32xlarge");
    CHECK(text(*kernel, "neuron0/info/serial_number") == "0000fa4e005e0000\n");
    CHECK(text(*kernel, "neuron10/info/serial_number") == "0000fa4e005e000a\n");
    SimHardware none;
    none.serial = 0;
    CHECK(text(*machine("trn1.2xlarge", "2.26.5", none), "neuron0/info/serial_number") == "\n");
}

TEST_CASE("memory errors add up as generation, release and firmware say", "[sim][sysfs]") {
    struct Row {
        const char *instance, *driver;
        std::uint32_t api, repair;
        const char *lasting, *repairable;
    };
    SimHardware hardware;
    hardware.hbm_errors = {0x00073002, 0x1001, 0, 5}; // low halves; 7 corrected
    hardware.sram_errors = 0x00040003;
    const Row rows[] = {{"trn1.2xlarge", "2.24.7", 3, 1, "16387\n", "0\n"},
                        {"trn2.3xlarge", "2.24.7", 9, 0, "16392\n", "0\n"},
                        {"trn2.3xlarge", "2.24.7", 9, 1, "0\n", "16392\n"},
                        {"trn2.3xlarge", "2.26.5", 6, 0, "4\n", "8\n"},
                        {"trn2.3xlarge", "2.26.5", 6, 2, "5\n", "8\n"},
                        {"trn3p.48xlarge", "2.30.2", 7, 1, "4\n", "8\n"}};
    for (const auto& row : rows) {
        CAPTURE(row.instance, row.driver, row.repair);
        hardware.firmware_api = row.api;
        hardware.hbm_repair = row.repair;
        const auto kernel = machine(row.instance, row.driver, hardware);
        CHECK(text(*kernel, kHardware + "mem_ecc_uncorrected") == row.lasting);
        CHECK(text(*kernel, kHardware + "mem_ecc_repairable_uncorrected") == row.repairable);
        CHECK(text(*kernel, kHardware + "sram_ecc_uncorrected") == "3\n");
        const bool newest = std::string(row.driver) == "2.30.2";
        CHECK(text(*kernel, kHardware + "sram_ecc_corrected") == (newest ? "4\n" : "none"));
        CHECK(text(*kernel, kHardware + "mem_ecc_corrected") == (newest ? "7\n" : "none"));
    }
    SimHardware quiet;
    quiet.firmware_api = 6;
    quiet.hbm_repair = 1;
    CHECK(text(*machine("trn2.3xlarge", "2.26.5", quiet),
               kHardware + "mem_ecc_repairable_uncorrected") == "1\n");
}

TEST_CASE("power and health say that there is nothing to say", "[sim][sysfs]") {
    const auto kernel = make_kernel("trn2.48xlarge", "2.30.2");
    CHECK(text(*kernel, "neuron0/stats/power/utilization_raw") ==
          "die,util_bips,counter\n0,unavailable\n1,unavailable\n");
    const auto health = kHardware + "health_status/";
    CHECK(text(*kernel, health + "unhealthy_components") == "\n");
    CHECK(text(*kernel, health + "healthcheck_heartbeat") == "0\n");
    kernel->set_faults(HostDeviceId{0}, {.gone = true});
    CHECK(text(*kernel, health + "unhealthy_components") == "device_unreachable\n");
    CHECK(text(*kernel, health + "hw_error_event") == "1\n");
    CHECK(text(*make_kernel("trn1.2xlarge", "2.30.2"), "neuron0/stats/power/utilization_raw") ==
          "die,util_bips,counter\n0,unavailable\n");
}

TEST_CASE("the firmware names its versions since 2.29", "[sim][sysfs]") {
    SimHardware hardware;
    hardware.firmware_build = 1234;
    const auto kernel = machine("trn3p.48xlarge", "2.30.2", hardware);
    CHECK(text(*kernel, "neuron0/fw_api_version") == "3\n");
    CHECK(text(*kernel, "neuron0/fw_build") == "1234\n");
    CHECK(text(*machine("trn3p.48xlarge", "2.26.5", hardware), "neuron0/fw_build") == "none");
    hardware.hbm_7200 = true;
    CHECK(text(*machine("trn2.48xlarge", "2.30.2", hardware), "hbm_7200_capable") == "1\n");
    CHECK(text(*machine("trn3p.48xlarge", "2.30.2", hardware), "hbm_7200_capable") == "0\n");
}

TEST_CASE("the product name is the instance's unless it is said otherwise", "[sim][sysfs]") {
    SimOptions options{.instance = "trn2u.48xlarge"};
    const auto name = [&options] {
        const auto kernel = std::move(*SimKernel::make(options));
        std::array<char, 64> buffer{};
        const auto size = kernel->read_file("/sys/class/dmi/id/product_name", buffer);
        return std::string(buffer.data(), static_cast<std::size_t>(size));
    };
    CHECK(name() == "trn2u.48xlarge\n");
    options.product_name = "Standard PC (Q35 + ICH9, 2009)";
    CHECK(name() == "Standard PC (Q35 + ICH9, 2009)\n");
}

TEST_CASE("emulated hardware shows the cores that it has", "[sim][sysfs]") {
    SimOptions options{.instance = "trn2.3xlarge"};
    options.hardware.revision = 240;
    options.parameters.nc_per_dev_param = 4;
    options.parameters.dev_nc_map = 0b1010;
    const auto kernel = std::move(*SimKernel::make(options));
    CHECK(text(*kernel, "neuron0/core_count") == "4");
    std::array<char, 4> posts{};
    CHECK(kernel->read_file("/sys/module/neuron/parameters/nmetric_log_posts", posts) == 2);
    CHECK(posts[0] == '0');
    CHECK_FALSE(kernel->exists("/sys/class/neuron_device/neuron0/neuron_core0"));
    CHECK(kernel->exists("/sys/class/neuron_device/neuron0/neuron_core3"));
    Process process(*kernel);
    uapi::DeviceBasicInfo basic;
    CHECK(process.ask(uapi::kDeviceBasicInfo, basic) == 0);
    CHECK(basic.revision == 240);
}
