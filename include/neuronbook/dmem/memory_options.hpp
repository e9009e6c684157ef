// SPDX-License-Identifier: Apache-2.0
//
// How device memory is kept, as data.
// Owns: the options of a device's ledger and allocators. Does not own: the environment.
// Layer: dmem.   Source: tables.md 22, nrt-surface.md 4
#pragma once

#include <cstddef>
#include <cstdint>

#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/survivor.hpp"

namespace neuronbook {
inline namespace v0 {

/// Whether events and blocks carry the time.
enum class Stamps : std::uint8_t {
    None,  ///< age is not known
    Clock, ///< one read of the coarse system clock, milliseconds, a few nanoseconds of work
    Ticks, ///< one read of the processor's time stamp counter
};

/// What becomes of blocks that outlive their allocator. They are freed whatever is chosen.
enum class OnLeak : std::uint8_t {
    Log,   ///< one line for each
    Quiet, ///< nothing
    Call,  ///< MemoryOptions::leaked is called for each
    Abort, ///< one line for each, then std::abort(): for tests
};

/// Called when an allocation found no memory or met a budget, with no lock held. True: something
/// was freed, try once more.
using OutOfMemoryFunction = bool (*)(void* context, const Error& error);
/// Called for a block that outlives its allocator, right before it is freed. Must not throw. While
/// a runtime closes it must not make, end or list model allocators: their list is being closed.
using LeakFunction = void (*)(void* context, const Survivor& block);

/// Sizes in bytes. One value for all devices of a runtime.
struct MemoryOptions {
    /// Events that are kept of each HBM, and of host memory; 0 for none. The memory is taken when
    /// the first is written. NEURON_RT_DEBUG_MEMLOG_MAX_SIZE
    std::size_t events = 65536;
    Stamps stamps = Stamps::Clock;
    /// Most that one physical core may hold; 0 for no budget.
    Bytes core_budget{};
    /// Fill new memory with zeros. The driver does not: it shows what was there before.
    bool zero = false;
    /// Write the report of nrt's users when an allocation fails, at Error.
    /// NEURON_RT_ENABLE_DEVICE_MEMORY_OOM_LOG
    bool report_out_of_memory = true;
    /// Physical cores of a logical one, for that report; 0: not known. A runtime fills it in.
    std::uint32_t lnc_size = 0;
    OnLeak on_leak = OnLeak::Log;
    LeakFunction leaked = nullptr;
    OutOfMemoryFunction on_out_of_memory = nullptr;
    void* context = nullptr; ///< for both functions
};

} // namespace v0
} // namespace neuronbook
