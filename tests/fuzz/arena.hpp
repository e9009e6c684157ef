// SPDX-License-Identifier: Apache-2.0
// The memory of a process that does not exist: a few pages, and nothing else.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "neuronbook/backend/sim/user_memory.hpp"

namespace fuzz {

/// Writable pages, then one that can only be read, then nothing. What the kernel writes is looked
/// through for values worth giving back to it: handles, addresses.
class Arena final : public neuronbook::UserMemory {
public:
    static constexpr std::uint64_t kPage = 4096;
    static constexpr std::uint64_t kBase = 0x1000'0000;
    static constexpr std::uint64_t kSlots = 24;
    static constexpr std::uint64_t kReadOnly = kBase + kSlots * kPage;
    static constexpr std::uint64_t kEnd = kReadOnly + kPage;

    std::size_t read(void* to, std::uint64_t from, std::size_t size) override {
        const auto most = within(from, size, kEnd);
        if (most != 0) std::memcpy(to, &bytes_[from - kBase], most);
        return most;
    }

    std::size_t write(std::uint64_t to, const void* from, std::size_t size) override {
        const auto most = within(to, size, kReadOnly);
        if (most != 0) std::memcpy(&bytes_[to - kBase], from, most);
        if (most == size && size == 8) handles_[next_handle_++ % handles_.size()] = word(from);
        for (std::size_t at = 0; at + 8 <= std::min<std::size_t>(most, 64); at += 8)
            remember(word(static_cast<const char*>(from) + at));
        return most;
    }

    /// Fills pages of the process, read-only ones too; what lies outside is cut off.
    void put(std::uint64_t to, const std::vector<std::byte>& what) {
        const auto most = within(to, what.size(), kEnd);
        if (most != 0) std::memcpy(&bytes_[to - kBase], what.data(), most);
    }

    /// Nobody reads what is exported; there are so many numbers for it.
    std::int64_t install_descriptor(int, std::uint64_t, std::uint64_t) override {
        constexpr std::int64_t kMost = 32;
        return exported_ < kMost ? 64 + exported_++ : -EMFILE;
    }

    void remember(std::uint64_t value) {
        if (value == 0 || std::find(recent_.begin(), recent_.end(), value) != recent_.end()) return;
        recent_[next_++ % recent_.size()] = value;
    }

    /// What the kernel wrote alone, as it writes a handle; 0: the newest.
    [[nodiscard]] std::uint64_t handle(std::size_t age) const {
        return handles_[(next_handle_ + handles_.size() - 1 - age % handles_.size()) %
                        handles_.size()];
    }

    [[nodiscard]] std::uint64_t recent(std::size_t which) const {
        return recent_[which % recent_.size()];
    }

private:
    static std::size_t within(std::uint64_t address, std::size_t size, std::uint64_t end) {
        if (address < kBase || address >= end) return 0;
        return std::min<std::uint64_t>(size, end - address);
    }

    static std::uint64_t word(const void* from) {
        std::uint64_t value = 0;
        std::memcpy(&value, from, sizeof value);
        return value;
    }

    std::vector<std::byte> bytes_ = std::vector<std::byte>(kEnd - kBase);
    std::array<std::uint64_t, 16> recent_{1, 2, 3};
    std::size_t next_ = 3;
    std::array<std::uint64_t, 8> handles_{};
    std::size_t next_handle_ = 0;
    std::int64_t exported_ = 0;
};

} // namespace fuzz
