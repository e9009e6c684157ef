// SPDX-License-Identifier: Apache-2.0
//
// A short text that says what a block of memory is for.
// Owns: a copy of the text. Does not own: the caller's.
// Layer: dmem.   libnrt: hint. Source: tables.md 6, 8 and 22
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace neuronbook {
inline namespace v0 {

/// Text of at most 47 characters; a longer one is cut and ends in "...". Copied and compared like a
/// number: no pointer inside, so it outlives the block it was given for, and 48 bytes large.
///
/// libnrt: hint
/// Differs: the original keeps the caller's pointer, which dangles in its event ring.
class Hint {
public:
    static constexpr std::size_t kCapacity = 47;

    constexpr Hint() noexcept = default;
    constexpr Hint(std::string_view text) noexcept {
        assign(text);
    } // NOLINT: a text is what it holds
    /// A null pointer is an empty text.
    constexpr Hint(const char* text) noexcept // NOLINT: as above
        : Hint(text ? std::string_view(text) : std::string_view()) {}

    /// Effects: another text, written in place.
    constexpr void assign(std::string_view text) noexcept {
        const bool cut = text.size() > kCapacity;
        const std::size_t size = cut ? kCapacity : text.size();
        chars_ = {};
        if (std::is_constant_evaluated())
            for (std::size_t i = 0; i < size; ++i) chars_[i] = text[i];
        else
            copy(chars_.data(), text.data(), size);
        size_ = static_cast<std::uint8_t>(size);
        if (cut)
            for (std::size_t i = 1; i <= 3; ++i) chars_[kCapacity - i] = '.';
    }

    /// Valid as long as this object.
    [[nodiscard]] constexpr std::string_view view() const noexcept {
        return {chars_.data(), size_};
    }
    [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
    friend constexpr bool operator==(const Hint&, const Hint&) noexcept = default;

private:
    /// In pieces that never overlap: who reads the text at once gets each of them from the store
    /// buffer, where the overlapping ones of memcpy would have to reach the cache first.
    static void copy(char* to, const char* from, std::size_t size) noexcept {
        for (; size >= 16; size -= 16, to += 16, from += 16) std::memcpy(to, from, 16);
        if (size >= 8) {
            std::memcpy(to, from, 8);
            to += 8;
            from += 8;
        }
        for (size &= 7; size != 0; --size) *to++ = *from++;
    }

    std::array<char, kCapacity> chars_{};
    std::uint8_t size_ = 0;
};

static_assert(std::is_trivially_copyable_v<Hint> && sizeof(Hint) == 48);

} // namespace v0
} // namespace neuronbook
