// SPDX-License-Identifier: Apache-2.0
//
// Open files, and which process holds which descriptors of them.
// Owns: devices and lanes of files, what dup(), fork(), exec() and close() do to descriptors.
// Does not own: attachment (attach_slots.hpp), what a close does to a device (lifecycle.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 2.1, 2.4, 2.5
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// Whether access bits choose the free-access lane.
[[nodiscard]] constexpr bool is_restricted(std::uint32_t access) noexcept {
    return (access & 1u) != 0;
}

/// One open file of a device node.
struct OpenFile {
    std::uint32_t device = 0;
    std::uint32_t access = 0; ///< the two access bits of open(2), 0 to 3
    std::int32_t pid = 0;     ///< who opened it

    /// On the free-access lane, where nobody is attached: write-only, or the odd mode 3.
    [[nodiscard]] bool restricted() const { return is_restricted(access); }
};

/// What exec() does to a descriptor.
enum class OnExec : std::uint8_t { Close, Keep };

/// Files by descriptor. Numbers are never real descriptors of this process and are not reused, so
/// that a use after close is seen; so a number is the same file in every process that holds it.
/// Not thread-safe.
class FileTable {
public:
    static constexpr std::int64_t kFirst = std::int64_t{1} << 20;

    /// Opens a file: the process in it gets the first descriptor.
    std::int64_t add(const OpenFile& file, OnExec on_exec = OnExec::Close) {
        const auto number = next_++;
        files_.emplace(number, Entry{file, 1, {number}});
        names_.emplace(number, Name{number, 1});
        held_.emplace(std::pair{file.pid, number}, on_exec);
        return number;
    }

    [[nodiscard]] const OpenFile* find(std::int64_t number) const {
        const auto name = names_.find(number);
        return name == names_.end() ? nullptr : &files_.at(name->second.first).file;
    }

    /// The same for a process that may have closed its descriptor while others keep theirs.
    [[nodiscard]] const OpenFile* find(std::int32_t pid, std::int64_t number) const {
        return closed_.contains({pid, number}) ? nullptr : find(number);
    }

    [[nodiscard]] bool holds(std::int32_t pid, std::int64_t number) const {
        return held_.contains({pid, number});
    }

    /// One more descriptor of a file in a process. Requires: the number is one.
    std::int64_t duplicate(std::int32_t pid, std::int64_t number, OnExec on_exec) {
        const auto first = names_.at(number).first;
        auto& entry = files_.at(first);
        const auto copy = next_++;
        names_.emplace(copy, Name{first, 1});
        entry.names.push_back(copy);
        ++entry.references;
        held_.emplace(std::pair{pid, copy}, on_exec);
        return copy;
    }

    /// A forked process holds what its parent does, under the same numbers.
    void fork(std::int32_t parent, std::int32_t child) {
        for (const auto number : of(parent)) {
            if (!held_.emplace(std::pair{child, number}, held_.at({parent, number})).second)
                continue;
            auto& name = names_.at(number);
            ++name.holders;
            ++files_.at(name.first).references;
        }
    }

    /// One descriptor of a process is gone. True when it was the file's last; then the number is
    /// good for remove(). Requires: it is held.
    [[nodiscard]] bool drop(std::int32_t pid, std::int64_t number) {
        held_.erase({pid, number});
        auto& name = names_.at(number);
        const bool last = --files_.at(name.first).references == 0;
        if (--name.holders == 0 && !last)
            names_.erase(number);
        else if (!last)
            closed_.insert({pid, number});
        return last;
    }

    /// Forgets a file; the numbers it had. Requires: the number is one of them.
    std::vector<std::int64_t> remove(std::int64_t number) {
        const auto it = files_.find(names_.at(number).first);
        auto names = std::move(it->second.names);
        files_.erase(it);
        for (const auto name : names) names_.erase(name);
        std::erase_if(held_,
                      [this](const auto& entry) { return !names_.contains(entry.first.second); });
        std::erase_if(closed_,
                      [this](const auto& entry) { return !names_.contains(entry.second); });
        return names;
    }

    [[nodiscard]] std::size_t open() const { return files_.size(); }

    /// The descriptors a process holds, in the order in which its end closes them.
    [[nodiscard]] std::vector<std::int64_t> of(std::int32_t pid) const {
        std::vector<std::int64_t> numbers;
        for (auto it = held_.lower_bound({pid, 0}); it != held_.end() && it->first.first == pid;
             ++it)
            numbers.push_back(it->first.second);
        return numbers;
    }

    /// Those that exec() closes.
    [[nodiscard]] std::vector<std::int64_t> closed_by_exec(std::int32_t pid) const {
        auto numbers = of(pid);
        std::erase_if(numbers, [&](std::int64_t number) {
            return held_.at({pid, number}) == OnExec::Keep;
        });
        return numbers;
    }

private:
    struct Entry {
        OpenFile file;
        std::size_t references = 0;      ///< descriptors of all processes
        std::vector<std::int64_t> names; ///< every number it ever had
    };

    struct Name {
        std::int64_t first = 0;  ///< the file's first number, whether or not it is still one
        std::size_t holders = 0; ///< processes
    };

    std::unordered_map<std::int64_t, Entry> files_; ///< by first number
    std::unordered_map<std::int64_t, Name> names_;
    std::map<std::pair<std::int32_t, std::int64_t>, OnExec> held_;
    std::set<std::pair<std::int32_t, std::int64_t>> closed_; ///< by who, while others hold it
    std::int64_t next_ = kFirst;
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
