// SPDX-License-Identifier: Apache-2.0
//
// Which sizes of free ranges there are: two levels of classes, found by two bit scans.
// Owns: the class of a size, the first range of each class. Does not own: ranges (fit_nodes.hpp).
// Layer: dmem.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// Every power of two is cut into 32 classes, so a class spans at most 1/32 of its sizes. Below 32
/// granules each size is a class of its own.
class FreeClasses {
public:
    static constexpr std::uint32_t kNil = ~std::uint32_t{0};
    static constexpr unsigned kGranuleShift = 9;
    /// Sizes end below 2^48.
    static constexpr unsigned kClasses = (48 - kGranuleShift - 5 + 1) * 32;

    FreeClasses() noexcept { heads_.fill(kNil); }

    /// The class that holds a size. No branch: sizes are random, and so a branch would be missed.
    [[nodiscard]] static constexpr unsigned of(std::uint64_t size) noexcept {
        const std::uint64_t granules = size >> kGranuleShift;
        const auto shift = static_cast<unsigned>(std::bit_width(granules | 32) - 6);
        return shift * 32 + static_cast<unsigned>(granules >> shift);
    }

    [[nodiscard]] std::uint32_t head(unsigned index) const noexcept { return heads_[index]; }
    void set_head(unsigned index, std::uint32_t node) noexcept { heads_[index] = node; }

    void mark(unsigned index) noexcept {
        words_[index / 64] |= std::uint64_t{1} << index % 64;
        summary_ |= std::uint32_t{1} << index / 64;
    }
    void unmark(unsigned index) noexcept {
        words_[index / 64] &= ~(std::uint64_t{1} << index % 64);
        if (words_[index / 64] == 0) summary_ &= ~(std::uint32_t{1} << index / 64);
    }

    /// The lowest class with a range in it from `index` on; kClasses where there is none.
    [[nodiscard]] unsigned next(unsigned index) const noexcept {
        if (index >= kClasses) return kClasses;
        const unsigned word = index / 64;
        if (const std::uint64_t here = words_[word] & (~std::uint64_t{0} << index % 64); here != 0)
            return word * 64 + static_cast<unsigned>(std::countr_zero(here));
        const std::uint32_t above = summary_ & (~std::uint32_t{1} << word);
        if (above == 0) return kClasses;
        const auto first = static_cast<unsigned>(std::countr_zero(above));
        return first * 64 + static_cast<unsigned>(std::countr_zero(words_[first]));
    }
    /// The highest class with a range in it; kClasses where there is none.
    [[nodiscard]] unsigned highest() const noexcept {
        if (summary_ == 0) return kClasses;
        const auto last = static_cast<unsigned>(std::bit_width(summary_) - 1);
        return last * 64 + static_cast<unsigned>(std::bit_width(words_[last]) - 1);
    }

private:
    static constexpr unsigned kWords = (kClasses + 63) / 64;
    static_assert(kWords < 32, "the summary is one word");

    std::uint32_t summary_ = 0;
    std::array<std::uint64_t, kWords> words_{};
    std::array<std::uint32_t, kClasses> heads_;
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
