// SPDX-License-Identifier: Apache-2.0
//
// The machine a SimKernel runs on: a checked combination of instance, generation and driver.
// Owns: what never changes while it runs. Does not own: state.
// Layer: backend (simulated kernel).   Source: driver-abi.md 1, 4, 5, 14
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "neuronbook/backend/sim/machine/platforms.hpp"
#include "neuronbook/backend/sim/machine/release.hpp"
#include "neuronbook/backend/sim/machine/topology_tables.hpp"
#include "neuronbook/backend/sim/options.hpp"
#include "neuronbook/backend/uapi.hpp"
#include "neuronbook/base/architecture.hpp"
#include "neuronbook/base/bus_address.hpp"
#include "neuronbook/base/instance.hpp"
#include "neuronbook/base/result.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// At most eight neighbours of a device.
struct NeighbourList {
    std::uint32_t count = 0;
    std::array<std::uint32_t, uapi::kMaxConnectedDevices> devices{};
};

/// An immutable description; every member function may be called from any thread.
class MachineSpec {
public:
    /// Errors: UnknownInstance, UnknownArchitecture (Inf1), UnknownDriverVersion, NeverShipped,
    /// BadOption; the offending name is in the error's text.
    static Result<MachineSpec> make(const SimOptions& options) {
        MachineSpec machine;
        machine.instance_ = instance_named(options.instance);
        if (machine.instance_ == nullptr) return refuse(Detail::UnknownInstance, options.instance);
        machine.geometry_ = geometry_of(machine.instance_->architecture);
        if (machine.geometry_ == nullptr)
            return refuse(Detail::UnknownArchitecture, options.instance);
        const auto* known = release_named(options.driver_version);
        if (known == nullptr) return refuse(Detail::UnknownDriverVersion, options.driver_version);
        machine.release_ = known->release;
        machine.version_ = known->version;
        if (machine.geometry_->architecture == Architecture::Mariana &&
            machine.release_ < Release::V2_26_5)
            return refuse(Detail::NeverShipped, std::string(machine.geometry_->name) +
                                                    " needs driver 2.25 or newer, not " +
                                                    options.driver_version);
        if (const auto bad = machine.take(options); !bad.empty())
            return refuse(Detail::BadOption, bad);
        return machine;
    }

    [[nodiscard]] const Instance& instance() const { return *instance_; }
    [[nodiscard]] const Geometry& geometry() const { return *geometry_; }
    [[nodiscard]] Release release() const { return release_; }
    [[nodiscard]] bool at_least(Release release) const { return release_ >= release; }
    [[nodiscard]] std::string_view version() const { return version_; }
    [[nodiscard]] bool poison() const { return poison_; }
    [[nodiscard]] Bytes host_memory() const { return host_memory_; }
    /// What is wrong with every device when it starts.
    [[nodiscard]] const SimFaults& faults() const { return faults_; }
    [[nodiscard]] bool is(Architecture architecture) const {
        return geometry_->architecture == architecture;
    }
    [[nodiscard]] std::uint32_t architecture_number() const {
        return static_cast<std::uint32_t>(geometry_->architecture);
    }
    /// Devices of the host, whether or not their nodes are visible.
    [[nodiscard]] std::uint32_t devices() const { return devices_; }
    /// Cores of a device; emulated hardware has as many as its parameter says.
    [[nodiscard]] std::uint32_t cores() const { return cores_; }
    /// Whether a core has a directory in sysfs; emulated hardware may leave some out.
    [[nodiscard]] bool has_core(std::uint32_t core) const {
        return core < cores_ && (!emulated() || (parameters_.dev_nc_map >> core & 1) != 0);
    }
    [[nodiscard]] std::uint32_t revision() const { return hardware_.revision; }
    [[nodiscard]] bool emulated() const { return revision() == SimHardware::kEmulation; }
    /// Bytes of one HBM; under qemu a quarter of BAR4, but on the second generation.
    [[nodiscard]] std::uint64_t hbm_size() const {
        const bool qemu = revision() == SimHardware::kQemu && !is(Architecture::Sunda);
        return qemu ? hardware_.bar4.count() / 4 : geometry_->hbm_size.count();
    }
    [[nodiscard]] const SimHardware& hardware() const { return hardware_; }
    [[nodiscard]] const SimParameters& parameters() const { return parameters_; }
    [[nodiscard]] const SimPod& pod() const { return pod_; }
    [[nodiscard]] std::string_view product_name() const { return product_name_; }
    [[nodiscard]] Platform platform() const { return platform_; }
    /// Whether resets are left out; emulated Trn3 has none in any case.
    [[nodiscard]] bool no_reset() const {
        return parameters_.no_reset != 0 || (emulated() && is(Architecture::Mariana));
    }
    /// Whether the driver copies straight between user pages and chunks; 2.24 has no such rule.
    [[nodiscard]] bool zero_copy_works() const {
        return !is(Architecture::Sunda) || parameters_.zerocopy_trn1_override != 0;
    }
    /// Whether this driver is to pass for one that does not know a request yet.
    [[nodiscard]] bool without(std::uint32_t word) const {
        const auto& list = without_.requests;
        return std::any_of(list.begin(), list.end(), [word](std::uint32_t entry) {
            return entry == word || (entry < 256 && entry == (word & 0xFFu));
        });
    }
    [[nodiscard]] bool shows(std::uint32_t device) const {
        return device < devices() && visible_.test(device);
    }

    [[nodiscard]] bool is_inf2() const {
        return instance_->family == InstanceFamily::Inf2 ||
               instance_->family == InstanceFamily::Inf2e;
    }

    [[nodiscard]] std::uint32_t routing_id(std::uint32_t device) const {
        if (switched()) return device + pod_.server.value_or(0) * devices();
        return place(device);
    }

    [[nodiscard]] BusAddress bus_address(std::uint32_t device) const {
        return {.domain = 1, .bus = 0x10, .slot = place(device)}; // measured on a Trn1 machine
    }

    [[nodiscard]] NeighbourList neighbours(std::uint32_t device) const {
        NeighbourList list;
        const auto add = [&list](std::uint32_t other) { list.devices[list.count++] = other; };
        if (is_inf2()) {
            const auto n = devices();
            const bool ring = n == 12;
            if (n != 12 && n != 6) return list;
            if (ring || device > 0) add((device + n - 1) % n);
            if (ring || device + 1 < n) add((device + 1) % n);
            return list;
        }
        if (devices() == 0 || devices() % kTorusDevices != 0) return list;
        const auto& table = is(Architecture::Sunda) ? kTrn1Neighbours : kTrn2Neighbours;
        for (const auto other : table[device % kTorusDevices]) add(other | (device & 16u));
        return list;
    }

    /// Physical core of logical core k of a device; Trn2 and Trn3. A flip of the dies only exists
    /// where the orders are those of a torus.
    [[nodiscard]] std::uint32_t physical_core(std::uint32_t device, std::uint32_t k,
                                              bool flipped = false) const {
        if (!has_own_orders())
            return kCoreOrders[kCoreOrderOf[device % kTorusDevices]][flipped ? k ^ 6u : k];
        return kCoreOrders[device % 2 == 0 ? 0 : (release_ == Release::V2_26_5 ? 1 : 3)][k];
    }

    /// How many numberings of the cores there are.
    [[nodiscard]] std::uint32_t core_numberings() const {
        return release_ >= Release::V2_30_2 && !has_own_orders() ? 2 : 1;
    }

    [[nodiscard]] uapi::CompatibleVersion compatible() const {
        return is(Architecture::Sunda) ? uapi::CompatibleVersion{7, 5}
                                       : uapi::CompatibleVersion{11, 10};
    }

    [[nodiscard]] std::uint64_t features() const {
        const std::uint64_t known = release_ == Release::V2_24_7   ? 0xFF
                                    : release_ == Release::V2_26_5 ? 0x1FF
                                    : zero_copy_works()            ? 0x1FFF
                                                                   : 0x7FF;
        return known & ~without_.features;
    }

private:
    static constexpr Bytes kMostHostMemory{std::uint64_t{64} << 30};
    static constexpr std::uint32_t kRoutingIds = 128; ///< valid where a switch joins servers

    static tl::unexpected<Error> refuse(Detail detail, std::string_view text) {
        Error error;
        error.status = Status::Invalid;
        error.operation = Operation::Simulate;
        error.detail = detail;
        error.text = ShortText{text};
        return fail(error);
    }

    /// What the options say beyond instance and driver; the name of the one that makes no sense.
    std::string_view take(const SimOptions& options) {
        if (options.host_memory > kMostHostMemory) return "host_memory";
        if (options.devices.value_or(0) > instance_->devices) return "devices";
        if (const auto* row = refused_parameter(options.parameters, release_)) return row->name;
        const auto peers = options.pod.links == SimPod::Links::Both ? 4u : 2u;
        if (options.pod.node >= peers) return "pod.node";
        host_memory_ = options.host_memory;
        poison_ = options.poison;
        faults_ = options.faults;
        parameters_ = options.parameters;
        pod_ = options.pod;
        hardware_ = options.hardware;
        without_ = options.without;
        product_name_ = options.product_name.value_or(std::string(instance_->name));
        if (!take_shape()) return emulated() ? "nc_per_dev_param" : "hardware.bar4";
        devices_ = options.devices.value_or(instance_->devices);
        if (switched() && !has_server()) devices_ = 0;
        for (std::uint32_t device = 0; device < devices(); ++device)
            visible_.set(device, !options.visible.has_value());
        for (const auto id : options.visible.value_or(std::vector<HostDeviceId>{})) {
            if (id.value() >= devices()) return "visible";
            visible_.set(id.value());
        }
        return {};
    }

    /// Platform and cores. False for hardware that the model cannot stand for.
    bool take_shape() {
        constexpr std::uint64_t kLeastHbm = std::uint64_t{1} << 26;
        platform_ = platform_of(product_name_, geometry_->architecture, release_,
                                parameters_.force_userver != 0);
        const bool stand_in = emulated() || revision() == SimHardware::kQemu;
        if (stand_in && is(Architecture::Mariana)) platform_ = Platform::Standard;
        cores_ = geometry_->cores;
        if (emulated()) {
            parameters_.nmetric_log_posts = 0; // the driver's own doing
            if (parameters_.nc_per_dev_param == 0 || parameters_.nc_per_dev_param > cores_)
                return false;
            cores_ = static_cast<std::uint32_t>(parameters_.nc_per_dev_param);
        }
        return hbm_size() >= kLeastHbm && hbm_size() <= geometry_->hbm_size.count() &&
               hbm_size() % kPage.count() == 0;
    }

    /// Whether servers are numbered by their firmware: PDS, and MAX of the fourth generation.
    [[nodiscard]] bool switched() const {
        return platform_ == Platform::Pds ||
               (platform_ == Platform::Max && is(Architecture::Mariana));
    }
    [[nodiscard]] bool has_server() const {
        constexpr std::uint32_t kMostServers = 0x7FFF;
        return pod_.server && *pod_.server <= kMostServers &&
               (*pod_.server + 1) * devices_ <= kRoutingIds;
    }
    /// Trn3 behind a switch orders its cores in a way of its own.
    [[nodiscard]] bool has_own_orders() const { return switched() && is(Architecture::Mariana); }

    /// Where a device sits on its server.
    [[nodiscard]] std::uint32_t place(std::uint32_t device) const {
        if (is_inf2() || platform_ == Platform::Pds || platform_ == Platform::Max) return device;
        const auto& table = is(Architecture::Sunda) ? kTrn1Routing : kTrn2Routing;
        return table[device % kTorusDevices] + device / kTorusDevices * kTorusDevices;
    }

    const Instance* instance_ = nullptr;
    const Geometry* geometry_ = nullptr;
    Release release_ = Release::V2_24_7;
    std::string_view version_;
    bool poison_ = false;
    Bytes host_memory_;
    SimFaults faults_;
    SimParameters parameters_;
    SimPod pod_;
    SimHardware hardware_;
    SimWithout without_;
    std::string product_name_;
    Platform platform_ = Platform::Standard;
    std::uint32_t devices_ = 0;
    std::uint32_t cores_ = 0;
    std::bitset<kMaxHostDevices> visible_;
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
