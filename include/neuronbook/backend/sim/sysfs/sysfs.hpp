// SPDX-License-Identifier: Apache-2.0
//
// The driver's files: /sys/module/neuron, the class, the device directories, the nodes.
// Owns: the table of files, who may read and write them. Does not own: the texts (the headers
// beside this one).
// Layer: backend (simulated kernel).   Source: driver-abi.md 2, 11, 13 (measured on Trn1)
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "neuronbook/backend/sim/sysfs/class_attributes.hpp"
#include "neuronbook/backend/sim/sysfs/core_files.hpp"
#include "neuronbook/backend/sim/sysfs/device_files.hpp"
#include "neuronbook/backend/sim/sysfs/file_row.hpp"
#include "neuronbook/backend/sim/sysfs/module_files.hpp"

namespace neuronbook {
inline namespace v0 {

/// Who opens a file: root, whom permission bits do not stop, or anybody else.
enum class FileUser : std::uint8_t { Root, Other };

/// A file or a directory as stat() shows it.
struct FileFacts {
    std::uint16_t mode = 0; ///< permission bits
    bool directory = false;
};

namespace sim {

/// The device of /dev/neuronN, if its node is shown.
[[nodiscard]] inline std::optional<std::uint32_t> node(const State& state, std::string_view path) {
    if (!eat(path, "/dev/neuron")) return std::nullopt;
    const auto number = eat_number(path);
    if (!number || !path.empty() || !state.machine.shows(*number)) return std::nullopt;
    return number;
}

namespace detail {

inline bool is_newest(const MachineSpec& m) { return m.at_least(Release::V2_30_2); }
inline bool is_older(const MachineSpec& m) { return !is_newest(m); }
inline bool has_health(const MachineSpec& m) { return is_newest(m) && !m.is(Architecture::Sunda); }
inline bool has_election(const MachineSpec& m) {
    return is_older(m) || m.platform() == Platform::UltraServer;
}
inline bool has_switch(const MachineSpec& m) {
    return is_newest(m) && (m.platform() == Platform::Pds || m.platform() == Platform::Max);
}
inline bool has_modes(const MachineSpec& m) { return has_election(m) || has_switch(m); }

template <auto Of>
constexpr FileRow counters(std::string_view pattern) {
    return {Root::Device, pattern, 0644, read_counter<Of>, zero_counter<Of>};
}
template <char Set>
constexpr FileRow published_file(std::string_view pattern) {
    return {Root::Device, pattern, 0644, read_published<Set>, write_published<Set>};
}
constexpr FileRow text(std::string_view pattern, std::uint16_t mode,
                       std::string (*read)(State&, const Place&),
                       bool (*there)(const MachineSpec&) = nullptr) {
    return {Root::Device, pattern, mode, read, nullptr, there};
}
constexpr FileRow attribute(std::string_view pattern, std::string (*read)(State&, const Place&),
                            bool (*there)(const MachineSpec&)) {
    return {Root::Class, pattern, 0444, read, nullptr, there};
}

} // namespace detail

inline constexpr auto kFiles = [] {
    using namespace detail;
    return std::array{
        FileRow{Root::Module, "version", 0444, read_version},
        FileRow{Root::Module, "parameters/$p", 0660, read_parameter, write_parameter},
        FileRow{Root::Dmi, "product_name", 0444, read_product_name},
        attribute("node_id_2", read_node_id<2>, has_election),
        attribute("node_id_4", read_node_id<4>, has_election),
        attribute("server_id_2", read_server_id<2>, has_election),
        attribute("server_id_4", read_server_id<4>, has_election),
        attribute("node_id", read_node, has_switch),
        attribute("node_cnt", read_node_count, has_switch),
        attribute("reservation_id", read_reservation, has_switch),
        attribute("ultraserver_mode", read_modes, has_modes),
        attribute("hbm_7200_capable", read_hbm_7200, is_newest),
        attribute("current_perf_profile", read_current_profile, is_newest),
        FileRow{Root::Device, "reset", 0600, read_reset, write_reset},
        text("core_count", 0400, read_core_count, is_older),
        text("core_count", 0444, read_core_count, is_newest),
        text("connected_devices", 0400, read_connected, is_older),
        text("connected_devices", 0444, read_connected, is_newest),
        text("fw_api_version", 0444, read_firmware_api, is_newest),
        text("fw_build", 0444, read_firmware_build, is_newest),
        FileRow{Root::Device, "info/notify_delay", 0644, read_notify_delay, write_notify_delay},
        text("info/serial_number", 0644, read_serial),
        text("info/architecture/arch_type", 0644, read_arch),
        text("info/architecture/instance_type", 0644, read_instance),
        text("info/architecture/device_name", 0644, read_device_name),
        counters<kHostCategory>("stats/memory_usage/host_mem/$h/$m"),
        text("stats/hardware/sram_ecc_uncorrected", 0644, read_sram_errors),
        text("stats/hardware/mem_ecc_uncorrected", 0644, read_memory_errors),
        text("stats/hardware/mem_ecc_repairable_uncorrected", 0644, read_repairable_errors),
        text("stats/hardware/sram_ecc_corrected", 0644, read_sram_corrected, is_newest),
        text("stats/hardware/mem_ecc_corrected", 0644, read_memory_corrected, is_newest),
        text("stats/hardware/health_status/unhealthy_components", 0444, read_unhealthy, has_health),
        text("stats/hardware/health_status/healthcheck_heartbeat", 0444, read_heartbeat,
             has_health),
        text("stats/hardware/health_status/hw_error_event", 0444, read_error_events, has_health),
        text("stats/power/utilization", 0644, read_power),
        text("stats/power/utilization_raw", 0644, read_power_raw, is_newest),
        counters<kCoreHost>("neuron_core$c/stats/memory_usage/host_mem/$m"),
        counters<kCoreDevice>("neuron_core$c/stats/memory_usage/device_mem/$m"),
        counters<kCoreCategory>("neuron_core$c/stats/memory_usage/device_mem/$d/$m"),
        published_file<'s'>("neuron_core$c/stats/status/$s/$n"),
        published_file<'o'>("neuron_core$c/stats/other_info/$o/$n"),
        text("neuron_core$c/stats/tensor_engine/pe_cntrs", 0644, read_pe_counters),
        text("neuron_core$c/info/architecture/arch_type", 0644, read_core_arch),
    };
}();

/// Where a path leads: one of the driver's directories and what is below it.
struct Spot {
    Root root;
    std::string_view rest;
    Place place{};
};

[[nodiscard]] inline std::optional<Spot> locate(const State& state, std::string_view path) {
    struct Front {
        std::string_view text;
        Root root;
    };
    constexpr std::array kFronts{Front{"/sys/module/neuron", Root::Module},
                                 Front{"/sys/class/dmi/id", Root::Dmi},
                                 Front{"/sys/class/neuron_device", Root::Class},
                                 Front{"/sys/devices/virtual/neuron_device", Root::Devices}};
    if (!path.empty() && path.back() == '/') return std::nullopt;
    for (const auto& front : kFronts) {
        auto rest = path;
        if (!eat(rest, front.text) || (!rest.empty() && !eat(rest, "/"))) continue;
        Spot spot{front.root, rest};
        const bool has_devices = front.root == Root::Class || front.root == Root::Devices;
        if (!has_devices || !eat(rest, "neuron")) return spot;
        const auto number = eat_number(rest);
        if (!number || *number >= state.devices.size() || (!rest.empty() && !eat(rest, "/")))
            return std::nullopt;
        spot.root = Root::Device;
        spot.rest = rest;
        spot.place.device = *number;
        return spot;
    }
    return std::nullopt;
}

/// Calls `visit(row, left)` for each row that a spot is a file or directory of; `left` is what the
/// pattern goes on with, empty for a file. Stops when it says so.
template <class F>
void for_each_row(const State& state, Spot& spot, F visit) {
    for (const auto& row : kFiles) {
        if (row.root != spot.root || (row.there != nullptr && !row.there(state.machine))) continue;
        const auto left = behind(state.machine, row.pattern, spot.rest, spot.place);
        if (left && visit(row, *left)) return;
    }
}

struct FoundFile {
    const FileRow* row;
    Place place;
};

[[nodiscard]] inline std::optional<FoundFile> find_file(const State& state, std::string_view path) {
    auto spot = locate(state, path);
    if (!spot) return std::nullopt;
    const FileRow* found = nullptr;
    for_each_row(state, *spot, [&found](const FileRow& row, std::string_view left) {
        if (left.empty()) found = &row;
        return left.empty();
    });
    if (found == nullptr) return std::nullopt;
    return FoundFile{found, spot->place};
}

/// Names in a directory, or nothing when it is none.
[[nodiscard]] inline std::optional<std::vector<std::string>> directory(const State& state,
                                                                       std::string_view path) {
    auto spot = locate(state, path);
    if (!spot) return std::nullopt;
    std::vector<std::string> names;
    const auto add = [&names](std::string name) {
        if (std::find(names.begin(), names.end(), name) == names.end())
            names.push_back(std::move(name));
    };
    const bool has_devices =
        spot->rest.empty() && (spot->root == Root::Class || spot->root == Root::Devices);
    for_each_row(state, *spot, [&](const FileRow&, std::string_view left) {
        if (left.empty()) return false;
        const auto part = next_component(left);
        const auto sign = std::min(part.find('$'), part.size());
        const std::string front{part.substr(0, sign)};
        if (sign == part.size()) add(front);
        for (std::size_t i = 0; sign < part.size() && i < set_size(part[sign + 1]); ++i)
            if (const auto name = member_name(state.machine, part[sign + 1], i); !name.empty())
                add(front + name);
        return false;
    });
    for (std::size_t i = 0; has_devices && i < state.devices.size(); ++i)
        add("neuron" + std::to_string(i));
    if (names.empty() && !has_devices) return std::nullopt;
    return names;
}

/// What stat() shows of one of the driver's files or directories.
[[nodiscard]] inline std::optional<FileFacts> file_facts(const State& state,
                                                         std::string_view path) {
    if (const auto file = find_file(state, path)) return FileFacts{file->row->mode, false};
    if (directory(state, path)) return FileFacts{0755, true};
    return std::nullopt;
}

/// The content of a file as somebody reads it: -ENOENT, -EACCES, or 0 with the text.
[[nodiscard]] inline std::int64_t read_text(State& state, std::string_view path, FileUser user,
                                            Nanoseconds now, std::string& text) {
    auto file = find_file(state, path);
    if (!file) return -ENOENT;
    if (user != FileUser::Root && (file->row->mode & 0004) == 0) return -EACCES;
    file->place.now = now;
    text = file->row->read(state, file->place);
    return 0;
}

/// Writes into a file: the bytes taken, or minus an errno. Root too is refused where nobody may
/// write. A file that has nothing to do with what is written takes it all the same.
inline std::int64_t write_text(State& state, std::string_view path, std::string_view text,
                               FileUser user) {
    constexpr std::size_t kMost = 4096; // of one write
    const auto file = find_file(state, path);
    if (!file) return directory(state, path) ? -EISDIR : -ENOENT;
    const auto needed = user == FileUser::Root ? 0222 : 0002;
    if ((file->row->mode & needed) == 0) return -EACCES;
    text = text.substr(0, kMost);
    if (!text.empty() && file->row->write != nullptr)
        if (const auto error = file->row->write(state, file->place, text); error != 0) return error;
    return static_cast<std::int64_t>(text.size());
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
