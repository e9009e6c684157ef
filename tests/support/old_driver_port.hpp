// SPDX-License-Identifier: Apache-2.0
//
// A simulated machine that passes for one with an older driver: its version, what it was asked, and
// what it serves. What it does not know yet is the kernel's own option.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "neuronbook/backend/sim/kernel.hpp"
#include "neuronbook/backend/sim/port.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook::test {

struct OldDriver {
    std::string version;
    std::set<std::uint32_t> asked;                      ///< request words that were sent
    uapi::CompatibleVersion serves{.max = 7, .min = 5}; ///< runtime numbers it is compatible with
};

class OldDriverPort : public SimPort {
public:
    OldDriverPort(SimKernel& kernel, std::shared_ptr<OldDriver> driver)
        : SimPort(kernel), driver_(std::move(driver)) {}

    std::int64_t ioctl(int fd, std::uint32_t word, void* argument) {
        driver_->asked.insert(word);
        const auto answer = SimPort::ioctl(fd, word, argument);
        if (word == uapi::kCompatibleVersion)
            *static_cast<uapi::CompatibleVersion*>(argument) = driver_->serves;
        return answer;
    }

    std::int64_t read_file(const char* path, std::span<char> buffer) {
        if (std::string_view(path) != "/sys/module/neuron/version")
            return SimPort::read_file(path, buffer);
        const auto size = std::min(buffer.size(), driver_->version.size());
        std::memcpy(buffer.data(), driver_->version.data(), size);
        return static_cast<std::int64_t>(size);
    }

private:
    std::shared_ptr<OldDriver> driver_;
};

static_assert(Port<OldDriverPort>);

} // namespace neuronbook::test
