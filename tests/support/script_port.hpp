// SPDX-License-Identifier: Apache-2.0
//
// A port without a kernel: files and answers are what the test says.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "neuronbook/backend/port.hpp"

namespace neuronbook::test {

struct Script {
    std::map<std::string, std::string> files; ///< readable, and there
    std::map<std::string, int> read_errors;   ///< there, but reading gives this errno
    std::map<std::string, int> open_errors;
    int open_interruptions = 0; ///< opens that answer EINTR first
    /// Answers of ioctl in turn; ENOTTY when they run out.
    std::function<std::int64_t(std::uint32_t, void*)> ioctl;
    std::vector<std::string> calls;
    std::uint64_t clock = 0;
};

/// Shares its script with its copies.
class ScriptPort {
public:
    explicit ScriptPort(std::shared_ptr<Script> script) : script_(std::move(script)) {}

    std::int64_t open(const char* path, Access access) {
        script_->calls.push_back("open " + std::string(path) + " " +
                                 std::to_string(static_cast<int>(access)));
        if (script_->open_interruptions > 0) return script_->open_interruptions--, -EINTR;
        const auto found = script_->open_errors.find(path);
        return found == script_->open_errors.end() ? 1000 : -found->second;
    }
    std::int64_t close(int) {
        script_->calls.push_back("close");
        return 0;
    }
    std::int64_t ioctl(int, std::uint32_t request, void* argument) {
        script_->calls.push_back("ioctl");
        return script_->ioctl ? script_->ioctl(request, argument) : -ENOTTY;
    }
    Mapping map(int, Bytes, bool, std::uint64_t) { return {nullptr, ENODEV}; }
    std::int64_t unmap(void*, Bytes) { return 0; }
    std::int64_t read_file(const char* path, std::span<char> buffer) {
        if (const auto bad = script_->read_errors.find(path); bad != script_->read_errors.end())
            return -bad->second;
        const auto found = script_->files.find(path);
        if (found == script_->files.end()) return -ENOENT;
        const auto size = std::min(found->second.size(), buffer.size());
        std::memcpy(buffer.data(), found->second.data(), size);
        return static_cast<std::int64_t>(size);
    }
    bool exists(const char* path) {
        return script_->files.contains(path) || script_->read_errors.contains(path);
    }
    Nanoseconds now() { return {script_->clock}; }
    void sleep(Nanoseconds duration) { script_->clock += duration.count; }
    [[nodiscard]] PortIdentity identity() const {
        return {"script", reinterpret_cast<std::uintptr_t>(script_.get())};
    }

private:
    std::shared_ptr<Script> script_;
};

static_assert(Port<ScriptPort>);

} // namespace neuronbook::test
