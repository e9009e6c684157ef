// SPDX-License-Identifier: Apache-2.0
// Files of the driver's, as an input walks to them and writes into them.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "fuzz/arena.hpp"
#include "fuzz/input.hpp"
#include "fuzz/oracle.hpp"
#include "neuronbook/backend/sim/kernel.hpp"

namespace fuzz {

/// Where a walk came to, and whether directories said that there is a file.
struct Path {
    std::string text;
    bool is_file = false;
};

/// From one of the driver's directories, or from nowhere, down to what is none.
inline Path walk(const neuronbook::SimKernel& kernel, Input& input) {
    constexpr std::array kStarts{"/sys/devices/virtual/neuron_device/neuron0",
                                 "/sys/devices/virtual/neuron_device",
                                 "/sys/module/neuron",
                                 "/sys/class/neuron_device",
                                 "/sys/class/dmi/id",
                                 "/sys/devices/virtual/neuron_device/neuron0/stats/status",
                                 "/sys/devices/virtual/neuron_device/neuron00",
                                 "/sys/module/neuron/",
                                 "/dev",
                                 "/sys/module/neuronx",
                                 "",
                                 "/"};
    constexpr int kDeepest = 12;
    const auto way = input.byte();
    Path path{kStarts[way % 16 % kStarts.size()]};
    for (int depth = 0; depth < kDeepest; ++depth) {
        const auto names = kernel.list_directory(path.text);
        path.is_file = !names && depth > 0;
        if (!names || names->empty()) break;
        path.text += "/" + (*names)[input.byte() % names->size()];
        require(kernel.exists(path.text), "no " + path.text + ", which its directory names");
    }
    if (way < 0xE0) return path;
    path.is_file = false;
    for (int i = way & 3; i >= 0; --i) path.text += static_cast<char>(input.byte());
    return path;
}

inline neuronbook::FileUser reader(std::uint8_t way) {
    return (way & 1) != 0 ? neuronbook::FileUser::Other : neuronbook::FileUser::Root;
}

inline void read_file(const neuronbook::SimKernel& kernel, Input& input) {
    const auto path = walk(kernel, input);
    const auto way = input.byte();
    std::array<char, 512> buffer{};
    const auto size = (way & 2) != 0 ? way : buffer.size();
    const auto answer = kernel.read_file(path.text, {buffer.data(), size}, reader(way));
    require(answer <= static_cast<std::int64_t>(size), "more read than there is room for");
    if (answer >= 0) return;
    require(answer == -2 || answer == -13, "errno of a read");
    require(!path.is_file || (answer == -13 && (way & 1) != 0), "no file " + path.text);
}

/// A number, with or without the line's end, or any text, of which the kernel takes one page.
inline void write_file(neuronbook::SimKernel& kernel, Input& input, const Arena& arena) {
    constexpr std::size_t kMost = 4096;
    const auto path = walk(kernel, input);
    const auto way = input.byte();
    auto text = std::to_string(input.number(8, arena));
    if ((way & 0x0C) == 0x04) text += "\n";
    if ((way & 0x0C) == 0x08) text = "-" + text;
    if ((way & 0x0C) == 0x0C) text.clear();
    for (int i = way >> 5; (way & 0x10) != 0 && i >= 0; --i)
        text += static_cast<char>(input.byte());
    if (way == 0xFE) text.append(kMost, '0');
    const auto answer = kernel.write_file(path.text, text, reader(way));
    if (answer >= 0)
        return require(answer == static_cast<std::int64_t>(std::min(text.size(), kMost)),
                       "bytes taken of a write");
    require(answer != -2 || !path.is_file, "no file " + path.text);
    constexpr std::array<std::int64_t, 5> kErrors{2 /* ENOENT */, 13 /* EACCES */, 21 /* EISDIR */,
                                                  22 /* EINVAL */, 34 /* ERANGE */};
    require(std::find(kErrors.begin(), kErrors.end(), -answer) != kErrors.end(),
            "errno " + std::to_string(-answer) + " of a write");
}

} // namespace fuzz
