// SPDX-License-Identifier: Apache-2.0
//
// How a runtime is brought up, as plain data.
// Owns: the options and their reading from the environment, the only place that reads it.
// Does not own: what they do (runtime.hpp). Layer: runtime.   Source: nrt-surface.md 4
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/log.hpp"
#include "neuronbook/base/result.hpp"

namespace neuronbook {
inline namespace v0 {

/// A run of user cores.
struct CoreRange {
    UserCore first{};
    std::uint32_t count = 0;
};

/// What open() is told. Plain data: fill it in, or let from_environment() do it.
struct RuntimeOptions {
    /// The cores to claim; nothing claims every core of every device present.
    std::optional<CoreRange> cores{};
    /// Reset the claimed cores at bring-up. Off unless asked for: a reset is only safe on cores
    /// that nobody else uses.
    bool reset_cores = false;
    /// Nothing leaves the level as it is.
    std::optional<LogLevel> log_level{};

    /// Effects: reads NEURON_RT_RESET_CORES (0 or 1) and NEURON_RT_LOG_LEVEL. Errors: INVALID with
    /// variable and text for a value that is not understood, and for the variables that choose
    /// cores, which are not honoured yet: ignoring them would claim cores meant for others.
    static Result<RuntimeOptions> from_environment() {
        RuntimeOptions options;
        for (const char* name : {"NEURON_RT_VISIBLE_CORES", "NEURON_RT_NUM_CORES"})
            if (const char* text = std::getenv(name))
                return fail(refused(Detail::NotHonouredYet, name, text));
        if (const char* text = std::getenv("NEURON_RT_RESET_CORES")) {
            const std::string_view value(text);
            if (value != "0" && value != "1")
                return fail(refused(Detail::BadOption, "NEURON_RT_RESET_CORES", text));
            options.reset_cores = value == "1";
        }
        if (const char* text = std::getenv("NEURON_RT_LOG_LEVEL")) {
            const auto level = parse_log_level(text);
            if (!level) return fail(refused(Detail::BadOption, "NEURON_RT_LOG_LEVEL", text));
            options.log_level = level;
        }
        return options;
    }

private:
    static Error refused(Detail detail, const char* name, const char* value) {
        char text[ShortText::kCapacity + 2];
        const int length = std::snprintf(text, sizeof text, "%s=%s", name, value);
        const auto shown = static_cast<std::size_t>(length);
        return {.status = Status::Invalid,
                .operation = Operation::BringUp,
                .detail = detail,
                .text = std::string_view(text, shown < sizeof text ? shown : sizeof text - 1)};
    }
};

} // namespace v0
} // namespace neuronbook
