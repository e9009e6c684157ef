// SPDX-License-Identifier: Apache-2.0
//
// Keys of a node table: a number, a name, or raw bytes.
// Owns: comparison and hash. Does not own: the bytes of a name.
// Layer: base.   libnrt: ht_node_t (key, key_type, buf_size). Source: tables.md 9
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace neuronbook {
inline namespace v0 {

/// A key of one of three kinds; keys of different kinds are never equal. Names and bytes are not
/// copied: they belong to whoever made the key, and must stay and not change while a node with that
/// key is in a table. Made from what it looks like: `find(7u)`, `find("weights")`, `find(bytes)`.
class NodeKey {
public:
    enum class Kind : std::uint8_t { Integer, Name, Bytes };

    constexpr NodeKey() noexcept = default;
    template <std::integral I>
        requires(!std::same_as<I, bool>)
    constexpr NodeKey(I number) noexcept // NOLINT: a number is a key
        : number_(static_cast<std::uint64_t>(number)) {}
    NodeKey(std::string_view name) noexcept // NOLINT: a name is a key
        : data_(name.data()), number_(name.size()), kind_(Kind::Name) {}
    NodeKey(const char* name) noexcept : NodeKey(std::string_view(name)) {} // NOLINT: likewise
    NodeKey(std::span<const std::byte> bytes) noexcept                      // NOLINT: likewise
        : data_(bytes.data()), number_(bytes.size()), kind_(Kind::Bytes) {}

    [[nodiscard]] constexpr Kind kind() const noexcept { return kind_; }
    /// Requires: kind() is Integer.
    [[nodiscard]] constexpr std::uint64_t integer() const noexcept { return number_; }
    /// Requires: kind() is Name.
    [[nodiscard]] std::string_view name() const noexcept {
        return {static_cast<const char*>(data_), static_cast<std::size_t>(number_)};
    }
    /// Requires: kind() is Bytes.
    [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
        return {static_cast<const std::byte*>(data_), static_cast<std::size_t>(number_)};
    }

    friend bool operator==(const NodeKey& a, const NodeKey& b) noexcept {
        if (a.kind_ != b.kind_ || a.number_ != b.number_) return false;
        return a.kind_ == Kind::Integer || a.number_ == 0 ||
               std::memcmp(a.data_, b.data_, static_cast<std::size_t>(a.number_)) == 0;
    }

    /// Mixed so that the low bits, which pick the bucket, depend on every bit of the key.
    [[nodiscard]] std::uint64_t hash() const noexcept {
        std::uint64_t state = mixed(number_ + static_cast<std::uint64_t>(kind_));
        if (kind_ == Kind::Integer) return state;
        const auto* at = static_cast<const char*>(data_);
        std::uint64_t left = number_;
        for (; left >= sizeof state; left -= sizeof state, at += sizeof state)
            state = mixed(state ^ word(at, sizeof state));
        return left == 0 ? state : mixed(state ^ word(at, static_cast<std::size_t>(left)));
    }

private:
    static std::uint64_t word(const char* from, std::size_t size) noexcept {
        std::uint64_t value = 0;
        std::memcpy(&value, from, size);
        return value;
    }
    /// The finisher of splitmix64 (Steele, Lea, Flood 2014).
    static constexpr std::uint64_t mixed(std::uint64_t z) noexcept {
        z += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }

    const void* data_ = nullptr;
    std::uint64_t number_ = 0; ///< the integer, or the length
    Kind kind_ = Kind::Integer;
};

} // namespace v0
} // namespace neuronbook
