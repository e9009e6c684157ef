// SPDX-License-Identifier: Apache-2.0
// An input of the fuzzer, read as numbers and as arguments of requests.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "fuzz/arena.hpp"
#include "fuzz/words.hpp"

namespace fuzz {

/// Bytes in order; zeros when there are no more.
class Input {
public:
    explicit Input(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

    [[nodiscard]] bool done() const { return at_ >= bytes_.size(); }
    std::uint8_t byte() { return done() ? 0 : bytes_[at_++]; }
    std::uint64_t raw(std::size_t width) {
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < width; ++i) value |= std::uint64_t{byte()} << 8 * i;
        return value;
    }

    /// A number: small, one the kernel gave, one at an edge, or any.
    std::uint64_t number(std::size_t width, const Arena& arena) {
        constexpr std::array<std::uint64_t, 32> kEdges{0xFFFFFFFFFFFFFFFF,
                                                       0x8000000000000000,
                                                       0x7FFFFFFFFFFFFFFF,
                                                       0xFFFFFFFFFFFFF000,
                                                       0x100000000,
                                                       0xFFFFFFFF,
                                                       0x80000000,
                                                       0x7FFFFFFF,
                                                       0x40000000,
                                                       0x200000,
                                                       0x100000,
                                                       0x80000,
                                                       0x80001,
                                                       0x40000,
                                                       0x10000,
                                                       0x10001,
                                                       0xFFFF,
                                                       0x2000,
                                                       0x2001,
                                                       0x1000,
                                                       0x1001,
                                                       0xFFF,
                                                       0x3C0000000,
                                                       0x600000000,
                                                       0x200,
                                                       0x100,
                                                       0xFF,
                                                       0x80,
                                                       0x40,
                                                       0x1FF,
                                                       0x4000000000,
                                                       0x400000};
        const auto way = byte();
        if (way < 0x40) return way;
        if (way < 0x60) return arena.recent(way);
        if (way < 0x80) return kEdges[way & 31];
        return raw(width);
    }

    /// A handle: mostly one that the kernel gave.
    std::uint64_t handle(const Arena& arena) {
        const auto way = byte();
        if (way < 0x10) return way;
        return way < 0xE0 ? arena.handle(way & 7) : number(8, arena);
    }

    /// An address: of a slot, of an edge, of nothing.
    std::uint64_t pointer(const Arena& arena) {
        constexpr std::array<std::uint64_t, 8> kNowhere{8,
                                                        0xFFF,
                                                        0x1000,
                                                        0x7FFFFFFFF000,
                                                        0x800000000000,
                                                        0x100000000000000,
                                                        0xFFFF888000000000,
                                                        0xFFFFFFFFFFFFFFF8};
        const auto way = byte();
        if (way == 0) return 0;
        if (way < Arena::kSlots) return Arena::kBase + way * Arena::kPage;
        if (way < 0x40) return Arena::kEnd - (way & 31u);
        if (way < 0x60) return Arena::kReadOnly - (way & 31u) * 8;
        if (way < 0x70) return arena.recent(way);
        if (way < 0x80) return kNowhere[way & 7];
        return way < 0xC0 ? Arena::kBase + (way & 63u) * 1021 : raw(8);
    }

private:
    std::span<const std::uint8_t> bytes_;
    std::size_t at_ = 0;
};

/// Whether a request allocates, so that its size costs nothing.
inline bool is_allocation(std::uint32_t word) {
    return (word & 0xFF) == 0x15 || (word & 0xFF) == 0x66;
}

/// An argument of a layout. A plain one costs no input: zeros, small sizes, the newest
/// handle, pointers to slot 4, addresses in slot 8.
inline std::vector<std::byte> argument(const Word& what, bool plain, Input& input,
                                       const Arena& arena) {
    constexpr std::uint64_t kMostMoved = 0x3FFFFF; // what is moved is touched
    std::vector<std::byte> bytes(what.size);
    std::size_t at = 0;
    for (const char* c = what.layout; *c != 0 && *c != '*' && at < bytes.size(); ++c) {
        std::size_t width = 8;
        std::uint64_t value = 0;
        if (*c == '_') {
            width = 1;
        } else if (*c == 'p' || *c == 'a') {
            const std::uint64_t slot = *c == 'p' ? 4 : 8;
            value = plain ? Arena::kBase + slot * Arena::kPage : input.pointer(arena);
        } else if (*c == 'z') {
            width = 2;
            value = plain ? what.size : input.number(width, arena);
            if (value == 1) value = what.size;
        } else if (*c == 's' || *c == 't') {
            width = *c == 's' ? 8 : 4;
            value = plain ? Arena::kPage : input.number(width, arena);
            const bool huge = value > kMostMoved && value < std::uint64_t{1} << 40;
            if (huge && !is_allocation(what.word)) value &= kMostMoved;
        } else if (*c == 'h') {
            value = plain ? arena.handle(0) : input.handle(arena);
        } else {
            width = static_cast<std::size_t>(*c - '0');
            if (!plain) value = input.number(width, arena);
        }
        if (at + width <= bytes.size()) std::memcpy(&bytes[at], &value, width);
        at += width;
    }
    return bytes;
}

} // namespace fuzz
