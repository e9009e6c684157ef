// SPDX-License-Identifier: Apache-2.0
//
// The entries of a descriptor table, by their numbers.
// Owns: counters and keys. Does not own: finding an entry by its key.
// Layer: model.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "neuronbook/model/descriptor_counts.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// Function and block as one entry has them. libnrt: dbtc_hash_key_t
struct DescriptorKey {
    std::uint32_t function = 0; ///< the number of its name
    std::uint32_t block = 0;

    friend bool operator==(const DescriptorKey&, const DescriptorKey&) noexcept = default;
};

/// Entries in pages that never move: growing copies nothing, and 1 000 000 entries take 200 bytes
/// each, where an array that doubles takes up to twice that. Counters begin with a cache line, keys
/// stand apart from them, so that adding touches three lines.
class DescriptorPages {
public:
    /// A page holds as many entries as are planned, within 16 and 256.
    explicit DescriptorPages(std::uint32_t planned) noexcept
        : shift_(static_cast<std::uint32_t>(
              std::countr_zero(std::bit_ceil(planned < 16    ? 16u
                                             : planned > 256 ? 256u
                                                             : planned)))) {}

    /// Requires: number < size().
    [[nodiscard]] DescriptorCounts& counts(std::uint32_t number) noexcept {
        return counts_of(pages_[number >> shift_])[number & mask()];
    }
    [[nodiscard]] const DescriptorCounts& counts(std::uint32_t number) const noexcept {
        return counts_of(pages_[number >> shift_])[number & mask()];
    }
    [[nodiscard]] const DescriptorKey& key(std::uint32_t number) const noexcept {
        return keys_of(pages_[number >> shift_])[number & mask()];
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

    /// Effects: room for one more entry. std::bad_alloc passes through, nothing changed then.
    void make_room() {
        if (size_ < pages_.size() << shift_) return;
        const std::size_t lines = (sizeof(DescriptorCounts) + sizeof(DescriptorKey)) << shift_;
        pages_.push_back(std::make_unique_for_overwrite<Line[]>(lines / sizeof(Line)));
    }
    /// Requires: make_room(). Returns: the entry's number, one more than that of the last. Numbers
    /// end at 2^32 - 2, which is 800 GB.
    std::uint32_t append(const DescriptorKey& key, const DescriptorCounts& counts) noexcept {
        const Page& page = pages_[size_ >> shift_];
        new (counts_of(page) + (size_ & mask())) DescriptorCounts(counts);
        new (keys_of(page) + (size_ & mask())) DescriptorKey(key);
        return static_cast<std::uint32_t>(size_++);
    }

private:
    struct alignas(64) Line {
        std::byte bytes[64];
    };
    using Page = std::unique_ptr<Line[]>; ///< the counters of all its entries, then their keys

    [[nodiscard]] std::uint32_t mask() const noexcept { return (1u << shift_) - 1; }
    static DescriptorCounts* counts_of(const Page& page) noexcept {
        return reinterpret_cast<DescriptorCounts*>(page.get());
    }
    [[nodiscard]] DescriptorKey* keys_of(const Page& page) const noexcept {
        return reinterpret_cast<DescriptorKey*>(counts_of(page) + (std::size_t{1} << shift_));
    }

    std::vector<Page> pages_;
    std::size_t size_ = 0;
    std::uint32_t shift_;
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
