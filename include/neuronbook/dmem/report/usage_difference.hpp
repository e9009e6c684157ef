// SPDX-License-Identifier: Apache-2.0
//
// What grew and what shrank between two looks at a device's ledger.
// Owns: the signed difference, as data and as text. Does not own: the looks (device_usage.hpp).
// Layer: dmem.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "neuronbook/base/describe.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/device_usage.hpp"
#include "neuronbook/dmem/hint.hpp"
#include "neuronbook/dmem/ledger_snapshot.hpp"
#include "neuronbook/dmem/report/audit_text.hpp"
#include "neuronbook/dmem/usage.hpp"

namespace neuronbook {
inline namespace v0 {

enum class OwnerFate : std::uint8_t { Stayed, Came, Went };

/// An owner that came, went or holds another amount.
struct OwnerChange {
    std::uint32_t id = 0;
    std::string_view tier{};
    Hint label{};
    CoreIndex core{};
    OwnerFate fate = OwnerFate::Stayed;
    std::array<std::int64_t, kUsageColumns> used{};
    std::int64_t blocks = 0;
};

/// Later less earlier, in bytes; negative where it shrank. A difference that does not fit is the
/// largest or smallest number that does.
struct UsageDifference {
    HostDeviceId device{};
    std::array<std::int64_t, kMaxHbm> on_channel{};
    std::array<std::int64_t, kMaxHbm> lost_on_channel{};
    std::array<std::array<std::int64_t, kUsageColumns>, kMaxCoresPerDevice> by_core{};
    std::array<std::int64_t, kHostCategories> on_host{};
    std::int64_t lost_on_host = 0;
    std::vector<OwnerChange> owners{}; ///< in the order of the later look, then those that went

    [[nodiscard]] bool empty() const noexcept {
        return on_channel == UsageDifference{}.on_channel &&
               lost_on_channel == UsageDifference{}.lost_on_channel &&
               by_core == UsageDifference{}.by_core && on_host == UsageDifference{}.on_host &&
               lost_on_host == 0 && owners.empty();
    }
};

namespace detail {

[[nodiscard]] constexpr std::int64_t signed_difference(std::uint64_t before,
                                                       std::uint64_t after) noexcept {
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    const std::uint64_t size = after > before ? after - before : before - after;
    const auto magnitude = static_cast<std::int64_t>(size < most ? size : most);
    return after > before ? magnitude : -magnitude;
}

template <std::size_t N>
[[nodiscard]] std::array<std::int64_t, N>
row_difference(const std::array<std::uint64_t, N>& before,
               const std::array<std::uint64_t, N>& after) noexcept {
    std::array<std::int64_t, N> row;
    for (std::size_t i = 0; i < N; ++i) row[i] = signed_difference(before[i], after[i]);
    return row;
}

/// The same allocator at another time: a model has one number on all its cores.
[[nodiscard]] inline const OwnerUsage* find_owner(const DeviceUsage& usage,
                                                  const OwnerUsage& owner) noexcept {
    for (const OwnerUsage& other : usage.owners)
        if (other.id == owner.id && other.core == owner.core && other.tier == owner.tier)
            return &other;
    return nullptr;
}

[[nodiscard]] inline OwnerChange owner_difference(const OwnerUsage* before,
                                                  const OwnerUsage* after) noexcept {
    const OwnerUsage nothing{};
    const OwnerUsage& who = after ? *after : *before;
    const OwnerUsage& from = before ? *before : nothing;
    const OwnerUsage& to = after ? *after : nothing;
    const auto fate = !before ? OwnerFate::Came : !after ? OwnerFate::Went : OwnerFate::Stayed;
    return {.id = who.id,
            .tier = who.tier,
            .label = who.label,
            .core = who.core,
            .fate = fate,
            .used = row_difference(from.used, to.used),
            .blocks = signed_difference(from.blocks, to.blocks)};
}

/// `+13.107MB`, `-4.000KB`.
inline void append_signed(std::string& out, std::int64_t bytes) {
    const auto size = static_cast<std::uint64_t>(bytes);
    out += bytes < 0 ? '-' : '+';
    out.append(SizeText(Bytes{bytes < 0 ? 0 - size : size}).view());
}

/// A row's usages that changed, `: weights +8.000KB, tensors -4.000KB`.
inline void append_usages(std::string& out, const std::array<std::int64_t, kUsageColumns>& row) {
    const char* before = ": ";
    for (std::uint32_t u = 0; u < kUsages; ++u) {
        if (row[u] == 0) continue;
        out.append(before).append(name_of(static_cast<Usage>(u))) += ' ';
        append_signed(out, row[u]);
        before = ", ";
    }
}

inline void append_owner(std::string& out, const OwnerChange& owner) {
    constexpr std::array<std::string_view, 3> fates{"", " came", " went"};
    out.append("NC ").append(std::to_string(owner.core.value())).append(" ");
    out.append(owner.tier).append(" ").append(std::to_string(owner.id));
    if (!owner.label.empty()) out.append(" ").append(owner.label.view());
    out.append(fates[static_cast<std::size_t>(owner.fate)]).append(", blocks ");
    out.append(owner.blocks < 0 ? "" : "+").append(std::to_string(owner.blocks));
    append_usages(out, owner.used);
}

} // namespace detail

/// Requires: both are of one device and ledger, `before` is the earlier one.
[[nodiscard]] inline UsageDifference difference(const DeviceUsage& before,
                                                const DeviceUsage& after) {
    const LedgerSnapshot& from = before.counters;
    const LedgerSnapshot& to = after.counters;
    UsageDifference all{.device = after.device};
    all.on_channel = detail::row_difference(from.on_channel, to.on_channel);
    all.lost_on_channel = detail::row_difference(from.lost_on_channel, to.lost_on_channel);
    for (std::size_t c = 0; c < kMaxCoresPerDevice; ++c)
        all.by_core[c] = detail::row_difference(from.by_core[c], to.by_core[c]);
    all.on_host = detail::row_difference(from.on_host, to.on_host);
    all.lost_on_host = detail::signed_difference(from.lost_on_host, to.lost_on_host);
    for (const OwnerUsage& owner : after.owners) {
        const OwnerUsage* was = detail::find_owner(before, owner);
        const bool same = was && was->used == owner.used && was->blocks == owner.blocks;
        if (!same) all.owners.push_back(detail::owner_difference(was, &owner));
    }
    for (const OwnerUsage& owner : before.owners)
        if (!detail::find_owner(after, owner))
            all.owners.push_back(detail::owner_difference(&owner, nullptr));
    return all;
}

/// Lines that end with a newline, one for each HBM, core, category of host memory and owner that
/// changed: `ND 0 NC 1 +12.000KB: weights +8.000KB, tensors +4.000KB`. Empty where nothing did.
[[nodiscard]] inline std::string describe(const UsageDifference& change) {
    std::string text;
    const std::string device = "ND " + std::to_string(change.device.value()) + " ";
    const auto line = [&](const std::string& place, std::int64_t bytes) {
        if (bytes == 0) return;
        text.append(device).append(place) += ' ';
        detail::append_signed(text, bytes);
        text += '\n';
    };
    for (std::size_t hbm = 0; hbm < kMaxHbm; ++hbm) {
        line("HBM " + std::to_string(hbm), change.on_channel[hbm]);
        line("HBM " + std::to_string(hbm) + " lost", change.lost_on_channel[hbm]);
    }
    for (std::size_t core = 0; core < kMaxCoresPerDevice; ++core) {
        const auto& row = change.by_core[core];
        if (row == UsageDifference{}.by_core[core]) continue;
        text.append(device).append("NC ").append(std::to_string(core)) += ' ';
        detail::append_signed(text, row[kUsages]);
        detail::append_usages(text, row);
        text += '\n';
    }
    for (std::uint32_t slot = 0; slot < kHostCategories; ++slot)
        line("host " + std::string(category_name(slot == kHostCategories - 1 ? 17 : slot)),
             change.on_host[slot]);
    line("host lost", change.lost_on_host);
    for (const OwnerChange& owner : change.owners) {
        text += device;
        detail::append_owner(text, owner);
        text += '\n';
    }
    return text;
}

} // namespace v0
} // namespace neuronbook
