// SPDX-License-Identifier: Apache-2.0
//
// From a byte of a segment to the range it lies in.
// Owns: for each MiB the first range that begins there. Does not own: ranges (fit_nodes.hpp).
// Layer: dmem.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// A look-up costs a bit scan where ranges are large, a walk over the ranges of one MiB where they
/// are small; keeping it costs a few instructions when a range is cut or joined. Four bytes a MiB.
class RangeStarts {
public:
    static constexpr std::uint32_t kNil = ~std::uint32_t{0};
    static constexpr unsigned kShift = 20;

    /// For `size` bytes. std::bad_alloc passes through.
    explicit RangeStarts(std::uint64_t size)
        : first_((size + (1u << kShift) - 1) >> kShift, kNil), words_((first_.size() + 63) / 64, 0),
          summary_((words_.size() + 63) / 64, 0) {}

    /// Whether two starts are in the same MiB.
    [[nodiscard]] static constexpr bool together(std::uint64_t a, std::uint64_t b) noexcept {
        return ((a ^ b) >> kShift) == 0;
    }

    /// Effects: the first range of that MiB is `node` now.
    void put(std::uint64_t start, std::uint32_t node) noexcept {
        const std::size_t i = start >> kShift;
        first_[i] = node;
        std::uint64_t& word = words_[i / 64];
        if (word == 0) summary_[i / 4096] |= std::uint64_t{1} << i / 64 % 64;
        word |= std::uint64_t{1} << i % 64;
    }
    /// Effects: no range begins in that MiB any more.
    void clear(std::uint64_t start) noexcept {
        const std::size_t i = start >> kShift;
        first_[i] = kNil;
        words_[i / 64] &= ~(std::uint64_t{1} << i % 64);
        if (words_[i / 64] == 0) summary_[i / 4096] &= ~(std::uint64_t{1} << i / 64 % 64);
    }

    /// The first range of the MiB that an offset is in; kNil where none begins there.
    [[nodiscard]] std::uint32_t first(std::uint64_t offset) const noexcept {
        return first_[offset >> kShift];
    }
    /// The first range of the last MiB before the offset's in which one begins; kNil where there
    /// is none.
    [[nodiscard]] std::uint32_t first_before(std::uint64_t offset) const noexcept {
        const std::size_t i = offset >> kShift;
        if (const auto here = words_[i / 64] & below(i % 64); here != 0)
            return first_[i / 64 * 64 + last(here)];
        std::size_t word = i / 64;
        std::size_t group = word / 64;
        auto there = summary_[group] & below(word % 64);
        while (there == 0) {
            if (group == 0) return kNil;
            there = summary_[--group];
        }
        word = group * 64 + last(there);
        return first_[word * 64 + last(words_[word])];
    }

private:
    static constexpr std::uint64_t below(std::size_t bit) noexcept {
        return (std::uint64_t{1} << bit) - 1;
    }
    static std::size_t last(std::uint64_t word) noexcept {
        return static_cast<std::size_t>(std::bit_width(word)) - 1;
    }

    std::vector<std::uint32_t> first_;
    std::vector<std::uint64_t> words_;   ///< a bit for each MiB in which a range begins
    std::vector<std::uint64_t> summary_; ///< a bit for each word that is not 0
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
