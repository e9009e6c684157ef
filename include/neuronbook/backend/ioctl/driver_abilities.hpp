// SPDX-License-Identifier: Apache-2.0
//
// What a driver can do, from feature word, version and architecture alone.
// Owns: the rule of each ability and the words for its absence. Does not own: the operations.
// Layer: backend.   Source: driver-abi.md 4.2, 7, 8.5, 9.1
#pragma once

#include <cstdint>
#include <string_view>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/backend/ioctl/chunk_forms.hpp"
#include "neuronbook/backend/ioctl/copy_path.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// Whether pinned pages of a process can be the other end of a copy, as can_pin() has it, and why
/// not. Second-generation devices
/// show the feature bit, too, although their engines are refused unless the module was told
/// otherwise, which only the bit that came with 2.29 tells. The shape that 2.24 tried out has no
/// bit.
[[nodiscard]] inline Ability zero_copy_ability(const DriverFacts& facts) noexcept {
    if (!(facts.features & uapi::kFeatureZerocopy))
        return {false, "the driver does not offer zero-copy (feature bit 8, from 2.25 on)"};
    if (can_pin(facts)) return {true, {}};
    if (facts.architecture != Architecture::Sunda)
        return {false, "the driver's zero-copy has another shape before 2.25.4"};
    return {false, "second-generation devices (Trn1, Inf2) have zero-copy for small aligned writes "
                   "only, whatever the driver's feature bit says"};
}

[[nodiscard]] inline Abilities abilities_of(const DriverFacts& facts) noexcept {
    const auto by = [&facts](std::uint64_t bit, std::string_view reason) {
        const bool there = (facts.features & bit) != 0;
        return Ability{there, there ? std::string_view{} : reason};
    };
    const auto form = chunk_form(facts);
    Abilities can;
    can.dmabuf =
        by(uapi::kFeatureDmabuf, "the driver does not offer dma-buf (feature bit 0, from 2.12 on)");
    can.zero_copy = zero_copy_ability(facts);
    can.chunks_above_4gib =
        by(uapi::kFeatureMemAlloc64,
           "the driver has no 64-bit copies (feature bit 6, from 2.20 on): bytes of a chunk beyond "
           "4 GiB cannot be reached");
    can.asynchronous_copy =
        by(uapi::kFeatureAsyncDma,
           "the driver does not offer asynchronous copies (feature bit 1, from 2.12 on)");
    can.aligned_allocation = {form != ChunkForm::Plain, {}};
    if (form == ChunkForm::Plain)
        can.aligned_allocation.reason = "the driver has no aligned allocation (from 2.3.3 on)";
    // Without the type in the request a chunk is as good as any other, at any address.
    const bool typed = form <= ChunkForm::Typed;
    can.contiguous_scratchpad =
        by(typed ? uapi::kFeatureContiguousScratchpad : 0,
           "the driver has no contiguous scratchpad (feature bit 7, from 2.24.7 on)");
    can.allocation_with_address =
        by(uapi::kFeatureAllocWithPa,
           "the driver tells an address in a second call (feature bit 10, from 2.28 on)");
    return can;
}

/// Where nothing may be asked of a driver.
[[nodiscard]] inline Abilities no_abilities(std::string_view reason) noexcept {
    const Ability none{false, reason};
    return {none, none, none, none, none, none, none};
}

/// AbilityOps of a driver `Self`, which lets it look at its facts.
template <class Self>
class AbilityOperations {
public:
    /// Every call; any thread.
    [[nodiscard]] Abilities abilities() const noexcept {
        const auto& self = static_cast<const Self&>(*this);
        if (self.usable()) return abilities_of(self.facts_);
        return no_abilities(self.lease_ ? "this process was forked from the one that has the driver"
                                        : "there is no connection to the driver");
    }
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
