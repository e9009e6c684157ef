// SPDX-License-Identifier: Apache-2.0
//
// Open files: what a descriptor of any process refers to.
// Owns: which device and lane a file is on. Does not own: attachment (attach_slots.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 2.1
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// One open file of a device node.
struct OpenFile {
    std::uint32_t device = 0;
    std::uint32_t access = 0; ///< the two access bits of open(2), 0 to 3
    std::int32_t pid = 0;     ///< who opened it

    /// On the free-access lane, where nobody is attached: write-only, or the odd mode 3.
    [[nodiscard]] bool restricted() const { return (access & 1u) != 0; }
};

/// Files by number. Numbers are never real descriptors of this process and are not reused, so that
/// a use after close is seen. Not thread-safe.
class FileTable {
public:
    static constexpr std::int64_t kFirst = std::int64_t{1} << 20;

    std::int64_t add(const OpenFile& file) {
        files_.emplace(next_, file);
        return next_++;
    }

    [[nodiscard]] const OpenFile* find(std::int64_t number) const {
        const auto it = files_.find(number);
        return it == files_.end() ? nullptr : &it->second;
    }

    void remove(std::int64_t number) { files_.erase(number); }

    [[nodiscard]] std::size_t open() const { return files_.size(); }

    /// The files a process opened.
    [[nodiscard]] std::vector<std::int64_t> of(std::int32_t pid) const {
        std::vector<std::int64_t> numbers;
        for (const auto& [number, file] : files_)
            if (file.pid == pid) numbers.push_back(number);
        return numbers;
    }

private:
    std::unordered_map<std::int64_t, OpenFile> files_;
    std::int64_t next_ = kFirst;
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
