// SPDX-License-Identifier: Apache-2.0
//
// The machine a SimKernel runs on: a checked combination of instance, generation and driver.
// Owns: what never changes while it runs. Does not own: state.
// Layer: backend (simulated kernel).   Source: driver-abi.md 1, 4, 5, 14
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

/// Driver releases the model knows, oldest first so that they compare.
enum class Release : std::uint8_t { V2_24_7, V2_26_5, V2_30_2 };

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
        if (!machine.read_release(options.driver_version))
            return refuse(Detail::UnknownDriverVersion, options.driver_version);
        if (machine.geometry_->architecture == Architecture::Mariana &&
            machine.release_ < Release::V2_26_5)
            return refuse(Detail::NeverShipped, std::string(machine.geometry_->name) +
                                                    " needs driver 2.25 or newer, not " +
                                                    options.driver_version);
        if (options.host_memory > kMostHostMemory) return refuse(Detail::BadOption, "host_memory");
        for (std::uint32_t device = 0; device < machine.devices(); ++device)
            machine.visible_.set(device, !options.visible.has_value());
        for (const auto id : options.visible.value_or(std::vector<HostDeviceId>{})) {
            if (id.value() >= machine.devices()) return refuse(Detail::BadOption, "visible");
            machine.visible_.set(id.value());
        }
        machine.host_memory_ = options.host_memory;
        machine.poison_ = options.poison;
        machine.faults_ = options.faults;
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
    /// The module parameter: the hardware is never reset.
    [[nodiscard]] bool no_reset() const { return no_reset_; }
    [[nodiscard]] bool is(Architecture architecture) const {
        return geometry_->architecture == architecture;
    }
    [[nodiscard]] std::uint32_t architecture_number() const {
        return static_cast<std::uint32_t>(geometry_->architecture);
    }
    /// Devices of the host, whether or not their nodes are visible.
    [[nodiscard]] std::uint32_t devices() const { return instance_->devices; }
    [[nodiscard]] std::uint32_t cores() const { return geometry_->cores; }
    [[nodiscard]] bool shows(std::uint32_t device) const {
        return device < devices() && visible_.test(device);
    }

    /// Whether the driver copies straight between user pages and chunks; 2.24 has no such rule.
    [[nodiscard]] bool zero_copy_works() const { return !is(Architecture::Sunda); }

    [[nodiscard]] bool is_inf2() const {
        return instance_->family == InstanceFamily::Inf2 ||
               instance_->family == InstanceFamily::Inf2e;
    }

    [[nodiscard]] std::uint32_t routing_id(std::uint32_t device) const {
        if (is_inf2()) return device;
        const auto& table = is(Architecture::Sunda) ? kTrn1Routing : kTrn2Routing;
        return table[device % kTorusDevices] + device / kTorusDevices * kTorusDevices;
    }

    [[nodiscard]] BusAddress bus_address(std::uint32_t device) const {
        return {.domain = 1, .bus = 0x10, .slot = routing_id(device)}; // measured on a Trn1 machine
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
        if (devices() % kTorusDevices != 0) return list;
        const auto& table = is(Architecture::Sunda) ? kTrn1Neighbours : kTrn2Neighbours;
        for (const auto other : table[device % kTorusDevices]) add(other | (device & 16u));
        return list;
    }

    /// Physical core of logical core k of a device; Trn2 and Trn3.
    [[nodiscard]] std::uint32_t physical_core(std::uint32_t device, std::uint32_t k) const {
        return kCoreOrders[kCoreOrderOf[device % kTorusDevices]][k];
    }

    [[nodiscard]] uapi::CompatibleVersion compatible() const {
        return is(Architecture::Sunda) ? uapi::CompatibleVersion{7, 5}
                                       : uapi::CompatibleVersion{11, 10};
    }

    [[nodiscard]] std::uint64_t features() const {
        if (release_ == Release::V2_24_7) return 0xFF;
        if (release_ == Release::V2_26_5) return 0x1FF;
        return is(Architecture::Sunda) ? 0x7FF : 0x1FFF;
    }

private:
    static constexpr Bytes kMostHostMemory{std::uint64_t{64} << 30};

    static tl::unexpected<Error> refuse(Detail detail, std::string_view text) {
        Error error;
        error.status = Status::Invalid;
        error.operation = Operation::Simulate;
        error.detail = detail;
        error.text = ShortText{text};
        return fail(error);
    }

    bool read_release(std::string_view text) {
        struct Known {
            std::string_view version;
            Release release;
        };
        constexpr std::array kKnown{Known{"2.24.7.0", Release::V2_24_7},
                                    Known{"2.26.5.0", Release::V2_26_5},
                                    Known{"2.30.2.0", Release::V2_30_2}};
        for (const auto& known : kKnown) {
            if (text != known.version && text != known.version.substr(0, 6)) continue;
            release_ = known.release;
            version_ = known.version;
            return true;
        }
        return false;
    }

    const Instance* instance_ = nullptr;
    const Geometry* geometry_ = nullptr;
    Release release_ = Release::V2_24_7;
    std::string_view version_;
    bool poison_ = false;
    bool no_reset_ = false;
    Bytes host_memory_;
    SimFaults faults_;
    std::bitset<kMaxHostDevices> visible_;
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
