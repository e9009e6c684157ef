// SPDX-License-Identifier: Apache-2.0
//
// What opens a machine and allocates on it, and the one place that says which driver is meant when
// none is named. Pools (dmem/pool.hpp) and models (model/model_database.hpp) are headers of their
// own.
// Owns: DefaultDriver. Does not own: anything else; include single headers to pay for less.
// Layer: umbrella.
#pragma once

#include "neuronbook/backend/any_port.hpp"
#include "neuronbook/backend/count_port.hpp"
#include "neuronbook/backend/driver.hpp"
#include "neuronbook/backend/fault_port.hpp"
#include "neuronbook/backend/ioctl_driver.hpp"
#include "neuronbook/backend/posix_port.hpp"
#include "neuronbook/backend/sim/kernel.hpp"
#include "neuronbook/backend/sim/port.hpp"
#include "neuronbook/backend/trace_port.hpp"
#include "neuronbook/base/describe.hpp"
#include "neuronbook/base/undo.hpp"
#include "neuronbook/base/version.hpp"
#include "neuronbook/model/descriptor_cache.hpp"
#include "neuronbook/process_runtime.hpp"
#include "neuronbook/runtime.hpp"
#include "neuronbook/runtime/core_counts.hpp"
#include "neuronbook/topology/group_size.hpp"

namespace neuronbook {
inline namespace v0 {

/// The driver of this machine's own devices: what `Allocator<GlobalTag>` and `Runtime<>` mean.
struct DefaultDriver : IoctlDriver<PosixPort> {
    DefaultDriver() : IoctlDriver(PosixPort{}) {}
};

static_assert(Driver<DefaultDriver>);

/// The driver of a simulated machine: the same code over another port.
using SimDriver = IoctlDriver<SimPort>;

static_assert(Driver<SimDriver>);

} // namespace v0
} // namespace neuronbook
