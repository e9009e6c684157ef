// SPDX-License-Identifier: Apache-2.0
// A job on a simulated kernel, which can say afterwards whether anything was left behind.
#pragma once

#include <cstdio>
#include <string>

#include "neuronbook/neuronbook.hpp"

namespace quickstart {

namespace nb = neuronbook;

/// What `after` has and `before` had not, in words; empty when they are the same.
inline std::string difference(const nb::Census& before, const nb::Census& after) {
    if (after == before) return {};
    std::string text;
    const auto add = [&text](auto was, auto is, const char* what) {
        if (is == was) return;
        const auto more = static_cast<long long>(is) - static_cast<long long>(was);
        text += (text.empty() ? "" : ", ") + std::to_string(more) + " " + what;
    };
    const auto count = [](const nb::Census& census, auto member) {
        std::size_t sum = 0;
        for (const auto& device : census.devices) sum += device.*member;
        return sum;
    };
    add(before.user_memory().chunks, after.user_memory().chunks, "chunks");
    add(before.user_memory().bytes, after.user_memory().bytes, "bytes");
    add(count(before, &nb::DeviceCensus::handles), count(after, &nb::DeviceCensus::handles),
        "handles");
    add(count(before, &nb::DeviceCensus::attached), count(after, &nb::DeviceCensus::attached),
        "attached processes");
    add(before.marks, after.marks, "core marks");
    add(before.open_files, after.open_files, "open files");
    return text.empty() ? "memory in another place" : text;
}

/// Runs `job(port)` and returns its exit status; 1 and a line when the kernel is not as it was.
template <class Job>
int on_simulated(nb::SimKernel& kernel, Job job) {
    const auto before = kernel.census();
    const int status = job(nb::AnyPort(nb::SimPort(kernel)));
    const auto rest = difference(before, kernel.census());
    if (rest.empty()) return status;
    std::fprintf(stderr, "left behind: %s\n", rest.c_str());
    return 1;
}

} // namespace quickstart
