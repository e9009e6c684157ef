// SPDX-License-Identifier: Apache-2.0
//
// Descriptor counts by function and block, under one name.
// Owns: the counts. Does not own: the names of functions (descriptor_cache.hpp).
// Layer: model.   libnrt: dbtc_node_t. Source: tables.md 14 and 22
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/model/descriptor_counts.hpp"
#include "neuronbook/model/detail/block_index.hpp"
#include "neuronbook/model/detail/counter_sums.hpp"
#include "neuronbook/model/detail/descriptor_pages.hpp"
#include "neuronbook/model/detail/name_pool.hpp"

namespace neuronbook {
inline namespace v0 {

/// A function's name in one cache: what DescriptorCache::intern() gave, good for all its tables
/// until it is cleared. Another cache has other numbers.
using FunctionId = detail::Id<struct FunctionIdTag>;
/// A block within its function, any number. libnrt: block_id
using DescriptorBlock = detail::Id<struct DescriptorBlockTag>;

class DescriptorCache;

/// The lower level: counts by {function, block}. Entries are added to and never leave; a pointer
/// to one holds until the table ends. Lives in its cache, neither copied nor moved.
///
/// A function is given by its id or by its name; the id spares a hash of the name. A name ends at
/// its first NUL and has at most 256 bytes; two are the same if those bytes are.
///
/// Thread safety: none for add(); const members may run beside each other.
///
/// libnrt: dbtc_node_t, dbtc_hash.
/// Differs: a longer name is refused, where the original cuts it and lets two collide; a counter
/// that would wrap is refused, and then none of the 48 has changed; it grows with its entries.
class DescriptorTable {
public:
    /// Most entries a table is planned for. libnrt: dbtc_storage_add_hash (its cap)
    static constexpr std::uint32_t kPlannedMost = 65'536;

    /// One pair of function and block with its counts.
    struct Entry {
        std::string_view function;
        FunctionId id;
        DescriptorBlock block;
        const DescriptorCounts& counts;
    };

    DescriptorTable(const DescriptorTable&) = delete;
    DescriptorTable& operator=(const DescriptorTable&) = delete;
    ~DescriptorTable() = default;

    [[nodiscard]] std::string_view name() const noexcept { return name_; }
    /// Entries it was planned for: a power of two, 1 to kPlannedMost. It may hold any number.
    [[nodiscard]] std::uint32_t planned() const noexcept { return planned_; }
    [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

    /// Effects: adds `more` to the counts of function and block, which begin as `more` where there
    /// were none. `more` may be counts of this table. Takes host memory for a new entry only;
    /// std::bad_alloc passes through, nothing changed then. Errors: RESOURCE with
    /// DescriptorOverflow (value: what is counted, asked: what was to be added, limit: 2^32 - 1,
    /// text: which counter), INVALID with UnknownFunction (value: the id, limit: how many there
    /// are), and no counter changed. libnrt: dbtc_tail_inc_update
    Result<void> add(FunctionId function, DescriptorBlock block, const DescriptorCounts& more) {
        const detail::DescriptorKey key{function.value(), block.value()};
        const auto number = index_.find(entries_, key);
        if (number == detail::kNoNumber) [[unlikely]]
            return begin(key, more);
        if (!room_.add(entries_.counts(number), more)) [[unlikely]]
            return add_exactly(number, more);
        return {};
    }
    /// As above; a new name is interned. Errors: INVALID with NameTooLong besides.
    Result<void> add(std::string_view function, DescriptorBlock block,
                     const DescriptorCounts& more) {
        const auto name = detail::as_name(function);
        detail::DescriptorKey key{functions_->find(name), block.value()};
        if (key.function != detail::kNoNumber) [[likely]]
            return add(FunctionId{key.function}, block, more);
        if (auto good = detail::check_name(name); !good) return good;
        key.function = static_cast<std::uint32_t>(functions_->size()); // what it will be
        make_room(key);
        functions_->intern(name);
        append(key, more);
        return {};
    }

    /// The counts, or null if there are none. libnrt: dbtc_find_block
    [[nodiscard]] const DescriptorCounts* find(FunctionId function,
                                               DescriptorBlock block) const noexcept {
        const auto number = index_.find(entries_, {function.value(), block.value()});
        return number == detail::kNoNumber ? nullptr : &entries_.counts(number);
    }
    [[nodiscard]] const DescriptorCounts* find(std::string_view function,
                                               DescriptorBlock block) const noexcept {
        const auto id = functions_->find(detail::as_name(function));
        return id == detail::kNoNumber ? nullptr : find(FunctionId{id}, block);
    }

    /// Effects: `visit(const Entry&)` for every entry, in the order in which they came; those that
    /// come meanwhile too.
    template <class F>
    void for_each(F&& visit) const {
        for (std::size_t i = 0; i < entries_.size(); ++i) {
            const auto number = static_cast<std::uint32_t>(i);
            const auto key = entries_.key(number);
            visit(Entry{functions_->name(key.function), FunctionId{key.function},
                        DescriptorBlock{key.block}, entries_.counts(number)});
        }
    }

private:
    friend DescriptorCache;

    DescriptorTable(detail::NamePool& functions, std::string_view name,
                    std::uint64_t planned) noexcept
        : functions_(&functions), name_(name), planned_(rounded(planned)), entries_(planned_),
          index_(planned_) {}

    static constexpr std::uint32_t rounded(std::uint64_t planned) noexcept {
        return std::bit_ceil(
            static_cast<std::uint32_t>(std::clamp<std::uint64_t>(planned, 1, kPlannedMost)));
    }

    // Kept out of the hit's way: an Error is large.
    [[gnu::noinline]] Result<void> begin(const detail::DescriptorKey& key,
                                         const DescriptorCounts& counts) {
        if (key.function >= functions_->size()) return fail(unknown(key.function));
        make_room(key);
        append(key, counts);
        return {};
    }
    [[gnu::noinline]] Result<void> add_exactly(std::uint32_t number, const DescriptorCounts& more) {
        auto& sums = entries_.counts(number);
        if (const auto full = detail::first_overflow(sums, more))
            return fail(overflow(entries_.key(number), *full));
        detail::add_all(sums, more);
        room_.cover(sums);
        return {};
    }
    void make_room(const detail::DescriptorKey& key) {
        entries_.make_room();
        index_.make_room(entries_, key);
    }
    void append(const detail::DescriptorKey& key, const DescriptorCounts& counts) noexcept {
        room_.cover(counts);
        index_.insert(key, entries_.append(key, counts));
    }

    [[nodiscard]] Error unknown(std::uint32_t function) const noexcept {
        return {.status = Status::Invalid,
                .operation = Operation::CountDescriptors,
                .detail = Detail::UnknownFunction,
                .value = function,
                .limit = functions_->size()};
    }
    [[nodiscard]] Error overflow(const detail::DescriptorKey& key,
                                 const detail::CounterPlace& full) const noexcept {
        const auto function = functions_->name(key.function);
        char which[ShortText::kCapacity + 2]; // one more than fits, so that a cut shows
        std::snprintf(which, sizeof which, "%s[%zu] of block %u in %.*s", full.array, full.ring,
                      key.block, static_cast<int>(function.size()), function.data());
        return {.status = Status::Resource,
                .operation = Operation::CountDescriptors,
                .detail = Detail::DescriptorOverflow,
                .value = full.counted,
                .limit = detail::kCounterMost,
                .asked = full.more,
                .text = std::string_view(which)};
    }

    detail::NamePool* functions_; ///< the cache's
    std::string_view name_;       ///< likewise
    std::uint32_t planned_;
    detail::CounterRoom room_;
    detail::DescriptorPages entries_;
    detail::BlockIndex index_;
};

} // namespace v0
} // namespace neuronbook
