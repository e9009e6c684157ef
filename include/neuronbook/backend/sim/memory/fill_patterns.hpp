// SPDX-License-Identifier: Apache-2.0
//
// Words that whole memories were filled with, for pages that nobody touched yet.
// Owns: which range holds which word. Does not own: the bytes (device_memory.hpp).
// Layer: backend (simulated kernel).   Source: ours; the hardware just writes it all
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// A page of the file that was never touched is a hole and reads as zero. Filling writes what is
/// not a hole and remembers the word for the holes, so its cost is that of what was in use. A hole
/// that is first touched by a program through a map shows zeros: nobody tells us of it. Not
/// thread-safe.
class FillPatterns {
public:
    [[nodiscard]] bool empty() const { return patterns_.empty(); }

    /// Fills a range, whose `bytes` are mapped, and remembers the word.
    void fill(int file, std::uint64_t address, std::uint64_t size, std::uint32_t word,
              std::byte* bytes) {
        patterns_.push_back({address, size, word});
        for_each_run(file, address, size, Run::Data, [&](std::uint64_t at, std::uint64_t length) {
            write(bytes + (at - address), length, word);
        });
    }

    /// Writes the word into the holes of a range that is about to be touched.
    void settle(int file, std::uint64_t address, std::uint64_t size, std::byte* bytes) const {
        for (const auto& pattern : patterns_) {
            const auto end = std::min(address + size, pattern.base + pattern.size);
            const auto start = std::max(address, pattern.base) & ~(kPage.count() - 1);
            if (start >= end) continue;
            const auto whole = (end - start + kPage.count() - 1) & ~(kPage.count() - 1);
            auto* first = bytes - (address - start);
            for_each_run(file, start, whole, Run::Hole,
                         [&](std::uint64_t at, std::uint64_t length) {
                             write(first + (at - start), length, pattern.word);
                         });
        }
    }

    /// The range is to hold something else.
    void forget(std::uint64_t address, std::uint64_t size) {
        std::erase_if(patterns_, [=](const Pattern& pattern) {
            return pattern.base < address + size && address < pattern.base + pattern.size;
        });
    }

private:
    struct Pattern {
        std::uint64_t base = 0;
        std::uint64_t size = 0;
        std::uint32_t word = 0;
    };
    enum class Run : std::uint8_t { Data, Hole };

    static void write(std::byte* to, std::uint64_t size, std::uint32_t word) {
        for (std::uint64_t done = 0; done < size; done += sizeof word)
            std::memcpy(to + done, &word, sizeof word);
    }

    /// Calls `visit(at, length)` for every run of one kind in a range of whole pages.
    template <class F>
    static void for_each_run(int file, std::uint64_t address, std::uint64_t size, Run kind,
                             F visit) {
        const auto end = address + size;
        const auto seek = [&](std::uint64_t from, int what) {
            const auto at = ::lseek(file, static_cast<std::int64_t>(from), what);
            return at < 0 ? end : std::min(end, static_cast<std::uint64_t>(at));
        };
        const int from = kind == Run::Data ? SEEK_DATA : SEEK_HOLE;
        const int to = kind == Run::Data ? SEEK_HOLE : SEEK_DATA;
        for (auto at = seek(address, from); at < end;) {
            const auto stop = seek(at, to);
            visit(at, stop - at);
            if (stop >= end) return;
            at = seek(stop, from);
        }
    }

    std::vector<Pattern> patterns_;
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
