// SPDX-License-Identifier: Apache-2.0
// Every instance type under every release: what platform it is, and what follows from that.
#include "neuronbook/backend/sim/machine/platforms.hpp"

#include <array>
#include <string>
#include <vector>

#include "neuronbook/backend/sim/machine/machine_spec.hpp"
#include "support/catch.hpp"

namespace {

using namespace neuronbook;
using List = std::vector<std::uint32_t>;

constexpr std::array kVersions{"2.24.7", "2.26.5", "2.30.2"};

sim::MachineSpec machine(const SimOptions& options) {
    auto made = sim::MachineSpec::make(options);
    REQUIRE(made.has_value());
    return *std::move(made);
}

sim::MachineSpec machine(const char* instance, const char* driver) {
    return machine({.instance = instance, .driver_version = driver});
}

std::uint32_t platform(const char* product, const char* driver, const char* instance,
                       std::uint64_t forced = 0) {
    SimOptions options{.instance = instance, .driver_version = driver};
    options.product_name = product;
    options.parameters.force_userver = forced;
    return static_cast<std::uint32_t>(machine(options).platform());
}

List routing(const sim::MachineSpec& m) {
    List ids;
    for (std::uint32_t device = 0; device < m.devices(); ++device)
        ids.push_back(m.routing_id(device));
    return ids;
}

List links(const sim::MachineSpec& m, std::uint32_t device) {
    const auto list = m.neighbours(device);
    return {list.devices.begin(), list.devices.begin() + list.count};
}

List cores(const sim::MachineSpec& m, std::uint32_t device, bool flipped = false) {
    List order;
    for (std::uint32_t k = 0; k < 8; ++k) order.push_back(m.physical_core(device, k, flipped));
    return order;
}

const List kTrn1Ids{0, 2, 6, 4, 1, 3, 7, 5, 9, 11, 15, 13, 8, 10, 14, 12};
const List kTrn2Ids{0, 8, 9, 1, 2, 10, 11, 3, 6, 14, 15, 7, 4, 12, 13, 5};
const List kCounted{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

} // namespace

TEST_CASE("each release has its own names for platforms", "[sim][platforms]") {
    struct Row {
        const char* product;
        const char* instance;
        std::array<std::uint32_t, 3> of; ///< 2.24, 2.26, 2.30; 9: that driver knows no Trn3
    };
    const Row rows[] = {
        {"trn2.48xlarge", "trn2.48xlarge", {0, 0, 0}},
        {"trn2u.48xlarge", "trn2.48xlarge", {1, 1, 1}},
        {"trn2u-ac.24xlarge", "trn2.48xlarge", {1, 1, 1}},
        {"trn2eu.48xlarge and more", "trn2.48xlarge", {1, 1, 1}}, // the front is compared
        {"Trn2u.48xlarge", "trn2.48xlarge", {0, 0, 0}},
        {"trn2es.48xlarge", "trn2.48xlarge", {0, 2, 2}},
        {"trn2en.24xlarge", "trn2.48xlarge", {0, 0, 3}},
        {"trn3p.48xlarge", "trn2.48xlarge", {0, 0, 0}}, // a name of the other generation
        {"trn2u.48xlarge", "trn1.32xlarge", {0, 0, 0}},
        {"trn3p.48xlarge", "trn3p.48xlarge", {9, 1, 1}},
        {"trn3s.48xlarge", "trn3p.48xlarge", {9, 2, 0}},
        {"trn3-dev0.48xl", "trn3p.48xlarge", {9, 2, 0}},
        {"trn3-dev0.48xlarge", "trn3p.48xlarge", {9, 2, 2}},
        {"trn3.48xlarge", "trn3p.48xlarge", {9, 0, 2}},
        {"trn3sn-es.48xlarge", "trn3p.48xlarge", {9, 0, 2}},
        {"trn3e.24xlarge", "trn3p.48xlarge", {9, 0, 3}},
        {"trn3pd98.3xlarge", "trn3pd98.3xlarge", {9, 0, 0}},
        {"trn3sn.3xlarge", "trn3sn.3xlarge", {9, 0, 0}},
        {"", "trn3p.48xlarge", {9, 0, 0}},
    };
    for (const auto& row : rows)
        for (std::size_t i = 0; i < kVersions.size(); ++i) {
            INFO(row.product << " on " << row.instance << " of " << kVersions[i]);
            if (row.of[i] != 9)
                CHECK(platform(row.product, kVersions[i], row.instance) == row.of[i]);
        }
    CHECK(platform("anything", "2.26.5", "trn2.48xlarge", 1) == 1);
    CHECK(platform("anything", "2.26.5", "trn3p.48xlarge", 1) == 0);
    CHECK(platform("anything", "2.26.5", "trn1.32xlarge", 1) == 0);
}

TEST_CASE("every instance that a release knows has its devices, links and routing ids",
          "[sim][platforms]") {
    for (const auto& instance : kInstances)
        for (const auto* version : kVersions) {
            if (instance.architecture == Architecture::Invalid) continue;
            const std::string name{instance.name};
            INFO(name << " of " << version);
            const auto made = sim::MachineSpec::make({.instance = name, .driver_version = version});
            if (instance.architecture == Architecture::Mariana && version == kVersions[0]) {
                REQUIRE_FALSE(made);
                CHECK(made.error().detail == Detail::NeverShipped);
                continue;
            }
            REQUIRE(made);
            CHECK(made->devices() == instance.devices);
            const auto ids = routing(*made);
            const bool torus = instance.architecture != Architecture::Sunda;
            if (instance.devices == 16 && made->platform() == Platform::Pds)
                CHECK(ids == kCounted);
            else if (instance.devices == 16)
                CHECK(ids == (torus ? kTrn2Ids : kTrn1Ids));
            else if (instance.devices == 4)
                CHECK(ids ==
                      (made->platform() == Platform::Max ? List{0, 1, 2, 3} : List{0, 8, 9, 1}));
            else
                CHECK(ids == List(kCounted.begin(), kCounted.begin() + instance.devices));
            const std::size_t expected = instance.devices == 16   ? 4
                                         : instance.devices == 12 ? 2
                                         : instance.devices == 6  ? 1
                                                                  : 0;
            CHECK(links(*made, 0).size() == expected);
            if (version == kVersions[2]) CHECK(made->platform() == instance.platform);
        }
}

TEST_CASE("links are those of the torus on every platform of 16 devices", "[sim][platforms]") {
    for (const auto* name :
         {"trn2.48xlarge", "trn2u.48xlarge", "trn2es.48xlarge", "trn3.48xlarge"}) {
        INFO(name);
        const auto m = machine(name, "2.30.2");
        CHECK(links(m, 0) == List{12, 1, 3, 4});
        CHECK(links(m, 10) == List{6, 11, 9, 14});
    }
}

TEST_CASE("a server behind a switch has routing ids of its own, up to 127", "[sim][platforms]") {
    SimOptions options{.instance = "trn3s.48xlarge", .driver_version = "2.26.5"};
    options.pod.server = 7;
    CHECK(machine(options).routing_id(0) == 112);
    CHECK(machine(options).routing_id(15) == 127);
    CHECK(machine(options).bus_address(15).slot == 15);
    options.pod.server = 8; // its ids are not valid, so no device is there
    CHECK(machine(options).devices() == 0);
    options.pod.server.reset();
    CHECK(machine(options).devices() == 0);
    options.driver_version = "2.30.2"; // where this name is no switch's
    CHECK(machine(options).devices() == 16);
    options.instance = "trn3e.24xlarge";
    options.pod.server = 2;
    CHECK(routing(machine(options)) == List{8, 9, 10, 11});
    options.instance = "trn2en.24xlarge"; // the third generation does not ask there
    CHECK(routing(machine(options)) == List{0, 1, 2, 3});
}

TEST_CASE("the order of cores turns with the dies, and differs behind a switch",
          "[sim][platforms]") {
    const auto torus = machine("trn2u.48xlarge", "2.30.2");
    CHECK(cores(torus, 8) == List{4, 5, 6, 7, 2, 3, 0, 1});
    CHECK(cores(torus, 3) == List{2, 3, 0, 1, 4, 5, 6, 7});
    CHECK(cores(torus, 14) == List{0, 1, 2, 3, 6, 7, 4, 5});
    CHECK(cores(torus, 5) == List{6, 7, 4, 5, 0, 1, 2, 3});
    CHECK(cores(torus, 8, true) == List{0, 1, 2, 3, 6, 7, 4, 5});
    CHECK(cores(torus, 5, true) == List{2, 3, 0, 1, 4, 5, 6, 7});
    const auto older = machine("trn3s.48xlarge", "2.26.5");
    CHECK(cores(older, 4) == List{4, 5, 6, 7, 2, 3, 0, 1});
    CHECK(cores(older, 5) == List{2, 3, 0, 1, 4, 5, 6, 7});
    CHECK(cores(older, 5, true) == List{2, 3, 0, 1, 4, 5, 6, 7});
    const auto newer = machine("trn3.48xlarge", "2.30.2");
    CHECK(cores(newer, 4) == List{4, 5, 6, 7, 2, 3, 0, 1});
    CHECK(cores(newer, 5) == List{6, 7, 4, 5, 0, 1, 2, 3});
    CHECK(cores(machine("trn3e.24xlarge", "2.30.2"), 1) == List{6, 7, 4, 5, 0, 1, 2, 3});
    CHECK(cores(machine("trn2es.48xlarge", "2.30.2"), 4) == List{0, 1, 2, 3, 6, 7, 4, 5});
}

TEST_CASE("a host may have fewer devices than its instance type, then without links",
          "[sim][platforms]") {
    SimOptions options{.instance = "trn2.48xlarge"};
    options.devices = 2;
    CHECK(routing(machine(options)) == List{0, 8});
    CHECK(links(machine(options), 0).empty());
    options.devices = 17;
    CHECK(sim::MachineSpec::make(options).error().text.view() == "devices");
}

TEST_CASE("emulated hardware has the cores its parameters say, qemu a quarter of BAR4 a bank",
          "[sim][platforms]") {
    SimOptions options{.instance = "trn2.3xlarge"};
    options.hardware.revision = 240;
    CHECK(machine(options).cores() == 1);
    options.parameters.nc_per_dev_param = 4;
    options.parameters.dev_nc_map = 5;
    CHECK(machine(options).cores() == 4);
    CHECK(machine(options).has_core(2));
    CHECK_FALSE(machine(options).has_core(1));
    options.parameters.nc_per_dev_param = 9;
    CHECK(sim::MachineSpec::make(options).error().text.view() == "nc_per_dev_param");
    options.parameters.nc_per_dev_param = 1;
    options.hardware.revision = 255;
    CHECK(machine(options).cores() == 8);
    CHECK(machine(options).hbm_size() == 16ull << 30);
    options.hardware.bar4 = Bytes{1024};
    CHECK(sim::MachineSpec::make(options).error().text.view() == "hardware.bar4");
}
