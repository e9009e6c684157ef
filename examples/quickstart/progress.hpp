// SPDX-License-Identifier: Apache-2.0
// How far a job is that moves more than 64 MiB.
#pragma once

#include <cstdint>
#include <cstdio>

#include "neuronbook/neuronbook.hpp"

namespace quickstart {

/// One line on stderr that is rewritten as the bytes of all files together go by. Shows nothing
/// when there are few.
class Progress {
public:
    Progress(const char* what, std::uint64_t total) : what_(what), total_(total) {}
    ~Progress() {
        if (shown_) std::fputc('\n', stderr);
    }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void add(std::uint64_t bytes) {
        namespace nb = neuronbook;
        done_ += bytes;
        if (total_ <= kStep || (done_ < next_ && done_ != total_)) return;
        next_ = done_ + kStep;
        shown_ = true;
        std::fprintf(stderr, "\r%s: %s of %s (%u%%)", what_, nb::human(nb::Bytes{done_}).c_str(),
                     nb::human(nb::Bytes{total_}).c_str(),
                     static_cast<unsigned>(done_ * 100 / total_));
    }

private:
    static constexpr std::uint64_t kStep = std::uint64_t{64} << 20;

    const char* what_;
    std::uint64_t total_;
    std::uint64_t done_ = 0;
    std::uint64_t next_ = kStep;
    bool shown_ = false;
};

} // namespace quickstart
