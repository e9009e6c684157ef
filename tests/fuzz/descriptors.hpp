// SPDX-License-Identifier: Apache-2.0
// Which process of a run holds which descriptors: what the kernel is compared with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace fuzz {

/// A descriptor in one process. Those of one file have its first number in common.
struct Descriptor {
    std::int64_t number = 0;
    std::int32_t holder = 0;
    std::int64_t file = 0;
    bool restricted = false;
    bool kept = false; ///< by exec()
};

/// In the order in which they were made.
class Descriptors {
public:
    [[nodiscard]] bool empty() const { return all_.empty(); }
    [[nodiscard]] std::size_t size() const { return all_.size(); }
    const Descriptor& operator[](std::size_t which) const { return all_[which]; }
    [[nodiscard]] std::size_t files() const {
        std::set<std::int64_t> files;
        for (const auto& one : all_) files.insert(one.file);
        return files.size();
    }

    [[nodiscard]] const Descriptor* find(std::int32_t holder, std::int64_t number) const {
        for (const auto& one : all_)
            if (one.holder == holder && one.number == number) return &one;
        return nullptr;
    }
    [[nodiscard]] bool is_only_one(const Descriptor& which) const {
        return std::count_if(all_.begin(), all_.end(),
                             [&](const Descriptor& one) { return one.file == which.file; }) == 1;
    }
    [[nodiscard]] std::size_t held_by(std::int32_t holder) const {
        return static_cast<std::size_t>(std::count_if(
            all_.begin(), all_.end(), [&](const Descriptor& one) { return one.holder == holder; }));
    }
    /// Whether the end of a process is a close of the lane that marks are made on.
    [[nodiscard]] bool on_restricted_lane(std::int32_t holder) const {
        return std::any_of(all_.begin(), all_.end(), [&](const Descriptor& one) {
            return one.holder == holder && one.restricted;
        });
    }

    void add(const Descriptor& one) { all_.push_back(one); }
    void fork(std::int32_t parent, std::int32_t child) {
        const auto before = all_;
        for (auto one : before) {
            if (one.holder != parent || find(child, one.number) != nullptr) continue;
            one.holder = child;
            all_.push_back(one);
        }
    }
    void exec(std::int32_t holder) {
        std::erase_if(all_,
                      [&](const Descriptor& one) { return one.holder == holder && !one.kept; });
    }
    void end(std::int32_t holder) {
        std::erase_if(all_, [&](const Descriptor& one) { return one.holder == holder; });
    }
    void close(std::int32_t holder, std::int64_t number) {
        std::erase_if(all_, [&](const Descriptor& one) {
            return one.holder == holder && one.number == number;
        });
    }

private:
    std::vector<Descriptor> all_;
};

} // namespace fuzz
