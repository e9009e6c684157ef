// SPDX-License-Identifier: Apache-2.0
//
// The blocks that are still there, who has them, and what keeps them.
// Owns: order, sums and wording. Does not own: the blocks (survivor.hpp), when it is written.
// Layer: dmem.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/describe.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/hint.hpp"
#include "neuronbook/dmem/survivor.hpp"
#include "neuronbook/dmem/usage.hpp"

namespace neuronbook {
inline namespace v0 {

/// What keeps blocks alive beyond their first handle.
struct Pins {
    std::uint64_t handles = 0; ///< beyond the first of each block
    std::uint64_t mappings = 0;
    std::uint64_t exports = 0;

    [[nodiscard]] constexpr std::uint64_t count() const noexcept {
        return handles + mappings + exports;
    }
};

/// What one owner still has.
struct OwnerHoldings {
    HostDeviceId device{};
    CoreIndex core{};
    std::uint32_t id = 0;
    std::string_view tier{};
    Hint label{};
    std::uint64_t blocks = 0;
    Bytes charged{};
    Pins pins{};
    std::optional<Nanoseconds> oldest{}; ///< nothing where ages are not known
};

[[nodiscard]] constexpr Pins pins_of(const Survivor& block) noexcept {
    return {block.handles > 1 ? block.handles - 1 : 0u, block.mapped ? 1u : 0u, block.exported};
}

namespace detail {

/// By age; of the same age, or of unknown age, by device and number of the event.
[[nodiscard]] constexpr bool is_older(const Survivor& a, const Survivor& b) noexcept {
    if (a.age && b.age && *a.age != *b.age) return *a.age > *b.age;
    if (a.age.has_value() != b.age.has_value()) return a.age.has_value();
    if (a.device != b.device) return a.device < b.device;
    if (a.location != b.location) return a.location < b.location;
    return a.hbm != b.hbm ? a.hbm < b.hbm : a.number < b.number; // numbers are by HBM
}

inline void append_age(std::string& out, std::optional<Nanoseconds> age) {
    if (!age) {
        out += "age unknown";
        return;
    }
    char text[48];
    const auto milliseconds = static_cast<unsigned long long>(age->count / 1'000'000);
    std::snprintf(text, sizeof text, "%llu.%03llu s old", milliseconds / 1000, milliseconds % 1000);
    out += text;
}

/// ", 2 mappings" for a count that is not 0.
inline void append_count(std::string& out, std::uint64_t count, std::string_view what) {
    if (count == 0) return;
    out.append(", ").append(std::to_string(count)).append(" ").append(what);
    if (count != 1) out += 's';
}

inline void append_survivor(std::string& out, const Survivor& block) {
    out.append("  ").append(block.hint.empty() ? "(no name)" : block.hint.view());
    out.append(": ").append(name_of(block.usage)).append(", ");
    out.append(std::to_string(block.requested.count())).append(" bytes asked for, ");
    out.append(std::to_string(block.charged.count())).append(" charged, ND ");
    out.append(std::to_string(block.device.value())).append(" NC ");
    out.append(std::to_string(block.core.value()));
    if (block.location == MemoryLocation::Host)
        out += " host";
    else
        out.append(" HBM ").append(std::to_string(block.hbm));
    out.append(", ").append(block.tier).append(" ").append(std::to_string(block.owner));
    if (!block.label.empty()) out.append(" ").append(block.label.view());
    out += ", ";
    append_age(out, block.age);
    append_count(out, block.handles, "handle");
    if (block.mapped) out += ", mapped";
    append_count(out, block.exported, "export");
    out += '\n';
}

inline void append_holdings(std::string& out, const OwnerHoldings& owner) {
    out.append("  ").append(owner.tier).append(" ").append(std::to_string(owner.id));
    if (!owner.label.empty()) out.append(" ").append(owner.label.view());
    out.append(" of ND ").append(std::to_string(owner.device.value())).append(" NC ");
    out.append(std::to_string(owner.core.value()));
    append_count(out, owner.blocks, "block");
    out.append(", ").append(std::to_string(owner.charged.count())).append(" bytes, oldest ");
    append_age(out, owner.oldest);
    append_count(out, owner.pins.count(), "pin");
    if (owner.pins.count() != 0) {
        std::string parts;
        append_count(parts, owner.pins.handles, "further handle");
        append_count(parts, owner.pins.mappings, "mapping");
        append_count(parts, owner.pins.exports, "export");
        out.append(" (").append(parts.substr(2)).append(")");
    }
    out += '\n';
}

} // namespace detail

/// The same rows, oldest first.
[[nodiscard]] inline std::vector<Survivor> oldest_first(std::span<const Survivor> rows) {
    std::vector<Survivor> sorted(rows.begin(), rows.end());
    std::sort(sorted.begin(), sorted.end(), detail::is_older);
    return sorted;
}

/// The rows that have pins, oldest first.
[[nodiscard]] inline std::vector<Survivor> oldest_pins(std::span<const Survivor> rows) {
    auto sorted = oldest_first(rows);
    std::erase_if(sorted, [](const Survivor& block) { return pins_of(block).count() == 0; });
    return sorted;
}

/// What each owner has, the one with the oldest block first.
[[nodiscard]] inline std::vector<OwnerHoldings> holdings_of(std::span<const Survivor> rows) {
    std::vector<OwnerHoldings> owners;
    for (const Survivor& block : oldest_first(rows)) {
        auto owner = std::find_if(owners.begin(), owners.end(), [&](const OwnerHoldings& known) {
            return known.id == block.owner && known.device == block.device &&
                   known.core == block.core && known.tier == block.tier;
        });
        if (owner == owners.end()) {
            owners.push_back({.device = block.device,
                              .core = block.core,
                              .id = block.owner,
                              .tier = block.tier,
                              .label = block.label,
                              .oldest = block.age});
            owner = owners.end() - 1;
        }
        const Pins pins = pins_of(block);
        ++owner->blocks;
        owner->charged = Bytes{owner->charged.count() + block.charged.count()};
        owner->pins = {owner->pins.handles + pins.handles, owner->pins.mappings + pins.mappings,
                       owner->pins.exports + pins.exports};
    }
    return owners;
}

/// Lines that end with a newline: how many blocks there are, each of them, oldest first, then what
/// each owner has. A hint is the place where a block was asked for, if its maker gave one. Empty
/// when there are none. `heading` follows "3 blocks, 24.000KB ".
[[nodiscard]] inline std::string leak_report(std::span<const Survivor> rows,
                                             std::string_view heading = "are still held") {
    if (rows.empty()) return {};
    std::uint64_t bytes = 0;
    for (const Survivor& block : rows) bytes += block.charged.count();
    std::string text = std::to_string(rows.size()) + (rows.size() == 1 ? " block, " : " blocks, ");
    text.append(human(Bytes{bytes})).append(" ").append(heading).append(":\n");
    for (const Survivor& block : oldest_first(rows)) detail::append_survivor(text, block);
    text += "by owner:\n";
    for (const OwnerHoldings& owner : holdings_of(rows)) detail::append_holdings(text, owner);
    return text;
}

} // namespace v0
} // namespace neuronbook
