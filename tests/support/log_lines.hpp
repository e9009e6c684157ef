// SPDX-License-Identifier: Apache-2.0
// Collects the log's lines while it lives; afterwards the log is as it is by default.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "neuronbook/base/log.hpp"

namespace neuronbook::test {

class LogLines {
public:
    explicit LogLines(LogLevel level = LogLevel::Warn) {
        Log::set_level(level);
        Log::set_sink(
            [](void* self, LogLevel at, std::string_view line) {
                static_cast<LogLines*>(self)->lines.emplace_back(at, line);
            },
            this);
    }
    LogLines(const LogLines&) = delete;
    LogLines& operator=(const LogLines&) = delete;
    ~LogLines() {
        Log::set_sink(nullptr);
        Log::set_level(LogLevel::Error);
    }

    std::vector<std::pair<LogLevel, std::string>> lines;
};

} // namespace neuronbook::test
