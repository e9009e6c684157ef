// SPDX-License-Identifier: Apache-2.0
// The tree of the driver's files: names, modes, who may read and write.
#include "neuronbook/backend/sim/sysfs/file_row.hpp"

#include <array>
#include <cerrno>
#include <set>
#include <string>
#include <vector>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

using Names = std::vector<std::string>;

const std::string kClass = "/sys/class/neuron_device";
const std::string kDevice = "/sys/devices/virtual/neuron_device/neuron0";

std::set<std::string> names(const SimKernel& kernel, const std::string& path) {
    const auto list = kernel.list_directory(path);
    REQUIRE(list);
    CHECK(std::set<std::string>(list->begin(), list->end()).size() == list->size());
    return {list->begin(), list->end()};
}

/// Every file below a directory, with its mode, by its path from there.
void walk(const SimKernel& kernel, const std::string& path, const std::string& front,
          std::vector<std::pair<std::string, std::uint16_t>>& files) {
    for (const auto& name : names(kernel, path)) {
        const auto facts = kernel.file_facts(path + "/" + name);
        REQUIRE(facts);
        if (facts->directory)
            walk(kernel, path + "/" + name, front + name + "/", files);
        else
            files.emplace_back(front + name, facts->mode);
    }
}

int mode(const SimKernel& kernel, const std::string& path) {
    const auto facts = kernel.file_facts(path);
    return facts ? facts->mode : -1;
}

std::int64_t read(const SimKernel& kernel, const std::string& path, FileUser user) {
    std::array<char, 64> buffer;
    return kernel.read_file(path, buffer, user);
}

} // namespace

TEST_CASE("directories list what the driver makes there", "[sim][sysfs]") {
    const auto kernel = make_kernel("trn2.3xlarge", "2.26.5");
    CHECK(names(*kernel, kClass) == std::set<std::string>{"neuron0", "node_id_2", "node_id_4",
                                                          "server_id_2", "server_id_4",
                                                          "ultraserver_mode"});
    CHECK(names(*kernel, "/sys/devices/virtual/neuron_device") == std::set<std::string>{"neuron0"});
    CHECK(names(*kernel, "/sys/module/neuron") == std::set<std::string>{"parameters", "version"});
    CHECK(names(*kernel, kDevice) ==
          std::set<std::string>{"reset", "core_count", "connected_devices", "info", "stats",
                                "neuron_core0", "neuron_core1", "neuron_core2", "neuron_core3",
                                "neuron_core4", "neuron_core5", "neuron_core6", "neuron_core7"});
    CHECK(names(*kernel, kDevice + "/stats") ==
          std::set<std::string>{"hardware", "memory_usage", "power"});
    const auto core = kDevice + "/neuron_core7/stats";
    CHECK(names(*kernel, core) ==
          std::set<std::string>{"memory_usage", "status", "other_info", "tensor_engine"});
    CHECK(names(*kernel, core + "/status").size() == 24);
    CHECK(names(*kernel, core + "/status/oob_error") == std::set<std::string>{"total", "present"});
    CHECK(names(*kernel, core + "/other_info") ==
          std::set<std::string>{"model_load_count", "reset_req_count", "reset_fail_count",
                                "inference_count", "flop_count", "nc_time_in_use"});
    CHECK(names(*kernel, core + "/memory_usage/device_mem") ==
          std::set<std::string>{"total", "present", "peak", "collectives", "constants", "dma_rings",
                                "driver_memory", "model_code", "model_shared_scratchpad",
                                "nonshared_scratchpad", "notifications", "runtime_memory",
                                "tensors", "uncategorized"});
    CHECK_FALSE(kernel->list_directory(kDevice + "/reset"));
    CHECK_FALSE(kernel->list_directory(kDevice + "/"));
    CHECK_FALSE(kernel->list_directory("/sys/class"));
    CHECK_FALSE(kernel->list_directory("/sys/class/neuron_device/neuron00"));
}

TEST_CASE("every listed file can be read, and its directory exists", "[sim][sysfs]") {
    for (const auto* instance : {"inf2.xlarge", "trn2en.24xlarge", "trn3.48xlarge"})
        for (const auto* driver : {"2.26.5", "2.30.2"}) {
            const auto kernel = make_kernel(instance, driver);
            std::vector<std::pair<std::string, std::uint16_t>> files;
            walk(*kernel, kDevice, "", files);
            const std::size_t cores = kernel->machine().cores();
            const bool newest = std::string(driver) == "2.30.2";
            const bool health = newest && cores == 8;
            // device: 8 host directories of 3 values, and the others; core: 3 + 12 x 3 memory
            // counters, 24 and 6 others of 2 values, and two more files
            CHECK(files.size() ==
                  24 + 12 + (newest ? 5u : 0u) + (health ? 3u : 0u) + cores * (3 + 36 + 60 + 2));
            for (const auto& [path, bits] : files) {
                CAPTURE(path);
                CHECK(read(*kernel, kDevice + "/" + path, FileUser::Root) >= 0);
                CHECK((read(*kernel, kDevice + "/" + path, FileUser::Other) == -EACCES) ==
                      ((bits & 4) == 0));
            }
        }
}

TEST_CASE("modes are the release's", "[sim][sysfs]") {
    const auto older = make_kernel("trn2.48xlarge", "2.26.5");
    const auto newer = make_kernel("trn2.48xlarge", "2.30.2");
    for (const auto* file : {"/core_count", "/connected_devices"}) {
        CHECK(mode(*older, kDevice + file) == 0400);
        CHECK(mode(*newer, kDevice + file) == 0444);
        CHECK(read(*older, kDevice + file, FileUser::Other) == -EACCES);
        CHECK(read(*newer, kDevice + file, FileUser::Other) >= 0);
    }
    CHECK(mode(*older, kDevice + "/fw_build") == -1);
    CHECK(mode(*newer, kDevice + "/fw_build") == 0444);
    CHECK(mode(*newer, kDevice + "/reset") == 0600);
    CHECK(mode(*newer, kDevice + "/info/notify_delay") == 0644);
    CHECK(mode(*newer, kDevice + "/stats/hardware/health_status/hw_error_event") == 0444);
    CHECK(mode(*make_kernel("trn1.2xlarge", "2.30.2"),
               kDevice + "/stats/hardware/health_status/hw_error_event") == -1);
    CHECK(mode(*newer, kClass + "/hbm_7200_capable") == 0444);
    CHECK(mode(*newer, "/sys/module/neuron/parameters/no_reset") == 0660);
    CHECK(mode(*newer, "/sys/module/neuron/version") == 0444);
    CHECK(mode(*newer, kDevice) == 0755);
}

TEST_CASE("the parameters are the release's", "[sim][sysfs]") {
    const std::string path = "/sys/module/neuron/parameters";
    CHECK(names(*make_kernel("trn1.2xlarge", "2.24.7"), path) ==
          std::set<std::string>{"dev_nc_map", "dup_helper_enable", "force_die_flip",
                                "force_userver", "mempool_host_memory_size",
                                "mempool_min_alloc_size", "mempool_small_alloc_max",
                                "mempool_small_pool_size", "nc_per_dev_param", "nmetric_log_posts",
                                "nmetric_metric_post_delay", "no_reset", "userver_ctl",
                                "userver_etimeout", "wc_enable"});
    const auto second = names(*make_kernel("trn1.2xlarge", "2.26.5"), path);
    CHECK(second.size() == 19);
    CHECK(second.contains("userver_pds_server_id"));
    const auto third = names(*make_kernel("trn1.2xlarge", "2.30.2"), path);
    CHECK(third.size() == 19);
    CHECK(third.contains("pds_reservation_id"));
    CHECK(third.contains("reset_top_dma"));
    CHECK_FALSE(third.contains("userver_pds_node_cnt"));
}

TEST_CASE("what may not be written is refused, what means nothing is taken", "[sim][sysfs]") {
    const auto kernel = make_kernel("trn2.48xlarge", "2.30.2");
    const auto write = [&kernel](const std::string& path, const std::string& text,
                                 FileUser user = FileUser::Root) {
        return kernel->write_file(path, text, user);
    };
    CHECK(write(kDevice + "/core_count", "1") == -EACCES);
    CHECK(write(kClass + "/hbm_7200_capable", "1") == -EACCES);
    CHECK(write(kDevice + "/info/serial_number", "12345") == 5);
    CHECK(write(kDevice + "/info/serial_number", "12345", FileUser::Other) == -EACCES);
    CHECK(write(kDevice + "/stats/power/utilization", std::string(5000, 'x')) == 4096);
    CHECK(write(kDevice + "/stats", "1") == -EISDIR);
    CHECK(write(kDevice + "/nothing", "1") == -ENOENT);
}

TEST_CASE("the delay of notifications is one switch for all devices", "[sim][sysfs]") {
    const auto kernel = make_kernel("trn1.32xlarge");
    const auto said = [&kernel] {
        std::array<char, 8> text{};
        kernel->read_file(kClass + "/neuron15/info/notify_delay", text);
        return std::string(text.data());
    };
    const auto path = kDevice + "/info/notify_delay";
    CHECK(said() == "-1\n");
    CHECK(kernel->write_file(path, "0\n") == 2);
    CHECK(said() == "0\n");
    CHECK(kernel->write_file(path, "5") == 1);
    CHECK(said() == "0\n");
    CHECK(kernel->write_file(path, "-1") == 2);
    CHECK(said() == "-1\n");
}
