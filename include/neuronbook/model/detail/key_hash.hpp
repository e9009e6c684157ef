// SPDX-License-Identifier: Apache-2.0
//
// Hashes of the descriptor-count cache's keys.
// Owns: mixing. Does not own: tables, comparison.
// Layer: model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// Both halves of a 128-bit product in one word: every bit of it hangs on every bit of both. One
/// multiplication; NodeKey's mixer takes two for each word, one after the other.
[[nodiscard]] inline std::uint64_t folded(std::uint64_t a, std::uint64_t b) noexcept {
    __extension__ typedef unsigned __int128 Wide; // NOLINT(modernize-use-using)
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Odd, with about as many ones as zeros: the golden ratio's and the square root of three's digits.
inline constexpr std::uint64_t kFoldA = 0x9e3779b97f4a7c15u;
inline constexpr std::uint64_t kFoldB = 0xbb67ae8584caa73bu;

[[nodiscard]] inline std::uint32_t hash_of(std::uint32_t function, std::uint32_t block) noexcept {
    const std::uint64_t key = static_cast<std::uint64_t>(function) << 32 | block;
    return static_cast<std::uint32_t>(folded(key + kFoldB, kFoldA));
}

/// Sixteen bytes a step. What is left is read in two words that may overlap, or lie in what was
/// read before: copying a number of bytes that is not known takes longer than all of this.
[[nodiscard]] inline std::uint32_t hash_of(std::string_view name) noexcept {
    const auto word = [](const char* from) {
        std::uint64_t value;
        std::memcpy(&value, from, sizeof value);
        return value;
    };
    const auto half = [](const char* from) {
        std::uint32_t value;
        std::memcpy(&value, from, sizeof value);
        return static_cast<std::uint64_t>(value);
    };
    const char* at = name.data();
    const char* const end = at + name.size();
    std::uint64_t state = name.size() ^ kFoldA;
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    if (name.size() >= 16) {
        for (; end - at > 16; at += 16) state = folded(word(at) ^ kFoldB, word(at + 8) ^ state);
        first = word(end - 16);
        last = word(end - 8);
    } else if (name.size() >= 8) {
        first = word(at);
        last = word(end - 8);
    } else if (name.size() >= 4) {
        first = half(at);
        last = half(end - 4);
    } else {
        for (; at != end; ++at) first = first << 8 | static_cast<unsigned char>(*at);
    }
    return static_cast<std::uint32_t>(folded(first ^ kFoldB, last ^ state));
}

} // namespace detail
} // namespace v0
} // namespace neuronbook
