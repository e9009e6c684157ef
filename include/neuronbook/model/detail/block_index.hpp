// SPDX-License-Identifier: Apache-2.0
//
// From function and block to the number of their entry.
// Owns: the way there. Does not own: the entries (descriptor_pages.hpp).
// Layer: model.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "neuronbook/model/detail/descriptor_pages.hpp"
#include "neuronbook/model/detail/key_hash.hpp"
#include "neuronbook/model/detail/number_index.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// Blocks of a function are numbered from 0 as a rule, so its low blocks stand in an array, as long
/// as about half of it is used; one load finds them. All others go by a hash. At most 16 bytes an
/// entry for either.
class BlockIndex {
public:
    explicit BlockIndex(std::uint32_t planned) noexcept : planned_(planned) {}

    /// The entry's number, or kNoNumber.
    [[nodiscard]] std::uint32_t find(const DescriptorPages& entries,
                                     const DescriptorKey& key) const noexcept {
        if (key.function < columns_.size()) [[likely]] {
            const Column& column = columns_[key.function];
            if (key.block < column.size) return column.plus_one[key.block] - 1;
        }
        return find_far(entries, key);
    }

    /// Effects: room for one more entry, with that key. std::bad_alloc passes through; whatever is
    /// found by then is found afterwards too.
    void make_room(const DescriptorPages& entries, const DescriptorKey& key) {
        if (key.function >= columns_.size()) columns_.resize(key.function + std::size_t{1});
        Column& column = columns_[key.function];
        if (key.block < column.size) return;
        const std::uint64_t reach = std::uint64_t{2} * column.used + kAlwaysNear;
        if (key.block < reach && key.block < kNearMost) return widen(entries, key);
        far_.reserve(far_.size() == 0 ? std::max<std::size_t>(planned_, 1) : far_.size() + 1);
    }
    /// Requires: make_room() for this key.
    void insert(const DescriptorKey& key, std::uint32_t number) noexcept {
        Column& column = columns_[key.function];
        ++column.used;
        if (key.block < column.size)
            column.plus_one[key.block] = number + 1;
        else
            far_.insert(hash_of(key.function, key.block), number);
    }

private:
    static constexpr std::uint32_t kAlwaysNear = 16;
    static constexpr std::uint32_t kNearMost = 1u << 31;

    /// The blocks of one function.
    struct Column {
        std::unique_ptr<std::uint32_t[]> plus_one; ///< by block: its entry's number plus one, or 0
        std::uint32_t size = 0;                    ///< of that array
        std::uint32_t used = 0;                    ///< entries of the function, wherever found
    };

    [[nodiscard]] std::uint32_t find_far(const DescriptorPages& entries,
                                         const DescriptorKey& key) const noexcept {
        return far_.find(hash_of(key.function, key.block),
                         [&](std::uint32_t number) { return entries.key(number) == key; });
    }

    /// A longer array; what it reaches now is no longer far.
    void widen(const DescriptorPages& entries, const DescriptorKey& key) {
        Column& column = columns_[key.function];
        const auto size = std::max(4u, std::bit_ceil(key.block + 1));
        auto plus_one = std::make_unique<std::uint32_t[]>(size);
        std::copy_n(column.plus_one.get(), column.size, plus_one.get());
        for (std::uint32_t block = column.size; block < size && far_.size() != 0; ++block) {
            const std::uint32_t number = find_far(entries, {key.function, block});
            if (number == kNoNumber) continue;
            far_.erase(hash_of(key.function, block), number);
            plus_one[block] = number + 1;
        }
        column.plus_one = std::move(plus_one);
        column.size = size;
    }

    std::vector<Column> columns_; ///< by function
    NumberIndex far_;
    std::uint32_t planned_;
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
