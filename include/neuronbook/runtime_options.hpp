// SPDX-License-Identifier: Apache-2.0
//
// How a runtime is brought up, as plain data.
// Owns: the options and their reading from the environment, the only place that reads it.
// Does not own: what they do (runtime.hpp). Layer: runtime.   Source: nrt-surface.md 4
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/log.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/memory_options.hpp"
#include "neuronbook/topology/core_string.hpp"

namespace neuronbook {
inline namespace v0 {

/// What open() is told. Plain data: fill it in, or let from_environment() do it.
struct RuntimeOptions {
    /// The logical cores to claim, by their numbers on the host. Nothing: `core_count` decides.
    /// VisibleCores::of() makes them from numbers, visible_cores() from text.
    std::optional<VisibleCores> visible{};
    /// How many logical cores to claim, in a row, of those that are free; 0: every core of every
    /// device present. Not looked at when `visible` says which.
    std::uint32_t core_count = 0;
    /// Physical cores of a logical core, 1 or 2. Nothing: the generation's own, 2 on Trn2 and Trn3.
    std::optional<std::uint32_t> lnc_size{};
    /// How long to wait for cores that other processes have. Nothing: not at all.
    std::optional<Nanoseconds> wait_for_cores{};
    /// Reset the claimed cores at bring-up. Off unless asked for: a reset is only safe on cores
    /// that nobody else uses. Those that another runtime of this process has are not reset, and
    /// the log says so.
    bool reset_cores = false;
    /// Nothing leaves the level as it is.
    std::optional<LogLevel> log_level{};
    /// How device memory is kept: events, budgets, what happens when there is none left.
    MemoryOptions memory{};

    /// Effects: reads NEURON_RT_VISIBLE_CORES, NEURON_RT_NUM_CORES, NEURON_RT_VIRTUAL_CORE_SIZE or
    /// NEURON_LOGICAL_NC_CONFIG (two names of one thing, 1 or 2), NEURON_RT_RESET_CORES (0 or 1),
    /// NEURON_RT_DEBUG_MEMLOG_MAX_SIZE (events kept, 0 to 2^24),
    /// NEURON_RT_ENABLE_DEVICE_MEMORY_OOM_LOG (0 or 1) and NEURON_RT_LOG_LEVEL. Errors: INVALID
    /// with the text for a value that is not understood: of core strings as parse_visible_cores()
    /// and parse_core_count(), of the others with BadOption; with LncConflict and both names and
    /// values where the two names disagree.
    static Result<RuntimeOptions> from_environment() {
        RuntimeOptions options;
        if (const char* text = std::getenv("NEURON_RT_VISIBLE_CORES")) {
            const auto cores = visible_cores(text);
            if (!cores) return fail(cores.error());
            options.visible = *cores;
        }
        if (const char* text = std::getenv("NEURON_RT_NUM_CORES")) {
            const auto count = parse_core_count(text);
            if (!count) return fail(count.error());
            options.core_count = *count;
        }
        const auto size = read_lnc_size();
        if (!size) return fail(size.error());
        options.lnc_size = *size;
        for (const auto& [name, option] : {std::pair("NEURON_RT_RESET_CORES", &options.reset_cores),
                                           std::pair("NEURON_RT_ENABLE_DEVICE_MEMORY_OOM_LOG",
                                                     &options.memory.report_out_of_memory)}) {
            const char* text = std::getenv(name);
            if (!text) continue;
            const std::string_view value(text);
            if (value != "0" && value != "1") return fail(bad(name, text, "0 or 1"));
            *option = value == "1";
        }
        if (const char* text = std::getenv("NEURON_RT_DEBUG_MEMLOG_MAX_SIZE")) {
            const std::string_view value(text);
            std::uint32_t events = 0;
            const auto [end, error] =
                std::from_chars(value.data(), value.data() + value.size(), events);
            if (error != std::errc{} || end != value.data() + value.size() || events > kMostEvents)
                return fail(bad("NEURON_RT_DEBUG_MEMLOG_MAX_SIZE", text, "0 to 16777216"));
            options.memory.events = events;
        }
        if (const char* text = std::getenv("NEURON_RT_LOG_LEVEL")) {
            const auto level = parse_log_level(text);
            if (!level)
                return fail(
                    bad("NEURON_RT_LOG_LEVEL", text, "ERROR, WARN, INFO, DEBUG, TRACE or QUIET"));
            options.log_level = level;
        }
        return options;
    }

private:
    static constexpr std::uint32_t kMostEvents = 1u << 24;

    static Result<std::optional<std::uint32_t>> read_lnc_size() {
        constexpr const char* kNames[] = {"NEURON_RT_VIRTUAL_CORE_SIZE",
                                          "NEURON_LOGICAL_NC_CONFIG"};
        std::optional<std::uint32_t> sizes[2];
        for (int i = 0; i < 2; ++i) {
            const char* text = std::getenv(kNames[i]);
            if (!text) continue;
            const std::string_view value(text);
            if (value != "1" && value != "2") return fail(bad(kNames[i], text, "1 or 2"));
            sizes[i] = value == "1" ? 1 : 2;
        }
        if (!sizes[0] || !sizes[1] || sizes[0] == sizes[1]) return sizes[0] ? sizes[0] : sizes[1];
        char text[ShortText::kCapacity];
        std::snprintf(text, sizeof text, "%s=%u, %s=%u", kNames[0], *sizes[0], kNames[1],
                      *sizes[1]);
        return fail(refused(Detail::LncConflict, text));
    }

    /// `takes` says what would do; the value is cut where that leaves no room for all of it.
    static Error bad(const char* name, std::string_view value, std::string_view takes) {
        std::string text(name);
        const std::size_t room = ShortText::kCapacity - text.size() - takes.size() - 10;
        const bool cut = value.size() > room;
        text.append("=").append(value.substr(0, cut ? room - 3 : room)).append(cut ? "..." : "");
        text.append(" (takes ").append(takes).append(")"); // 10 with the sign
        return refused(Detail::BadOption, text);
    }

    static Error refused(Detail detail, std::string_view text) {
        return {.status = Status::Invalid,
                .operation = Operation::BringUp,
                .detail = detail,
                .text = text};
    }
};

} // namespace v0
} // namespace neuronbook
