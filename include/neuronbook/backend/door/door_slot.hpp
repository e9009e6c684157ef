// SPDX-License-Identifier: Apache-2.0
//
// The one word of a process on which its registry of doors hangs.
// Owns: the symbol. Does not own: what it points to (door.hpp).
// Layer: backend.
#pragma once

#include <atomic>

// It has to be the same word in every shared object of one version, also in those opened with
// RTLD_LOCAL, which only a symbol of binding GNU_UNIQUE is. g++ would give an inline variable that
// binding, clang would not, so it is written out. The name carries the version and the standard
// library: what may differ in layout stays apart. An object that holds a unique symbol is never
// unloaded, so a door cannot lose its code.
#ifndef NEURONBOOK_DOORS
#ifdef _LIBCPP_VERSION
#define NEURONBOOK_DOORS "neuronbook_doors_v0_libcxx"
#else
#define NEURONBOOK_DOORS "neuronbook_doors_v0"
#endif
#endif

// clang-format off
__asm__(".pushsection .bss." NEURONBOOK_DOORS ",\"awG\",%nobits," NEURONBOOK_DOORS ",comdat\n"
        ".globl " NEURONBOOK_DOORS "\n"
        ".type " NEURONBOOK_DOORS ",%gnu_unique_object\n"
        ".size " NEURONBOOK_DOORS ",8\n"
        ".balign 8\n"
        NEURONBOOK_DOORS ":\n"
        ".zero 8\n"
        ".popsection\n");
// clang-format on

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// Null until the first door of the process. Zero bytes are a null atomic pointer.
[[gnu::visibility("default")]] extern std::atomic<void*> door_slot __asm__(NEURONBOOK_DOORS);
static_assert(sizeof(door_slot) == 8);

} // namespace detail
} // namespace v0
} // namespace neuronbook
