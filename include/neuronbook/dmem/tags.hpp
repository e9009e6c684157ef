// SPDX-License-Identifier: Apache-2.0
//
// The two tiers of device memory, as types.
// Owns: what a tier is called and how long its memory lives. Does not own: any memory.
// Layer: dmem.   libnrt: dmem_allocator_type_t. Source: tables.md 6
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace neuronbook {
inline namespace v0 {

/// A tier: an empty type that carries its policy.
/// - `kName`: what logs and reports call it.
/// - `kNumber`: the number of the original.
/// - `kLifetime`: whose end is the end of its memory, for the text of a leak.
template <class T>
concept AllocTag = std::is_empty_v<T> && requires {
    { T::kName } -> std::convertible_to<std::string_view>;
    { T::kNumber } -> std::convertible_to<std::uint32_t>;
    { T::kLifetime } -> std::convertible_to<std::string_view>;
};

/// Memory that lives as long as its core: rings, scratchpad pages, shared microcode, tensors.
/// libnrt: DMEM_ALLOCATOR_TYPE_GLOBAL
struct GlobalTag {
    static constexpr std::string_view kName = "GLOBAL";
    static constexpr std::uint32_t kNumber = 0;
    static constexpr std::string_view kLifetime = "core";
};

/// Memory that goes with its model: code, weights, its own rings.
/// libnrt: DMEM_ALLOCATOR_TYPE_MODEL
struct ModelTag {
    static constexpr std::string_view kName = "MODEL";
    static constexpr std::uint32_t kNumber = 1;
    static constexpr std::string_view kLifetime = "model";
};

static_assert(AllocTag<GlobalTag> && AllocTag<ModelTag>);

} // namespace v0
} // namespace neuronbook
