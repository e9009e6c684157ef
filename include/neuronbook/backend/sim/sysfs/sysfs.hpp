// SPDX-License-Identifier: Apache-2.0
//
// The driver's files: /sys/module/neuron, the device directories, the nodes.
// Owns: paths and texts. Does not own: the numbers in them (counters.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 2, 11, 13 (measured on Trn1)
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "neuronbook/backend/sim/device/counters.hpp"
#include "neuronbook/backend/sim/state.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

using Text = std::optional<std::string>;

/// Takes a literal off the front of a path.
[[nodiscard]] inline bool eat(std::string_view& path, std::string_view front) {
    if (path.substr(0, front.size()) != front) return false;
    path.remove_prefix(front.size());
    return true;
}

/// Takes a decimal number off the front, written as the kernel writes it.
[[nodiscard]] inline std::optional<std::uint32_t> eat_number(std::string_view& path) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(path.data(), path.data() + path.size(), value);
    const auto digits = static_cast<std::size_t>(end - path.data());
    if (error != std::errc{} || (digits > 1 && path.front() == '0')) return std::nullopt;
    path.remove_prefix(digits);
    return value;
}

/// The device of /dev/neuronN, if its node is shown.
[[nodiscard]] inline std::optional<std::uint32_t> node(const State& state, std::string_view path) {
    if (!eat(path, "/dev/neuron")) return std::nullopt;
    const auto number = eat_number(path);
    if (!number || !path.empty() || !state.machine.shows(*number)) return std::nullopt;
    return number;
}

[[nodiscard]] inline std::string line(std::uint64_t value) { return std::to_string(value) + "\n"; }

/// total, present or peak of a counter.
[[nodiscard]] inline Text counter_file(const Counter& counter, std::string_view name) {
    if (name == "total") return line(counter.total);
    if (name == "present") return line(counter.present);
    if (name == "peak") return line(counter.peak);
    return {};
}

/// <directory>/{total,present,peak} of a set of counters.
template <std::size_t N>
[[nodiscard]] Text category_file(const std::array<std::string_view, N>& names,
                                 const std::array<Counter, N>& counters, std::string_view path) {
    for (std::size_t i = 0; i < N; ++i) {
        auto rest = path;
        if (eat(rest, names[i]) && eat(rest, "/")) return counter_file(counters[i], rest);
    }
    return {};
}

/// info/architecture/* of a device.
[[nodiscard]] inline Text architecture_file(const MachineSpec& machine, std::string_view name) {
    struct Names {
        std::string_view arch, instance, device;
    };
    const Names names = machine.is_inf2()                  ? Names{"NDv3", "Inf2", "Inferentia2"}
                        : machine.is(Architecture::Sunda)  ? Names{"NDv2", "Trn1", "Trainium1"}
                        : machine.is(Architecture::Cayman) ? Names{"NDv3", "Trn2", "Trainium2"}
                                                           : Names{"NDv4", "Trn3", "Trainium3"};
    if (name == "arch_type") return std::string{names.arch} + "\n";
    if (name == "instance_type") return std::string{names.instance} + "\n";
    if (name == "device_name") return std::string{names.device} + "\n";
    return {};
}

/// neuron_coreM/*.
[[nodiscard]] inline Text core_file(const State& state, const Device& device, std::uint32_t core,
                                    std::string_view path) {
    if (path == "info/architecture/arch_type")
        return "NCv" + std::to_string(state.machine.architecture_number()) + "\n";
    if (eat(path, "stats/other_info/reset_req_count/")) {
        const auto count = device.reset_requests[core];
        return counter_file({count, count != 0 ? 1u : 0u, 0}, path == "peak" ? "" : path);
    }
    if (eat(path, "stats/other_info/reset_fail_count/")) {
        const auto count = device.reset_failures[core];
        return counter_file({count, count != 0 ? 1u : 0u, 0}, path == "peak" ? "" : path);
    }
    if (!eat(path, "stats/memory_usage/")) return {};
    const auto& counters = device.counters;
    if (eat(path, "host_mem/")) return counter_file(counters.core_host[core], path);
    if (!eat(path, "device_mem/")) return {};
    if (auto text = counter_file(counters.core_device[core], path)) return text;
    return category_file(kDeviceDirectories, counters.core_category[core], path);
}

/// Empty when the text would need 20 characters or more.
[[nodiscard]] inline std::string connected_devices(const MachineSpec& machine,
                                                   std::uint32_t device) {
    const auto list = machine.neighbours(device);
    std::string text;
    for (std::uint32_t i = 0; i < list.count; ++i)
        text += (i == 0 ? "" : ", ") + std::to_string(list.devices[i]);
    text += "\n";
    return text.size() < 20 ? text : std::string{};
}

[[nodiscard]] inline Text device_file(const State& state, std::string_view path) {
    const auto number = eat_number(path);
    if (!number || *number >= state.devices.size() || !eat(path, "/")) return {};
    const auto& device = state.devices[*number];
    if (path == "core_count") return std::to_string(state.machine.cores()); // no newline
    if (path == "connected_devices") return connected_devices(state.machine, *number);
    if (path == "reset") return line(static_cast<std::uint64_t>(device.resets.state()));
    if (path == "info/notify_delay") return "-1\n";
    if (path == "info/serial_number") return "\n";
    if (eat(path, "info/architecture/")) return architecture_file(state.machine, path);
    if (eat(path, "stats/memory_usage/host_mem/"))
        return category_file(kHostDirectories, device.counters.host_category, path);
    if (!eat(path, "neuron_core")) return {};
    const auto core = eat_number(path);
    if (!core || *core >= state.machine.cores() || !eat(path, "/")) return {};
    return core_file(state, device, *core, path);
}

/// Module parameters at their defaults; some came after 2.24.7.
[[nodiscard]] inline Text parameter_file(const MachineSpec& machine, std::string_view name) {
    struct Parameter {
        std::string_view name, value;
        Release since = Release::V2_24_7;
    };
    constexpr std::array kParameters{Parameter{"dev_nc_map", "1"},
                                     Parameter{"dma_teardown_on_exit", "1", Release::V2_26_5},
                                     Parameter{"dup_helper_enable", "1"},
                                     Parameter{"force_die_flip", "0"},
                                     Parameter{"force_userver", "0"},
                                     Parameter{"mempool_host_memory_size", "33554432"},
                                     Parameter{"mempool_min_alloc_size", "4096"},
                                     Parameter{"mempool_small_alloc_max", "524288"},
                                     Parameter{"mempool_small_pool_size", "1073741824"},
                                     Parameter{"nc_per_dev_param", "1"},
                                     Parameter{"nmetric_log_posts", "1"},
                                     Parameter{"nmetric_metric_post_delay", "150000"},
                                     Parameter{"no_reset", "0"},
                                     Parameter{"userver_ctl", "0"},
                                     Parameter{"userver_etimeout", "600"},
                                     Parameter{"wc_enable", "1"},
                                     Parameter{"zerocopy_trn1_override", "0", Release::V2_26_5}};
    for (const auto& parameter : kParameters)
        if (parameter.name == name && machine.at_least(parameter.since))
            return std::string{parameter.value} + "\n";
    return {};
}

/// The content of a file of the driver, or nothing when there is no such file.
[[nodiscard]] inline Text file_content(const State& state, std::string_view path) {
    const auto& machine = state.machine;
    if (path == "/sys/module/neuron/version") return std::string{machine.version()} + "\n";
    if (eat(path, "/sys/module/neuron/parameters/")) return parameter_file(machine, path);
    if (eat(path, "/sys/devices/virtual/neuron_device/neuron")) return device_file(state, path);
    if (eat(path, "/sys/class/neuron_device/neuron")) return device_file(state, path);
    if (!eat(path, "/sys/class/neuron_device/")) return {};
    if (path == "node_id_2" || path == "node_id_4") return "-1\n";
    if (path == "server_id_2" || path == "server_id_4") return "0000000000000000\n";
    if (path == "ultraserver_mode") return "\n";
    return {};
}

/// Whether a path is a directory with a file of the driver's somewhere below it: at the end of one
/// of these, or of what is left of it from a slash on.
[[nodiscard]] inline bool is_directory(const State& state, std::string_view path) {
    constexpr std::array<std::string_view, 8> kFiles{"/version",
                                                     "/parameters/no_reset",
                                                     "/neuron0/core_count",
                                                     "/info/notify_delay",
                                                     "/info/architecture/arch_type",
                                                     "/stats/memory_usage/host_mem/tensors/total",
                                                     "/stats/memory_usage/host_mem/total",
                                                     "/stats/other_info/reset_req_count/total"};
    for (auto file : kFiles)
        for (; !file.empty(); file.remove_prefix(std::min(file.find('/', 1), file.size())))
            if (file_content(state, std::string{path}.append(file))) return true;
    return false;
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
