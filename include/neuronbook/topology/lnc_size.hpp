// SPDX-License-Identifier: Apache-2.0
//
// How many physical cores a logical core has, and the arithmetic that follows from it.
// Owns: the rule for a size, the translators that need nothing else. Does not own: which size is in
// force (logical_cores.hpp), the driver's map (core_map.hpp).
// Layer: topology.   libnrt: parse_vnc_config. Source: tables.md 12
#pragma once

#include <bit>
#include <cstdint>

#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/result.hpp"

namespace neuronbook {
inline namespace v0 {

/// Physical cores of a logical core: a power of two from 1 to 8. Logical core v is made of the user
/// cores v x size to v x size + size - 1. A value, as thread-safe as a number; nothing here needs a
/// runtime to be up, and nothing allocates. libnrt: lnc_size, ctx_vtpb_core_size
class LncSize {
public:
    constexpr LncSize() noexcept = default;

    /// Effects: a size that fits a device of `cores_per_device` cores; `most` is the largest that
    /// the program was built for. Errors: INVALID with Detail::LncSizeInvalid (value: the size
    /// asked for, limit: the largest that would do).
    static constexpr Result<LncSize> make(std::uint32_t size, std::uint32_t most,
                                          std::uint32_t cores_per_device) {
        const std::uint32_t limit = most < cores_per_device ? most : cores_per_device;
        if (!std::has_single_bit(size) || size > limit || cores_per_device % size != 0)
            return fail({.status = Status::Invalid,
                         .operation = Operation::BringUp,
                         .detail = Detail::LncSizeInvalid,
                         .value = size,
                         .limit = limit});
        return LncSize(static_cast<std::uint32_t>(std::countr_zero(size)));
    }

    /// Physical cores of one logical core.
    [[nodiscard]] constexpr std::uint32_t count() const noexcept { return 1u << shift_; }

    /// The logical core that a core belongs to. libnrt: vtpb_translate_ptpb_to_vtpb_no_state
    [[nodiscard]] constexpr LogicalCore logical_of(UserCore core) const noexcept {
        return LogicalCore{core.value() >> shift_};
    }

    /// Which of its logical core's cores it is, from 0. Core 0 drives the collectives.
    [[nodiscard]] constexpr std::uint32_t place_of(UserCore core) const noexcept {
        return core.value() & (count() - 1);
    }

    /// The core at `place` of a logical core. Requires: place < count(), and a logical core that
    /// some host can have. libnrt: vtpb_translate_vtpb_to_ptpb_no_state
    [[nodiscard]] constexpr UserCore core_of(LogicalCore core,
                                             std::uint32_t place = 0) const noexcept {
        return UserCore{(core.value() << shift_) + place};
    }

    /// Logical cores that `cores` physical ones make, a last one with some missing included.
    /// libnrt: vtpb_ptpb_num_cores_to_vtpb_num_cores_no_state
    [[nodiscard]] constexpr std::uint32_t logical_count(std::uint32_t cores) const noexcept {
        return (cores >> shift_) + ((cores & (count() - 1)) != 0 ? 1 : 0);
    }

    /// Physical cores of `cores` logical ones. Requires: no more than a host can have.
    [[nodiscard]] constexpr std::uint32_t physical_count(std::uint32_t cores) const noexcept {
        return cores << shift_;
    }

    friend constexpr bool operator==(LncSize, LncSize) noexcept = default;

private:
    explicit constexpr LncSize(std::uint32_t shift) noexcept : shift_(shift) {}

    std::uint32_t shift_ = 0;
};

} // namespace v0
} // namespace neuronbook
