// SPDX-License-Identifier: Apache-2.0
// Short ways to ask a SimKernel, for the tests of this folder only.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "neuronbook/backend/sim/port.hpp"
#include "support/catch.hpp"

namespace sim_test {

using namespace neuronbook;

inline std::unique_ptr<SimKernel> make_kernel(const std::string& instance = "trn1.2xlarge",
                                              const std::string& driver = "2.26.5.0") {
    SimOptions options;
    options.instance = instance;
    options.driver_version = driver;
    options.poison = true;
    auto kernel = SimKernel::make(options);
    REQUIRE(kernel.has_value());
    return std::move(*kernel);
}

/// One process with one file, whose pointers are checked.
struct Process {
    SimPort port;
    int fd = -1;

    explicit Process(SimKernel& kernel, std::int32_t pid = 1000, Access access = Access::ReadWrite,
                     const char* path = "/dev/neuron0")
        : port(kernel, Caller{pid, false}, Pointers::Checked),
          fd(static_cast<int>(port.open(path, access))) {}

    std::int64_t ask(std::uint32_t word, void* argument) { return port.ioctl(fd, word, argument); }

    template <class T>
    std::int64_t ask(std::uint32_t word, T& argument) {
        return ask(word, static_cast<void*>(&argument));
    }

    /// Device memory of category 9 on core 0: the handle, or the driver's answer as a negative or
    /// positive error number in `error`.
    std::uint64_t allocate(std::uint64_t size, std::uint64_t align = 0, std::uint32_t hbm = 0,
                           std::uint32_t category = 9) {
        return allocate_as({size, align, 0, hbm, 0, 0, category, 0, nullptr, 0, 0});
    }

    std::uint64_t allocate_host(std::uint64_t size) {
        return allocate_as({size, 0, 1, 0, 0, 0, 2, 0, nullptr, 0, 0});
    }

    std::uint64_t allocate_as(uapi::MemAllocV2MemType64 form) {
        std::uint64_t handle = 0;
        form.mem_handle = &handle;
        error = ask(uapi::kMemAllocV2mt64, form);
        return handle;
    }

    std::int64_t free(std::uint64_t handle) {
        uapi::MemFree form{handle};
        return ask(uapi::kMemFree, form);
    }

    std::uint64_t pa(std::uint64_t handle) {
        std::uint64_t value = ~std::uint64_t{0};
        uapi::MemGetPa form{handle, &value};
        error = ask(uapi::kMemGetPa, form);
        return value;
    }

    std::int64_t copy_in(std::uint64_t handle, const void* from, std::uint64_t size,
                         std::uint64_t offset = 0) {
        uapi::MemBufCopy64 form{handle, const_cast<void*>(from), size, offset, 1, 0};
        return ask(uapi::kMemBufCopy64, form);
    }

    std::int64_t copy_out(std::uint64_t handle, void* to, std::uint64_t size,
                          std::uint64_t offset = 0) {
        uapi::MemBufCopy64 form{handle, to, size, offset, 0, 0};
        return ask(uapi::kMemBufCopy64, form);
    }

    std::int64_t error = 0;
};

} // namespace sim_test
