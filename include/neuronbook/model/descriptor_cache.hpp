// SPDX-License-Identifier: Apache-2.0
//
// The descriptor counts of a model: tables by name, each with counts by function and block.
// Owns: tables, names of tables and of functions. Does not own: what is done with the counts.
// Layer: model.   libnrt: dbtc, dbtc_storage_t, dbtc_node_lut. Source: tables.md 14 and 22
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "neuronbook/base/result.hpp"
#include "neuronbook/model/descriptor_table.hpp"
#include "neuronbook/model/detail/name_pool.hpp"

namespace neuronbook {
inline namespace v0 {

/// The upper level, which a model holds as a member: it is filled while descriptors are laid out,
/// looked up when rings are sized, and goes with the model. Moved, not copied; tables stay where
/// they are when their cache moves, and one that was moved from is empty. An empty cache takes no
/// memory. std::bad_alloc passes through every member that adds, nothing changed then.
///
/// Names of tables and functions end at their first NUL and have at most 256 bytes.
///
/// Thread safety: none for members that change anything; const members may run beside each other.
///
/// libnrt: dbtc_storage_t, dbtc_node_lut.
/// Differs: a function's name is kept once and may be given by number; names are never cut; a name
/// that is there already is refused.
class DescriptorCache {
public:
    DescriptorCache() noexcept = default;
    DescriptorCache(DescriptorCache&&) noexcept = default;
    DescriptorCache& operator=(DescriptorCache&&) noexcept = default;
    DescriptorCache(const DescriptorCache&) = delete;
    DescriptorCache& operator=(const DescriptorCache&) = delete;
    /// Frees both levels. libnrt: dbtc_free_node, dbtc_free_hash_table, dbtc_free_one
    ~DescriptorCache() = default;

    /// Effects: makes an empty table. `planned` says how many entries it may get: rounded up to a
    /// power of two, 0 means 1, more than 65 536 means that; it saves growing and is no limit.
    /// Returns: the table, which lives until clear(). Errors: INVALID with NameTooLong, or with
    /// NameTaken (text: the name). libnrt: dbtc_storage_add_hash
    Result<DescriptorTable*> add_table(std::string_view name, std::uint64_t planned = 0) {
        name = detail::as_name(name);
        if (auto good = detail::check_name(name); !good) return fail(good.error());
        if (find_table(name) != nullptr)
            return fail({.status = Status::Invalid,
                         .operation = Operation::CountDescriptors,
                         .detail = Detail::NameTaken,
                         .text = name});
        auto& all = contents();
        if (all.tables.size() == all.tables.capacity())
            all.tables.reserve(2 * all.tables.size() + 4);
        std::unique_ptr<DescriptorTable> table(new DescriptorTable(all.functions, {}, planned));
        table->name_ = all.names.name(all.names.intern(name));
        all.tables.push_back(std::move(table));
        return all.tables.back().get();
    }
    /// The table, or null. libnrt: dbtc_storage_find_hash
    [[nodiscard]] DescriptorTable* find_table(std::string_view name) noexcept {
        return table_of(contents_.get(), name);
    }
    [[nodiscard]] const DescriptorTable* find_table(std::string_view name) const noexcept {
        return table_of(contents_.get(), name);
    }

    /// The id of a function's name, which joins if it is new. Errors: INVALID with NameTooLong.
    Result<FunctionId> intern(std::string_view function) {
        function = detail::as_name(function);
        if (auto good = detail::check_name(function); !good) return fail(good.error());
        return FunctionId{contents().functions.intern(function)};
    }
    /// The id of a function's name, if it has one.
    [[nodiscard]] std::optional<FunctionId>
    find_function(std::string_view function) const noexcept {
        if (!contents_) return std::nullopt;
        const auto number = contents_->functions.find(detail::as_name(function));
        if (number == detail::kNoNumber) return std::nullopt;
        return FunctionId{number};
    }
    /// Valid until clear(); empty for an id that this cache never gave.
    [[nodiscard]] std::string_view name_of(FunctionId function) const noexcept {
        if (!contents_ || function.value() >= contents_->functions.size()) return {};
        return contents_->functions.name(function.value());
    }

    /// How many tables there are.
    [[nodiscard]] std::size_t size() const noexcept {
        return contents_ ? contents_->tables.size() : 0;
    }
    /// Effects: `visit(table)` for every table, in the order in which they came; those that come
    /// meanwhile too. It must not clear the cache.
    template <class F>
    void for_each(F&& visit) {
        for (std::size_t i = 0; i < size(); ++i) visit(*contents_->tables[i]);
    }
    template <class F>
    void for_each(F&& visit) const {
        for (std::size_t i = 0; i < size(); ++i)
            visit(static_cast<const DescriptorTable&>(*contents_->tables[i]));
    }

    /// Effects: frees every table, entry and name.
    void clear() noexcept { contents_.reset(); }

private:
    struct Contents {
        detail::NamePool functions;
        detail::NamePool names; ///< of tables, numbered as they are
        std::vector<std::unique_ptr<DescriptorTable>> tables;
    };

    Contents& contents() {
        if (!contents_) contents_ = std::make_unique<Contents>();
        return *contents_;
    }
    static DescriptorTable* table_of(const Contents* all, std::string_view name) noexcept {
        if (all == nullptr) return nullptr;
        const auto number = all->names.find(detail::as_name(name));
        return number == detail::kNoNumber ? nullptr : all->tables[number].get();
    }

    std::unique_ptr<Contents> contents_; ///< stays where it is: tables point into it
};

} // namespace v0
} // namespace neuronbook
