// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>

#include "support/script_port.hpp"
#include "support/sim_machine.hpp"

using namespace neuronbook;
using test::open_driver;
using test::SimMachine;

namespace {

constexpr HostDeviceId kDevice{0};

std::optional<MemoryCounter> find(const std::vector<MemoryCounter>& all,
                                  std::optional<CoreIndex> core, std::uint32_t category) {
    const auto it = std::find_if(all.begin(), all.end(), [&](const MemoryCounter& counter) {
        return counter.core == core && counter.category == category;
    });
    if (it == all.end()) return std::nullopt;
    return *it;
}

} // namespace

TEST_CASE("the driver's counters move by the charged bytes of each category, and keep their peak",
          "[backend][driver][counters]") {
    SimMachine machine("trn1.2xlarge", GENERATE("2.24.7", "2.26.5", "2.30.2"));
    auto driver = open_driver(machine);
    for (std::uint32_t category = 0; category < 20; ++category) {
        if (category == 5 || category == 13) continue; // the driver's own
        INFO("category " << category);
        const bool host = category <= 6 || category == 17;
        const std::uint32_t shown = category == 19 ? 11 : category;
        const auto core = host ? std::nullopt : std::optional(CoreIndex{1});
        const auto before = driver.memory_counters(kDevice);
        REQUIRE(before);
        const auto start = find(*before, core, shown);
        REQUIRE(start);
        const auto chunk = driver.allocate(
            kDevice, {.size = Bytes{(1 << 20) + 1 + 4096 * category},
                      .location = host ? MemoryLocation::Host : MemoryLocation::Device,
                      .core = CoreIndex{1},
                      .category = category});
        REQUIRE(chunk);
        const auto full = find(*driver.memory_counters(kDevice), core, shown);
        REQUIRE(full);
        CHECK(full->now.count() - start->now.count() == (1 << 20) + 4096 * (category + 1));
        CHECK(full->location == (host ? MemoryLocation::Host : MemoryLocation::Device));
        REQUIRE(driver.free(kDevice, *chunk));
        const auto empty = find(*driver.memory_counters(kDevice), core, shown);
        REQUIRE(empty);
        CHECK(empty->now == start->now);
        CHECK(empty->peak == std::max(start->peak, full->now));
        CHECK(find(*before, CoreIndex{0}, 9)->now.count() == 0);
    }
    const auto all = driver.memory_counters(kDevice);
    CHECK(all->size() == 8 + 2 * 11);
    CHECK_FALSE(find(*all, CoreIndex{1}, 19));
    CHECK_FALSE(find(*all, CoreIndex{2}, 9));
    CHECK(driver.memory_counters(HostDeviceId{64}).error().detail == Detail::DeviceOutOfRange);
    CHECK(driver.memory_counters(HostDeviceId{1})->empty()); // not there
    driver.disconnect();
    CHECK(driver.memory_counters(kDevice).error().detail == Detail::NotUp);
}

TEST_CASE("G08: a counter that cannot be read is absent, and zero is zero",
          "[backend][driver][counters][G08]") {
    auto script = std::make_shared<test::Script>();
    script->files = {{"/sys/module/neuron", ""},
                     {"/sys/module/neuron/version", "2.24.7.0"},
                     {"/dev/neuron0", ""}};
    script->ioctl = [](std::uint32_t word, void* argument) -> std::int64_t {
        if (word == 0x80184E6E)
            *static_cast<uapi::DeviceDriverInfo*>(argument) = {.architecture = 2,
                                                               .feature_flags1 = 0xFF};
        if (word == 0x40084E5D)
            *static_cast<uapi::CompatibleVersion*>(argument) = {.max = 7, .min = 5};
        return 0;
    };
    const std::string device = "/sys/devices/virtual/neuron_device/neuron0/";
    const std::string core = device + "neuron_core1/stats/memory_usage/device_mem/";
    const auto file = [&](const std::string& directory, const char* total, const char* peak) {
        if (total) script->files[directory + "/total"] = total;
        if (peak) script->files[directory + "/peak"] = peak;
        script->files[directory + "/present"] = "77\n"; // never looked at
    };
    file(core + "tensors", "4096\n", "8192\n");
    file(core + "constants", "0\n", "0\n");
    file(core + "model_code", "4096\n", nullptr);
    file(core + "collectives", nullptr, "1\n");
    file(core + "dma_rings", "", "1\n");
    file(core + "notifications", "12 bytes\n", "12\n");
    file(core + "runtime_memory", "busy\n", "12\n");
    file(core + "uncategorized", "18446744073709547520\n", "4096\n"); // below zero
    file(core + "driver_memory", "99999999999999999999\n", "1\n");
    file(core + "nonshared_scratchpad", "1\n", "1\n");
    script->read_errors[core + "nonshared_scratchpad/total"] = EACCES;
    file(device + "stats/memory_usage/host_mem/dma_rings", "3\n", "9223372036854775807\n");
    IoctlDriver driver{test::ScriptPort(script)};
    REQUIRE(driver.connect());
    const auto all = driver.memory_counters(kDevice);
    REQUIRE(all);
    REQUIRE(all->size() == 3);
    const auto rings = find(*all, std::nullopt, 17);
    REQUIRE(rings);
    CHECK(rings->now.count() == 3);
    CHECK(rings->peak.count() == 9223372036854775807u);
    CHECK(find(*all, CoreIndex{1}, 9)->peak.count() == 8192);
    CHECK(find(*all, CoreIndex{1}, 10)->now.count() == 0);
}
