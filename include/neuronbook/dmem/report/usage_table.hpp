// SPDX-License-Identifier: Apache-2.0
//
// The table of memory use as users of the runtime know it: devices, cores, owners by purpose.
// Owns: rows, columns and their order. Does not own: the figures (device_usage.hpp).
// Layer: dmem.   libnrt: dml_log_dev_mem. Source: nrt-surface.md 5.2 and 5.5
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "neuronbook/base/architecture.hpp"
#include "neuronbook/base/describe.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/device_usage.hpp"
#include "neuronbook/dmem/report/detail/table_text.hpp"
#include "neuronbook/dmem/tags.hpp"
#include "neuronbook/dmem/usage.hpp"

namespace neuronbook {
inline namespace v0 {

/// Bytes by column of the table. The total is the sum of the columns, always.
struct AggregateRow {
    std::uint64_t total = 0;
    std::array<std::uint64_t, kAggregates> columns{};

    AggregateRow() = default;
    /// `used` by usage; its column 22 is not looked at.
    explicit AggregateRow(const std::array<std::uint64_t, kUsageColumns>& used) noexcept {
        for (std::size_t u = 0; u < kUsages; ++u) {
            columns[static_cast<std::size_t>(aggregate_of(static_cast<Usage>(u)))] += used[u];
            total += used[u];
        }
    }
    AggregateRow& operator+=(const AggregateRow& other) noexcept {
        for (std::size_t i = 0; i < kAggregates; ++i) columns[i] += other.columns[i];
        total += other.total;
        return *this;
    }
    friend bool operator==(const AggregateRow&, const AggregateRow&) = default;
};

/// The total and the columns that are not 0, one a line, in the table's order.
[[nodiscard]] inline std::string usage_list(const AggregateRow& row, std::string_view indent = {}) {
    std::string text;
    const auto line = [&](std::string_view name, std::uint64_t bytes) {
        text.append(indent);
        for (const char c : name) text += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
        text += ": ";
        text += detail::SizeText(Bytes{bytes}).view();
        text += '\n';
    };
    line("total", row.total);
    for (std::size_t i = 0; i < kAggregates; ++i)
        if (row.columns[i] != 0) line(name_of(static_cast<Aggregate>(i)), row.columns[i]);
    return text;
}

namespace detail {

/// Writes the table of one device.
class UsageTable {
public:
    UsageTable(const Geometry& geometry, const DeviceUsage& usage, std::string& out)
        : geometry_(geometry), usage_(usage), out_(out), order_(usage.owners.size()),
          line_(out.size()) {
        for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = i;
        std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
            const auto &x = usage_.owners[a], &y = usage_.owners[b];
            if (x.core != y.core) return x.core < y.core;
            const bool models = x.tier == ModelTag::kName, more = y.tier == ModelTag::kName;
            return models != more ? !models : x.id < y.id;
        });
    }

    void write() {
        for (std::uint32_t hbm = 0; hbm < geometry_.hbms; ++hbm) write_hbm(hbm);
    }

private:
    void write_hbm(std::uint32_t hbm) {
        AggregateRow sum;
        const std::uint32_t first = hbm * geometry_.cores_per_hbm;
        const std::uint32_t last = first + geometry_.cores_per_hbm;
        for (std::uint32_t core = first; core < last; ++core)
            sum += AggregateRow(usage_.counters.by_core[core]);
        label("ND ", usage_.device.value());
        label(" HBM ", hbm);
        row(sum);
        for (std::uint32_t core = first; core < last; ++core) write_core(core);
    }

    void write_core(std::uint32_t core) {
        const AggregateRow whole(usage_.counters.by_core[core]);
        std::size_t end = at_;
        while (end < order_.size() && usage_.owners[order_[end]].core.value() <= core) ++end;
        if (whole.total != 0 || end != at_) {
            label("  NC ", core);
            row(whole);
        }
        AggregateRow owned;
        for (; at_ < end; ++at_) {
            const OwnerUsage& owner = usage_.owners[order_[at_]];
            const AggregateRow part(owner.used);
            owned += part;
            if (owner.tier == ModelTag::kName) {
                label("    ", owner.id);
            } else {
                out_.append("    ").append(owner.tier);
                label(" ", owner.id);
            }
            row(part);
        }
        // Of allocators that are closed: nobody's, yet somewhere.
        if (AggregateRow rest; remainder(whole, owned, rest)) {
            out_ += "    no owner";
            row(rest);
        }
    }

    static bool remainder(const AggregateRow& whole, const AggregateRow& part, AggregateRow& rest) {
        for (std::size_t i = 0; i < kAggregates; ++i) {
            const auto has = whole.columns[i], owned = part.columns[i];
            rest.columns[i] = has > owned ? has - owned : 0;
            rest.total += rest.columns[i];
        }
        return rest.total != 0;
    }

    void label(std::string_view text, std::uint32_t number) {
        std::array<char, 10> digits{};
        out_.append(text);
        out_.append(digits.data(),
                    std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
    }
    /// Ends the line that label() began.
    void row(const AggregateRow& figures) {
        const std::size_t written = out_.size() - line_;
        if (written < kLabelWidth) out_.append(kLabelWidth - written, ' ');
        append_size(out_, figures.total);
        for (const std::uint64_t bytes : figures.columns) append_size(out_, bytes);
        out_ += '\n';
        line_ = out_.size();
    }

    const Geometry& geometry_;
    const DeviceUsage& usage_;
    std::string& out_;
    std::vector<std::size_t> order_; ///< owners by core, the core's own first, then models by id
    std::size_t line_;               ///< where the line begins that is being written
    std::size_t at_ = 0;
};

} // namespace detail

/// The table: two lines of header; a row for each HBM of each device, indented under it one for
/// each core that holds something or has owners, under that one for each owner. A row's total is
/// the sum of its columns, an HBM's row the sum of its cores', a core's the sum of its owners';
/// what a core holds that no owner has gets a row of its own.
///
/// Cores stand under the HBM next to them, wherever their bytes lie; where that differs from what
/// lies on the HBM, a line below says so.
///
/// libnrt: dml_log_dev_mem
/// Differs: XT CC counts as runtime memory. An owner's bytes of the tier GLOBAL have a row, too.
[[nodiscard]] inline std::string usage_table(const Geometry& geometry,
                                             std::span<const DeviceUsage> devices) {
    std::string text;
    std::size_t rows = 2;
    for (const DeviceUsage& device : devices) rows += device.owners.size() + 2 * kMaxCoresPerDevice;
    text.reserve(rows * detail::kTableWidth);
    detail::append_header(text);
    for (const DeviceUsage& device : devices) detail::UsageTable(geometry, device, text).write();
    for (const DeviceUsage& device : devices) detail::append_strays(text, geometry, device);
    return text;
}

/// What the ids of the table mean: `1001: resnet50 (MODEL of NC 3)`, by id, one a line. Ids without
/// a name are left out.
[[nodiscard]] inline std::string owner_list(std::span<const DeviceUsage> devices) {
    struct Named {
        HostDeviceId device;
        const OwnerUsage* owner;
    };
    std::vector<Named> named;
    for (const DeviceUsage& device : devices)
        for (const OwnerUsage& owner : device.owners)
            if (!owner.label.empty()) named.push_back({device.device, &owner});
    std::sort(named.begin(), named.end(), [](const Named& a, const Named& b) {
        if (a.owner->id != b.owner->id) return a.owner->id < b.owner->id;
        return std::pair(a.device, a.owner->core) < std::pair(b.device, b.owner->core);
    });
    std::string text;
    for (const auto& [device, owner] : named) {
        text.append("  ")
            .append(std::to_string(owner->id))
            .append(": ")
            .append(owner->label.view());
        text.append(" (").append(owner->tier).append(" of ND ");
        text.append(std::to_string(device.value())).append(" NC ");
        text.append(std::to_string(owner->core.value())).append(")\n");
    }
    return text;
}

} // namespace v0
} // namespace neuronbook
