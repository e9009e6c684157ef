// SPDX-License-Identifier: Apache-2.0
//
// The version of the headers, and the name under which process-wide state is kept apart.
// Owns: version numbers. Does not own: the state itself (backend/door/).
// Layer: base.
#pragma once

/// Version of the headers a translation unit was compiled with. Major 0: any minor release may
/// change the interface, and then the inline namespace `v0` changes its number too.
#define NEURONBOOK_VERSION_MAJOR 0
#define NEURONBOOK_VERSION_MINOR 1
#define NEURONBOOK_VERSION_PATCH 0

namespace neuronbook {
inline namespace v0 {

/// The same numbers for code that prefers values to macros.
struct Version {
    int major;
    int minor;
    int patch;
};

inline constexpr Version kVersion{NEURONBOOK_VERSION_MAJOR, NEURONBOOK_VERSION_MINOR,
                                  NEURONBOOK_VERSION_PATCH};

} // namespace v0
} // namespace neuronbook
