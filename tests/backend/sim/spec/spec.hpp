// SPDX-License-Identifier: Apache-2.0
// What the tests of this folder share: every release, and requests the fixture has no short form
// for. These tests follow the description of the driver row by row, not the code of the model.
#pragma once

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "backend/sim/fixture.hpp"

namespace spec_test {

using namespace sim_test;

inline constexpr const char* k24 = "2.24.7";
inline constexpr const char* k26 = "2.26.5";
inline constexpr const char* k30 = "2.30.2";
inline const std::array<std::string, 3> kReleases{k24, k26, k30};

inline constexpr const char* kV2 = "trn1.2xlarge";
inline constexpr const char* kV3 = "trn2.3xlarge";
inline constexpr const char* kV4 = "trn3pd98.3xlarge";

/// Whether a release has a row for a request word, whatever it answers.
inline bool knows(const std::string& release, std::uint32_t word, const char* instance = kV2) {
    const auto kernel = make_kernel(instance, release);
    Process process(*kernel);
    process.ask(word, nullptr);
    return kernel->unknown().empty();
}

/// Which releases know a word, as a text like "24 26 30".
inline std::string known_to(std::uint32_t word) {
    std::string text;
    for (const auto& release : kReleases)
        if (knows(release, word)) text += (text.empty() ? "" : " ") + release.substr(2, 2);
    return text;
}

/// One value for each release, by its name.
template <class T>
T by_release(const std::string& release, T in_24, T in_26, T in_30) {
    return release == k24 ? in_24 : release == k26 ? in_26 : in_30;
}

inline uapi::CrwlNcMapExt mark(Process& process, std::uint32_t count, std::uint32_t first,
                               std::uint32_t last) {
    uapi::CrwlNcMapExt map{count, first, last, 0, {}};
    process.error = process.ask(uapi::kCrwlNcRangeMarkExt0, map);
    return map;
}

/// The whole list of an HBM's chunks.
inline std::vector<uapi::MemChunkInfo> dump(Process& process, std::uint32_t hbm) {
    std::vector<uapi::MemChunkInfo> chunks(4096);
    uapi::DumpMemChunks form{hbm, 4096, 0, 0, chunks.data()};
    process.error = process.ask(uapi::kDumpMemChunks, form);
    chunks.resize(form.num_entries_out);
    return chunks;
}

inline std::uint64_t feature_word(Process& process) {
    uapi::DeviceDriverInfo info;
    process.error = process.ask(uapi::kDriverInfoGet, info);
    return info.feature_flags1;
}

inline std::string read_text(SimKernel& kernel, const std::string& path) {
    std::array<char, 512> text{};
    const auto size = kernel.read_file(path, text);
    return size < 0 ? "<" + std::to_string(size) + ">"
                    : std::string(text.data(), static_cast<std::size_t>(size));
}

inline constexpr const char* kSysfs = "/sys/devices/virtual/neuron_device/neuron0/";

/// A 48-byte zero-copy, the shape of 2.26.5; `threshold` is the largest write through the window.
inline std::int64_t zero_copy_26(Process& process, std::uint64_t handle, void* buffer,
                                 std::uint64_t size, std::uint32_t threshold, bool to_device = true,
                                 std::int32_t queue = -1, std::uint64_t offset = 0) {
    uapi::MemBufCopy64zcDeprecated form{handle,    buffer, size, offset, to_device ? 1u : 0u,
                                        threshold, queue,  0};
    return process.ask(0xC0304E7Cu, form);
}

/// The 64-byte shape of 2.30.2.
inline std::int64_t zero_copy_30(Process& process, std::uint64_t handle, void* buffer,
                                 std::uint64_t size, std::uint32_t threshold, bool to_device = true,
                                 std::int32_t queue = -1, std::uint64_t sequence = 0) {
    uapi::MemBufCopy64zc form{handle,    buffer, size, 0,        to_device ? 1u : 0u,
                              threshold, queue,  0,    sequence, nullptr};
    return process.ask(0xC0404E7Cu, form);
}

} // namespace spec_test
