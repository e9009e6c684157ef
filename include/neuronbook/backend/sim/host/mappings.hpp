// SPDX-License-Identifier: Apache-2.0
//
// Where processes mapped what the driver gave them.
// Owns: the areas themselves, and the driver's records of them, which are not the same.
// Does not own: what may be mapped (requests/map.hpp), the pages.
// Layer: backend (simulated kernel).   Source: driver-abi.md 2.4, 2.5, 9 (measured: part new26)
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "neuronbook/backend/sim/request.hpp"
#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// What the driver wrote down about one mapping of an attached process.
struct MapRecord {
    std::uint32_t device = 0;
    std::int32_t pid = 0;
    std::uint64_t va = 0;
    std::uint64_t length = 0;
    MapGrant grant{};
    std::vector<std::int64_t> exports{}; ///< descriptors it was exported as

    [[nodiscard]] bool contains(std::uint64_t address) const {
        return address >= va && address - va < length;
    }
};

/// An area can be cut; a record is only ever forgotten, by the end of an area that is exactly it,
/// or with its process's last file of the device. Not thread-safe.
class Mappings {
public:
    /// A process mapped a grant. `attached`: then the driver records it, unless it is a plain range
    /// that nothing but raw I/O rights gave.
    void add(std::uint32_t device, std::int32_t pid, bool attached, std::uint64_t va,
             const MapGrant& grant) {
        const auto length = std::min(grant.length.count(), kEnd - va);
        if (length == 0) return;
        cut(pid, va, length);
        areas_.insert_or_assign({pid, va}, Area{length, device, grant.kind, grant.offset});
        if (attached && grant.kind != MapKind::RawRange)
            records_.push_back({device, pid, va, length, grant});
    }

    /// A process unmapped a range, wherever its areas begin and end.
    void cut(std::int32_t pid, std::uint64_t va, std::uint64_t length) {
        const auto end = va + std::min(length, kEnd - va);
        while (true) {
            const auto it = overlapping(pid, va, end);
            if (it == areas_.end()) return;
            const auto start = it->first.second;
            const auto area = it->second;
            areas_.erase(it);
            const auto from = std::max(start, va);
            const auto to = std::min(start + area.length, end);
            if (start < from) areas_.insert({{pid, start}, area.with(from - start, 0)});
            if (to < start + area.length)
                areas_.insert({{pid, to}, area.with(start + area.length - to, to - start)});
            forget(area.device, pid, from, to - from);
        }
    }

    /// A process moved an area, or a part of one: what the driver knows stays behind.
    void move(std::int32_t pid, std::uint64_t va, std::uint64_t length, std::uint64_t to) {
        const auto it = overlapping(pid, va, va + std::min(length, kEnd - va));
        if (it == areas_.end()) return;
        const auto area = it->second;
        const auto skipped = va - std::min(va, it->first.second);
        cut(pid, va, length);
        cut(pid, to, length);
        areas_.insert_or_assign({pid, to}, area.with(std::min(length, kEnd - to), skipped));
    }

    /// A child has none of its parent's areas but those that raw I/O rights gave.
    void fork(std::int32_t parent, std::int32_t child) {
        for (const auto& [where, area] : of(parent))
            if (area.kind == MapKind::RawRange) areas_.insert({{child, where}, area});
    }

    /// A mapping was exported: a process has a descriptor of it.
    void add_export(MapRecord& record, std::int64_t number) {
        record.exports.push_back(number);
        exports_.insert({record.pid, number});
    }

    /// A process closed such a descriptor, whether or not the mapping is still there. False for a
    /// number that it was never given.
    bool drop_export(std::int32_t pid, std::int64_t number) {
        if (exports_.erase({pid, number}) == 0) return false;
        for (auto& record : records_) {
            const auto it = std::find(record.exports.begin(), record.exports.end(), number);
            if (record.pid != pid || it == record.exports.end()) continue;
            record.exports.erase(it);
            break;
        }
        return true;
    }

    /// The end of a process's address space.
    void drop_process(std::int32_t pid) {
        std::erase_if(exports_, [pid](const auto& entry) { return entry.first == pid; });
        std::erase_if(areas_, [pid](const auto& entry) { return entry.first.first == pid; });
        std::erase_if(records_, [pid](const MapRecord& record) { return record.pid == pid; });
    }

    /// The last close of a process on a device: its records go, its areas stay.
    void drop_records(std::uint32_t device, std::int32_t pid) {
        std::erase_if(records_, [&](const MapRecord& record) {
            return record.device == device && record.pid == pid;
        });
    }

    /// Whether a range touches memory that a process has from the driver, recorded or not.
    [[nodiscard]] bool touches(std::int32_t pid, std::uint64_t va, std::uint64_t size) const {
        return overlapping(pid, va, va + std::min(size, kEnd - va)) != areas_.end();
    }

    /// Calls `visit(offset, length)` for every area of a device, by its place in the device's file.
    template <class F>
    void for_each_area(std::uint32_t device, F visit) const {
        for (const auto& [where, area] : areas_)
            if (area.device == device) visit(area.offset, area.length);
    }

    [[nodiscard]] const std::vector<MapRecord>& records() const { return records_; }

    /// The first record of a process on a device that contains an address, or null.
    [[nodiscard]] MapRecord* find(std::uint32_t device, std::int32_t pid, std::uint64_t address) {
        for (auto& record : records_)
            if (record.device == device && record.pid == pid && record.contains(address))
                return &record;
        return nullptr;
    }

private:
    static constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();

    struct Area {
        std::uint64_t length = 0;
        std::uint32_t device = 0;
        MapKind kind = MapKind::RawRange;

        std::uint64_t offset = 0; ///< in the device's file

        [[nodiscard]] Area with(std::uint64_t other, std::uint64_t skipped) const {
            return {other, device, kind, offset + skipped};
        }
    };
    using Areas = std::map<std::pair<std::int32_t, std::uint64_t>, Area>;

    /// The first area of a process that shares a byte with [va, end).
    [[nodiscard]] Areas::const_iterator overlapping(std::int32_t pid, std::uint64_t va,
                                                    std::uint64_t end) const {
        if (va >= end) return areas_.end();
        auto it = areas_.lower_bound({pid, va});
        if (it != areas_.begin()) {
            const auto before = std::prev(it);
            if (before->first.first == pid && va - before->first.second < before->second.length)
                return before;
        }
        const bool inside = it != areas_.end() && it->first.first == pid && it->first.second < end;
        return inside ? it : areas_.end();
    }

    [[nodiscard]] std::vector<std::pair<std::uint64_t, Area>> of(std::int32_t pid) const {
        std::vector<std::pair<std::uint64_t, Area>> found;
        for (auto it = areas_.lower_bound({pid, 0}); it != areas_.end() && it->first.first == pid;
             ++it)
            found.emplace_back(it->first.second, it->second);
        return found;
    }

    void forget(std::uint32_t device, std::int32_t pid, std::uint64_t va, std::uint64_t length) {
        const auto it = std::find_if(records_.begin(), records_.end(), [&](const auto& record) {
            return record.device == device && record.pid == pid && record.va == va &&
                   record.length == length;
        });
        if (it != records_.end()) records_.erase(it);
    }

    Areas areas_;
    std::set<std::pair<std::int32_t, std::int64_t>> exports_; ///< by process, until closed
    std::vector<MapRecord> records_;
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
