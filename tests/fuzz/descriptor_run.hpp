// SPDX-License-Identifier: Apache-2.0
//
// Bytes as operations on a cache of descriptor counts, compared after every step with the form of
// the original: maps by padded names and padded keys.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "neuronbook/model/descriptor_cache.hpp"

namespace fuzz {

namespace nb = neuronbook;

struct WrongCount : std::runtime_error {
    using std::runtime_error::runtime_error;
};

inline void demand_count(bool holds, const char* what) {
    if (!holds) throw WrongCount(what);
}

/// The reference. Keys as the original's: 4 bytes of block, 256 of name, padded with zeros.
struct PaddedBook {
    using Key = std::array<char, 260>;
    using Counts = std::array<std::uint32_t, 48>;
    struct Table {
        std::map<Key, Counts> counts;
        std::vector<Key> order;
    };
    std::map<std::string, Table> tables;
    std::vector<std::string> order;

    static bool legal(const std::string& name) { return ::strlen(name.c_str()) <= 256; }
    static Key key(const std::string& name, std::uint32_t block) {
        Key made{};
        std::memcpy(made.data(), &block, 4);
        std::memcpy(made.data() + 4, name.c_str(), ::strnlen(name.c_str(), 256));
        return made;
    }
    bool add_table(const std::string& name) {
        if (!legal(name) || !tables.try_emplace(name.c_str()).second) return false;
        order.emplace_back(name.c_str());
        return true;
    }
    static bool add(Table& table, const std::string& name, std::uint32_t block,
                    const Counts& more) {
        if (!legal(name)) return false;
        const auto [at, fresh] = table.counts.try_emplace(key(name, block));
        if (fresh) table.order.push_back(at->first);
        Counts sums = at->second;
        for (std::size_t i = 0; i < 48; ++i)
            if (__builtin_add_overflow(sums[i], more[i], &sums[i])) return false;
        at->second = sums;
        return true;
    }
};

class DescriptorRun {
public:
    explicit DescriptorRun(std::span<const std::uint8_t> input) : input_(input) {}

    std::size_t added = 0;
    std::size_t refused = 0; ///< for overflow

    /// Effects: runs the whole input. Throws WrongCount where cache and reference differ.
    void go() {
        for (std::size_t steps = 1; at_ < input_.size(); ++steps) {
            step();
            if (steps % 64 == 0) compare();
        }
        compare();
        cache_.clear();
        book_ = {};
        compare();
    }

private:
    std::uint8_t byte() { return at_ < input_.size() ? input_[at_++] : 0; }

    /// Few names, so that they meet again, and all that is odd about names.
    std::string name() {
        const std::uint8_t pick = byte();
        switch (pick % 16) {
        case 0: return {};
        case 1: return std::string(255, 'n');
        case 2: return std::string(256, 'n');
        case 3: return std::string(257, 'n');
        case 4: return std::string(255, 'n') + static_cast<char>(byte());
        case 5: return std::string("name\0after", 10);
        case 6: return std::string(300, '\0');
        case 7: return std::string(pick, static_cast<char>(byte()));
        case 8: {
            std::string text(byte() % 40, ' ');
            for (auto& each : text) each = static_cast<char>(byte());
            return text;
        }
        default: return "name/" + std::to_string(pick / 16);
        }
    }

    std::uint32_t block() {
        const std::uint8_t pick = byte();
        switch (pick % 4) {
        case 0: return last_block_ = pick / 4;
        case 1: return last_block_ += pick / 64; // one after the other
        case 2: return last_block_ = static_cast<std::uint32_t>(byte()) << (pick / 4 % 25);
        default: return last_block_ = 0u - pick / 4 - 1;
        }
    }

    nb::DescriptorCounts counts() {
        nb::DescriptorCounts made;
        const std::uint8_t pick = byte();
        const auto fill = static_cast<std::uint32_t>(byte());
        made.m2s.fill(fill);
        made.s2m.fill(fill << (pick % 24));
        made.packets[pick % 16] = pick % 8 == 7 ? fill << 24 : fill;
        if (pick % 32 == 31) made.m2s[fill % 16] = 0u - pick;
        return made;
    }
    static PaddedBook::Counts flat(const nb::DescriptorCounts& counts) {
        PaddedBook::Counts made;
        std::memcpy(made.data(), &counts, sizeof made);
        return made;
    }

    void step() {
        const std::uint8_t what = byte();
        if (what % 32 == 0) return add_table();
        if (what == 1) return move();
        if (what == 33 && byte() % 4 == 0) {
            cache_.clear();
            book_ = {};
            return;
        }
        if (book_.order.empty()) return add_table();
        const auto& chosen = book_.order[byte() % book_.order.size()];
        auto* const table = cache_.find_table(chosen);
        demand_count(table != nullptr && table->name() == chosen, "a table is not found");
        if (what % 32 == 2) return unknown_id(*table);
        add(*table, book_.tables[chosen], what);
    }

    void add_table() {
        const auto wanted = name();
        const std::uint64_t planned = std::uint64_t{byte()} << (byte() % 64);
        const auto made = cache_.add_table(wanted, planned);
        demand_count(made.has_value() == book_.add_table(wanted), "a table's name");
        if (made)
            demand_count((*made)->size() == 0 && cache_.find_table(wanted) == *made, "a new table");
    }

    void move() {
        nb::DescriptorCache other(std::move(cache_));
        demand_count(cache_.size() == 0, "something stayed"); // NOLINT(bugprone-use-after-move)
        cache_ = std::move(other);
    }

    void unknown_id(nb::DescriptorTable& table) {
        std::uint32_t number = byte();
        while (!cache_.name_of(nb::FunctionId{number}).empty()) number += 100;
        if (cache_.find_function("") == nb::FunctionId{number}) return;
        demand_count(!table.add(nb::FunctionId{number}, nb::DescriptorBlock{block()}, counts()),
                     "an unknown id is taken");
    }

    void add(nb::DescriptorTable& table, PaddedBook::Table& expected, std::uint8_t what) {
        const auto function = name();
        const nb::DescriptorBlock where{block()};
        const auto* const before = table.find(function, where);
        nb::DescriptorCounts more;
        const bool twice = what % 8 == 7 && before != nullptr;
        if (!twice) more = counts();
        const auto plain = flat(twice ? *before : more);
        const bool good = PaddedBook::add(expected, function, where.value(), plain);
        std::optional<nb::Error> error;
        if (what % 2 == 0) {
            const auto id = cache_.intern(function);
            demand_count(id.has_value() == PaddedBook::legal(function), "a function's name");
            if (!id) return;
            if (const auto done = table.add(*id, where, twice ? *before : more); !done)
                error = done.error();
        } else if (const auto done = table.add(function, where, twice ? *before : more); !done) {
            error = done.error();
        }
        demand_count(good == !error, "an addition");
        demand_count(!error || error->detail == (PaddedBook::legal(function)
                                                     ? nb::Detail::DescriptorOverflow
                                                     : nb::Detail::NameTooLong),
                     "the reason of a refusal");
        ++(good ? added : refused);
        if (!PaddedBook::legal(function)) return;
        const auto* const after = table.find(function, where);
        demand_count(after != nullptr && (before == nullptr || before == after), "an entry moved");
        demand_count(flat(*after) == expected.counts.at(PaddedBook::key(function, where.value())),
                     "counts");
    }

    /// Everything, both ways.
    void compare() {
        std::size_t tables = 0;
        cache_.for_each([&](const nb::DescriptorTable& table) {
            demand_count(tables < book_.order.size() && table.name() == book_.order[tables],
                         "the order of tables");
            ++tables;
            const auto& expected = book_.tables.at(std::string(table.name()));
            demand_count(table.size() == expected.order.size(), "a table's size");
            std::size_t entries = 0;
            table.for_each([&](const nb::DescriptorTable::Entry& entry) {
                const auto key = PaddedBook::key(std::string(entry.function), entry.block.value());
                demand_count(key == expected.order[entries++], "the order of entries");
                demand_count(flat(entry.counts) == expected.counts.at(key), "an entry's counts");
                demand_count(table.find(entry.id, entry.block) == &entry.counts, "found by id");
                demand_count(table.find(entry.function, entry.block) == &entry.counts,
                             "found by name");
            });
            demand_count(entries == expected.order.size(), "number of entries");
        });
        demand_count(tables == book_.order.size() && cache_.size() == tables, "number of tables");
    }

    std::span<const std::uint8_t> input_;
    std::size_t at_ = 0;
    std::uint32_t last_block_ = 0;
    nb::DescriptorCache cache_;
    PaddedBook book_;
};

} // namespace fuzz
