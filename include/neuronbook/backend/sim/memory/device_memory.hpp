// SPDX-License-Identifier: Apache-2.0
//
// The bytes of one device: a sparse file whose offsets are physical addresses.
// Owns: the file and this process's windows on it. Does not own: what is allocated (pool.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 9, 10
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "neuronbook/backend/sim/memory/fill_patterns.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// A range of physical addresses that is mapped as a whole.
struct Window {
    std::uint64_t base = 0;
    std::uint64_t size = 0;
    std::byte* address = nullptr; ///< null until touched
};

/// Memory that costs only what is touched: nothing is reserved, and a window is mapped when it is
/// first used, then stays. The file can be mapped by others too; that is how a chunk reaches a
/// program. Not thread-safe; moving is allowed, copying is not.
class DeviceMemory {
public:
    DeviceMemory() = default;
    DeviceMemory(DeviceMemory&& other) noexcept
        : file_(std::exchange(other.file_, -1)), windows_(std::move(other.windows_)),
          patterns_(std::move(other.patterns_)) {}
    DeviceMemory& operator=(DeviceMemory&& other) noexcept {
        std::swap(file_, other.file_);
        windows_.swap(other.windows_);
        std::swap(patterns_, other.patterns_);
        return *this;
    }
    ~DeviceMemory() {
        for (const auto& window : windows_)
            if (window.address != nullptr) ::munmap(window.address, window.size);
        if (file_ >= 0) ::close(file_);
    }

    /// Declares a range. Call before the first use.
    void add(std::uint64_t base, std::uint64_t size) {
        if (size != 0) windows_.push_back({base, size, nullptr});
    }

    /// The bytes of [address, address + size), or null when that is not in one declared range or
    /// the host has no room to map it.
    [[nodiscard]] std::byte* at(std::uint64_t address, std::uint64_t size) {
        auto* bytes = unsettled(address, size);
        if (bytes != nullptr && !patterns_.empty()) patterns_.settle(file_, address, size, bytes);
        return bytes;
    }

    /// The same, but what the range was filled with may not be there yet: settle() it before it is
    /// touched.
    [[nodiscard]] std::byte* unsettled(std::uint64_t address, std::uint64_t size) {
        for (auto& window : windows_) {
            if (address < window.base || address - window.base >= window.size) continue;
            if (size > window.size - (address - window.base)) return nullptr;
            if (window.address == nullptr && !map(window)) return nullptr;
            return window.address + (address - window.base);
        }
        return nullptr;
    }

    /// Makes a range zero, at no cost of memory. Whole pages.
    void clear(std::uint64_t address, std::uint64_t size) {
        if (file_ >= 0)
            (void)::fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                              static_cast<std::int64_t>(address), static_cast<std::int64_t>(size));
    }

    /// Fills a range of a window with a word, over and over. Pages that were never touched cost
    /// nothing: they get it when a request touches them. Whole pages.
    void fill(std::uint64_t address, std::uint64_t size, std::uint32_t word) {
        if (file() < 0) return;
        patterns_.forget(address, size);
        if (word == 0) return clear(address, size);
        if (auto* bytes = at(address, size)) patterns_.fill(file_, address, size, word, bytes);
    }

    /// What a map of a range shows from now on: as much of it as is reasonable is there at once.
    void settle(std::uint64_t address, std::uint64_t size) {
        constexpr std::uint64_t kMost = std::uint64_t{64} << 20;
        if (!patterns_.empty()) (void)at(address, size < kMost ? size : kMost);
    }

    /// The file, made at first use; -1 when the host has none to give.
    [[nodiscard]] int file() {
        if (file_ < 0) {
            file_ = ::memfd_create("neuronbook-sim", MFD_CLOEXEC);
            // beyond every address, so that no offset a map may name is past the end
            if (file_ >= 0 && ::ftruncate(file_, std::int64_t{1} << 52) != 0) {
                ::close(file_);
                file_ = -1;
            }
        }
        return file_;
    }

private:
    bool map(Window& window) {
        if (file() < 0) return false;
        void* address =
            ::mmap(nullptr, window.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_,
                   static_cast<std::int64_t>(window.base));
        if (address == MAP_FAILED) return false;
        window.address = static_cast<std::byte*>(address);
        return true;
    }

    int file_ = -1;
    std::vector<Window> windows_;
    FillPatterns patterns_;
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
