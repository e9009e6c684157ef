// SPDX-License-Identifier: Apache-2.0
// What must hold for every answer, and after the last process has gone.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "fuzz/words.hpp"
#include "neuronbook/backend/sim/kernel.hpp"

namespace fuzz {

/// Something that no driver does.
struct Broken : std::runtime_error {
    using std::runtime_error::runtime_error;
};

inline void require(bool holds, const std::string& what) {
    if (!holds) throw Broken(what);
}

/// A reset is given up after 480 s; one that was asked for meanwhile begins then.
inline constexpr std::uint64_t kLongestWait = 961'000'000'000;

inline bool known_error(std::int64_t error) {
    constexpr std::array<std::int64_t, 24> kErrors{
        1 /* EPERM */,       2 /* ENOENT */,     6 /* ENXIO */,    7 /* E2BIG */,
        9 /* EBADF */,       11 /* EAGAIN */,    12 /* ENOMEM */,  13 /* EACCES */,
        14 /* EFAULT */,     16 /* EBUSY */,     17 /* EEXIST */,  19 /* ENODEV */,
        22 /* EINVAL */,     24 /* EMFILE */,    25 /* ENOTTY */,  27 /* EFBIG */,
        28 /* ENOSPC */,     38 /* ENOSYS */,    74 /* EBADMSG */, 93 /* EPROTONOSUPPORT */,
        110 /* ETIMEDOUT */, 114 /* EALREADY */, 5 /* EIO */,      524 /* ENOTSUPP */};
    return std::find(kErrors.begin(), kErrors.end(), error) != kErrors.end();
}

/// Zero, an error of the ABI, or a count: of the bytes of an argument or of a buffer that could not
/// be moved, where 22 (a bad handle) and 1 (a reset is pending) stand for themselves.
inline void check_ioctl(std::int64_t value, std::uint32_t size, bool has_buffer) {
    constexpr std::int64_t kLargestBuffer = 4 << 20;
    if (value < 0) return require(known_error(-value), "errno " + std::to_string(-value));
    const auto most = std::max<std::int64_t>(has_buffer ? kLargestBuffer : size, 22);
    require(value <= most, "answer " + std::to_string(value));
}

/// What outlives processes by design, as far as a run asked for it.
struct Left {
    std::size_t device_chunks = 0; ///< at most: notification queues, copy queues, their handles
    bool marks = false;
    bool pins = false; ///< of processes that are attached to nothing
};

/// Nothing of the processes is left, but for what was asked to be.
inline void check_end(const neuronbook::Census& fresh, const neuronbook::SimKernel& kernel,
                      const Left& left) {
    const auto census = kernel.census();
    require(kernel.waiting() == 0, "requests wait for ended processes");
    require(census.open_files == 0, "open files of ended processes");
    require(left.pins || census.pins == 0, "pins of ended processes");
    require(census.exported == 0, "exported mappings of ended processes");
    require(left.marks || census.marks == 0, "core marks of ended processes");
    require(census.user_memory().chunks <= left.device_chunks, "chunks of ended processes");
    for (std::size_t i = 0; i < census.devices.size(); ++i) {
        require(census.devices[i].attached == 0, "an ended process is attached");
        require(census.devices[i].handles <= fresh.devices[i].handles + left.device_chunks,
                "handles of ended processes");
    }
    require(kernel.unknown().size() <= 1000 && kernel.would_have_crashed().size() <= 1000,
            "notes without a bound");
}

} // namespace fuzz
