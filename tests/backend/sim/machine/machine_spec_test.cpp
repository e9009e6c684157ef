// SPDX-License-Identifier: Apache-2.0
#include "neuronbook/backend/sim/machine/machine_spec.hpp"

#include <vector>

#include "support/catch.hpp"

namespace {

using namespace neuronbook;

sim::MachineSpec machine(const char* instance, const char* driver = "2.26.5.0") {
    SimOptions options;
    options.instance = instance;
    options.driver_version = driver;
    const auto made = sim::MachineSpec::make(options);
    REQUIRE(made.has_value());
    return *made;
}

Error refusal(const char* instance, const char* driver) {
    SimOptions options;
    options.instance = instance;
    options.driver_version = driver;
    const auto made = sim::MachineSpec::make(options);
    REQUIRE_FALSE(made.has_value());
    return made.error();
}

std::vector<std::uint32_t> neighbours(const sim::MachineSpec& m, std::uint32_t device) {
    const auto list = m.neighbours(device);
    return {list.devices.begin(), list.devices.begin() + list.count};
}

using List = std::vector<std::uint32_t>;

} // namespace

TEST_CASE("a machine that never was is refused by name", "[sim][machine_spec]") {
    auto error = refusal("trn9.48xlarge", "2.26.5.0");
    CHECK(error.detail == Detail::UnknownInstance);
    CHECK(error.text.view() == "trn9.48xlarge");
    error = refusal("inf1.2xlarge", "2.24.7.0");
    CHECK(error.detail == Detail::UnknownArchitecture);
    CHECK(error.text.view() == "inf1.2xlarge");
    error = refusal("trn1.2xlarge", "2.25.4.0");
    CHECK(error.detail == Detail::UnknownDriverVersion);
    CHECK(error.text.view() == "2.25.4.0");
    error = refusal("trn3p.48xlarge", "2.24.7.0");
    CHECK(error.detail == Detail::NeverShipped);
    CHECK(refusal("trn1.2xlarge", "2.26").detail == Detail::UnknownDriverVersion);
    CHECK(refusal("", "").status == Status::Invalid);
    CHECK(refusal("", "").operation == Operation::Simulate);
}

TEST_CASE("options that contradict the machine are refused", "[sim][machine_spec]") {
    SimOptions options;
    options.host_memory = Bytes{std::uint64_t{65} << 30};
    CHECK(sim::MachineSpec::make(options).error().detail == Detail::BadOption);
    options.host_memory = Bytes{0};
    options.visible = {HostDeviceId{1}};
    CHECK(sim::MachineSpec::make(options).error().text.view() == "visible");
}

TEST_CASE("all devices are shown, or those listed, or none", "[sim][machine_spec]") {
    SimOptions options;
    options.instance = "trn1.32xlarge";
    const auto shown = [&options] {
        const auto made = sim::MachineSpec::make(options);
        REQUIRE(made.has_value());
        CHECK(made->devices() == 16);
        std::vector<std::uint32_t> list;
        for (std::uint32_t device = 0; device < 70; ++device)
            if (made->shows(device)) list.push_back(device);
        return list;
    };
    CHECK(shown().size() == 16);
    options.visible = {HostDeviceId{15}, HostDeviceId{3}};
    CHECK(shown() == List{3, 15});
    options.visible = std::vector<HostDeviceId>{};
    CHECK(shown().empty());
}

TEST_CASE("a driver version may leave out its last number", "[sim][machine_spec]") {
    CHECK(machine("trn1.2xlarge", "2.24.7").version() == "2.24.7.0");
    CHECK(machine("trn1.2xlarge", "2.26.5").version() == "2.26.5.0");
    CHECK(machine("trn1.2xlarge", "2.30.2").version() == "2.30.2.0");
}

TEST_CASE("features and compatible versions follow driver and generation", "[sim][machine_spec]") {
    CHECK(machine("trn1.2xlarge", "2.24.7").features() == 0xFF);
    CHECK(machine("trn2.48xlarge", "2.26.5").features() == 0x1FF);
    CHECK(machine("inf2.xlarge", "2.30.2").features() == 0x7FF);
    CHECK(machine("trn3p.48xlarge", "2.30.2").features() == 0x1FFF);
    CHECK(machine("trn1.2xlarge").compatible().min == 5);
    CHECK(machine("trn1.2xlarge").compatible().max == 7);
    CHECK(machine("trn2.3xlarge").compatible().min == 10);
    CHECK(machine("trn2.3xlarge").compatible().max == 11);
}

TEST_CASE("routing ids are the platform's permutation", "[sim][machine_spec]") {
    const auto trn1 = machine("trn1.32xlarge");
    const std::vector<std::uint32_t> rid_to_did{0,  4, 1,  5, 3,  7,  2,  6,
                                                12, 8, 13, 9, 15, 11, 14, 10};
    for (std::uint32_t rid = 0; rid < 16; ++rid) CHECK(trn1.routing_id(rid_to_did[rid]) == rid);
    const auto trn2 = machine("trn2.48xlarge");
    const std::vector<std::uint32_t> second{0, 3, 4, 7, 12, 15, 8, 11, 1, 2, 5, 6, 13, 14, 9, 10};
    for (std::uint32_t rid = 0; rid < 16; ++rid) CHECK(trn2.routing_id(second[rid]) == rid);
    CHECK(machine("inf2.48xlarge").routing_id(7) == 7);
}

TEST_CASE("a full torus has four neighbours each, and they are mutual", "[sim][machine_spec]") {
    for (const auto* name : {"trn1.32xlarge", "trn2.48xlarge"}) {
        const auto m = machine(name);
        for (std::uint32_t device = 0; device < 16; ++device)
            for (const auto other : neighbours(m, device)) {
                const auto back = neighbours(m, other);
                CHECK(std::count(back.begin(), back.end(), device) == 1);
            }
    }
    CHECK(neighbours(machine("trn1.32xlarge"), 0) == List{12, 3, 4, 1});
    CHECK(neighbours(machine("trn2.48xlarge"), 15) == List{14, 3, 11, 12});
}

TEST_CASE("Inf2 is a ring of 12 or a line of 6, one device has no neighbour",
          "[sim][machine_spec]") {
    CHECK(neighbours(machine("inf2.48xlarge"), 0) == List{11, 1});
    CHECK(neighbours(machine("inf2.48xlarge"), 11) == List{10, 0});
    CHECK(neighbours(machine("inf2.24xlarge"), 0) == List{1});
    CHECK(neighbours(machine("inf2.24xlarge"), 3) == List{2, 4});
    CHECK(neighbours(machine("inf2.24xlarge"), 5) == List{4});
    CHECK(neighbours(machine("inf2.xlarge"), 0).empty());
    CHECK(neighbours(machine("trn1.2xlarge"), 0).empty());
}
