// SPDX-License-Identifier: Apache-2.0
//
// The logical cores a process owns.
// Owns: the records, the size in force, lookups. Does not own: the physical cores
// (context_tree.hpp) or the arithmetic (lnc_size.hpp). Layer: topology. libnrt: virtual_core_t,
// owned_vcores, vtpb. Source: tables.md 12 and 22
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/topology/lnc_size.hpp"

namespace neuronbook {
inline namespace v0 {

/// Number of a logical core among those this process owns, from 0: what programs use once cores
/// were chosen. libnrt: vtpb_idx, vnc
using LogicalIndex = detail::Id<struct LogicalIndexTag>;
/// Number of a logical core among all that a fabric of devices has: routing id x logical cores a
/// device + place on the device. The sources name it and do not say how it is made: our reading.
/// libnrt: nec_dev_id
using FabricCore = detail::Id<struct FabricCoreTag>;

/// One owned logical core. `cores[0]` is its owner, the one that drives its collectives.
/// libnrt: virtual_core_t
template <std::uint32_t MaxLncSize>
struct LogicalCoreRecord {
    LogicalIndex index{};
    LogicalCore id{}; ///< number on the host, whatever this process sees. libnrt: vtpb
    FabricCore fabric{};
    std::uint32_t count = 0; ///< physical cores
    std::array<PhysicalCore, MaxLncSize> cores{};

    [[nodiscard]] std::span<const PhysicalCore> all() const noexcept {
        return {cores.data(), count};
    }

    /// libnrt: vtpb_get_default_tpb
    [[nodiscard]] PhysicalCore default_core() const noexcept { return cores[0]; }

    /// Place of a physical core in this logical core; the eight bytes of its identity decide.
    /// Errors: INVALID with Detail::NotInLogicalCore (value: id of the logical core).
    /// libnrt: vtpb_get_physical_core_index. Differs: a miss is an error, the original asserts.
    [[nodiscard]] Result<std::uint32_t> place_of(PhysicalCore core) const {
        for (std::uint32_t k = 0; k < count; ++k)
            if (cores[k] == core) return k;
        return fail({.status = Status::Invalid,
                     .operation = Operation::Resolve,
                     .detail = Detail::NotInLogicalCore,
                     .device = static_cast<std::int32_t>(core.device.value()),
                     .core = static_cast<std::int32_t>(core.core.value()),
                     .value = id.value()});
    }

    /// The core that runs subgraph `place`. Errors: INVALID with Detail::SubgraphOutOfRange (value,
    /// limit: the size). libnrt: vtpb_physical_core_get_peer
    [[nodiscard]] Result<PhysicalCore> peer(std::uint32_t place) const {
        if (place < count) return cores[place];
        return fail({.status = Status::Invalid,
                     .operation = Operation::Resolve,
                     .detail = Detail::SubgraphOutOfRange,
                     .value = place,
                     .limit = count});
    }

    /// Whether a core is the one that drives this logical core's collectives. Errors: as place_of.
    /// libnrt: vtpb_ptpb_is_ccop_owner
    [[nodiscard]] Result<bool> drives_collectives(PhysicalCore core) const {
        const auto place = place_of(core);
        if (!place) return fail(place.error());
        return *place == 0;
    }
};

/// At most `Most` logical cores of up to `MaxLncSize` physical ones, in order of their numbers.
/// Const members may run in any number of threads; the others belong to bring-up and tear-down.
/// libnrt: owned_vcores, num_owned_vcores.
/// Differs: holds as many as the tree can own; the original's array holds 32.
template <std::uint32_t Most, std::uint32_t MaxLncSize = 2>
class LogicalCores {
public:
    using Record = LogicalCoreRecord<MaxLncSize>;

    /// Effects: the size all later calls go by; whatever was there is forgotten.
    void start(LncSize size) noexcept {
        size_ = size;
        count_ = 0;
    }

    /// Effects: back to how it was made: nothing is known.
    void clear() noexcept {
        size_.reset();
        count_ = 0;
    }

    /// Effects: adds the next logical core. Errors: INVALID with LncNotInitialized, with
    /// LncSizeInvalid where `cores` are not one logical core's, with Duplicate; RESOURCE with
    /// CoreOutOfRange past `Most` (value: how many there are).
    Result<const Record*> add(LogicalCore id, FabricCore fabric,
                              std::span<const PhysicalCore> cores) {
        if (!size_) return fail(not_initialized());
        if (cores.size() != size_->count() || cores.size() > MaxLncSize)
            return fail(wrong(Status::Invalid, Detail::LncSizeInvalid, cores.size(), MaxLncSize));
        if (find(id)) return fail(wrong(Status::Invalid, Detail::Duplicate, id.value(), 0));
        if (count_ == Most)
            return fail(wrong(Status::Resource, Detail::CoreOutOfRange, count_, Most));
        Record& record = records_[count_];
        record = {LogicalIndex{count_}, id, fabric, size_->count(), {}};
        for (std::uint32_t k = 0; k < size_->count(); ++k) record.cores[k] = cores[k];
        ++count_;
        return &record;
    }

    /// The size in force. Errors: INVALID with Detail::LncNotInitialized before start().
    [[nodiscard]] Result<LncSize> size() const {
        if (!size_) return fail(not_initialized());
        return *size_;
    }

    // The translators of LncSize, by the size in force. Errors: as size(); where a logical core is
    // turned into physical ones, INVALID with CoreOutOfRange (value: a core, limit) past those that
    // a host can have, and SubgraphOutOfRange (value, limit: the size).

    /// libnrt: vtpb_translate_ptpb_to_vtpb
    [[nodiscard]] Result<LogicalCore> logical_of(UserCore core) const {
        if (!size_) return fail(not_initialized());
        return size_->logical_of(core);
    }
    /// libnrt: vtpb_translate_vtpb_to_ptpb
    [[nodiscard]] Result<UserCore> core_of(LogicalCore core, std::uint32_t place = 0) const {
        if (!size_) return fail(not_initialized());
        if (place >= size_->count())
            return fail(wrong(Status::Invalid, Detail::SubgraphOutOfRange, place, size_->count()));
        if (auto there = on_a_host(core.value()); !there) return fail(there.error());
        return size_->core_of(core, place);
    }
    [[nodiscard]] Result<std::uint32_t> logical_count(std::uint32_t cores) const {
        if (!size_) return fail(not_initialized());
        return size_->logical_count(cores);
    }
    [[nodiscard]] Result<std::uint32_t> physical_count(std::uint32_t cores) const {
        if (!size_) return fail(not_initialized());
        // As many as there are is one more than the last.
        if (auto there = on_a_host(cores == 0 ? 0 : cores - 1); !there) return fail(there.error());
        return size_->physical_count(cores);
    }

    /// All owned logical cores, by index. libnrt: owned_vcores
    [[nodiscard]] std::span<const Record> owned() const noexcept {
        return {records_.data(), count_};
    }

    /// By index. Errors: INVALID with Detail::CoreOutOfRange. libnrt: vtpb_get_virtual_core
    [[nodiscard]] Result<const Record*> at(LogicalIndex index) const {
        if (index.value() < count_) return &records_[index.value()];
        return fail(wrong(Status::Invalid, Detail::CoreOutOfRange, index.value(), count_));
    }

    /// By host number, or null. libnrt: vtpb_get_virtual_core_by_id
    [[nodiscard]] const Record* find(LogicalCore id) const noexcept {
        return find_if([=](const Record& record) { return record.id == id; });
    }
    /// By fabric number, or null. libnrt: vtpb_get_virtual_core_from_nec_dev_id
    [[nodiscard]] const Record* find(FabricCore fabric) const noexcept {
        return find_if([=](const Record& record) { return record.fabric == fabric; });
    }
    /// The one that a physical core belongs to, or null.
    [[nodiscard]] const Record* find(PhysicalCore core) const noexcept {
        return find_if([=](const Record& record) { return record.place_of(core).has_value(); });
    }

private:
    template <class F>
    [[nodiscard]] const Record* find_if(F matches) const noexcept {
        for (std::uint32_t i = 0; i < count_; ++i)
            if (matches(records_[i])) return &records_[i];
        return nullptr;
    }

    /// Requires: a size is in force.
    [[nodiscard]] Result<void> on_a_host(std::uint32_t core) const {
        const std::uint32_t most = size_->logical_count(kMaxUserCores);
        if (core < most) return {};
        return fail(wrong(Status::Invalid, Detail::CoreOutOfRange, core, most));
    }

    static Error not_initialized() {
        return wrong(Status::Invalid, Detail::LncNotInitialized, 0, 0);
    }
    static Error wrong(Status status, Detail detail, std::uint64_t value, std::uint64_t limit) {
        return {.status = status,
                .operation = Operation::Resolve,
                .detail = detail,
                .value = value,
                .limit = limit};
    }

    std::optional<LncSize> size_;
    std::uint32_t count_ = 0;
    std::array<Record, Most> records_{};
};

} // namespace v0
} // namespace neuronbook
