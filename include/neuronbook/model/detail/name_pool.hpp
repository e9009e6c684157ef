// SPDX-License-Identifier: Apache-2.0
//
// Names, each kept once and known by its number.
// Owns: the characters. Does not own: what a name stands for.
// Layer: model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "neuronbook/base/result.hpp"
#include "neuronbook/model/detail/key_hash.hpp"
#include "neuronbook/model/detail/number_index.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// Bytes of a name in a key of the original (tables.md 14).
inline constexpr std::size_t kNameMost = 256;

/// A name as the original sees it: up to its first NUL. Not inline: where a name is a literal, g++
/// 12 at -O3 warns of reads behind its end that are never made.
[[nodiscard, gnu::noinline]] inline std::string_view as_name(std::string_view text) noexcept {
    return text.substr(0, text.find('\0'));
}

/// Errors: INVALID with NameTooLong (value: its bytes, limit: 256, text: how it begins).
[[nodiscard]] inline Result<void> check_name(std::string_view name) {
    if (name.size() <= kNameMost) return {};
    return fail({.status = Status::Invalid,
                 .operation = Operation::CountDescriptors,
                 .detail = Detail::NameTooLong,
                 .value = name.size(),
                 .limit = kNameMost,
                 .text = name});
}

/// Numbered from 0, in the order in which they came. Names stay where they are.
class NamePool {
public:
    /// The number of a name, or kNoNumber.
    [[nodiscard]] std::uint32_t find(std::string_view name) const noexcept {
        return find(name, hash_of(name));
    }

    /// The number of a name, which joins if it is new. std::bad_alloc passes through, nothing
    /// changed then.
    std::uint32_t intern(std::string_view name) {
        const std::uint32_t hash = hash_of(name);
        if (const auto known = find(name, hash); known != kNoNumber) return known;
        auto chars = std::make_unique<char[]>(name.size());
        if (!name.empty()) std::memcpy(chars.get(), name.data(), name.size());
        index_.reserve(names_.size() + 1);
        names_.push_back({std::move(chars), name.size()});
        const auto number = static_cast<std::uint32_t>(names_.size() - 1);
        index_.insert(hash, number);
        return number;
    }
    /// Requires: number < size().
    [[nodiscard]] std::string_view name(std::uint32_t number) const noexcept {
        return {names_[number].chars.get(), names_[number].size};
    }
    [[nodiscard]] std::size_t size() const noexcept { return names_.size(); }

private:
    struct Name {
        std::unique_ptr<char[]> chars;
        std::size_t size;
    };

    [[nodiscard]] std::uint32_t find(std::string_view wanted, std::uint32_t hash) const noexcept {
        return index_.find(hash, [&](std::uint32_t number) { return name(number) == wanted; });
    }

    std::vector<Name> names_;
    NumberIndex index_;
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
