// SPDX-License-Identifier: Apache-2.0
//
// How a pool is kept: limits, growth, locks.
// Owns: options, two growth policies, the lock that is none. Does not own: growing (detail/).
// Layer: dmem.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <mutex>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/ledger.hpp"
#include "neuronbook/dmem/owner_account.hpp"
#include "neuronbook/dmem/usage.hpp"
#include "neuronbook/dmem/usage_ledger.hpp"

namespace neuronbook {
inline namespace v0 {

/// What distinguishes one pool of a tier from another.
struct PoolOptions {
    OwnerName name{};            ///< for reports
    Bytes budget{};              ///< most device memory it may reserve in all; 0 for no budget
    Usage usage = Usage::Tensor; ///< what its chunks are booked as, whatever lies in them
    Bytes maximum{};             ///< most it may reserve of one HBM, or of the host; 0 for no limit
};

/// Says how large the next chunk should be: `next(needed, reserved, location)`, where `needed` must
/// fit and `reserved` is there already. What is less than needed counts as needed; whole pages are
/// taken, an HBM at most. Where the driver refuses, exactly the needed bytes are asked for.
template <class G>
concept PoolGrowth = std::copy_constructible<G> &&
                     requires(const G& growth, Bytes needed, Bytes reserved, MemoryLocation at) {
                         { growth.next(needed, reserved, at) } noexcept -> std::same_as<Bytes>;
                     };

/// As much as is there already, so that few chunks are needed whatever the size.
struct DoublingGrowth {
    Bytes first{std::uint64_t{64} << 20};
    Bytes most{std::uint64_t{1} << 30};
    Bytes host{std::uint64_t{1} << 20}; ///< every chunk of host memory: the kernel has few larger

    [[nodiscard]] constexpr Bytes next(Bytes needed, Bytes reserved,
                                       MemoryLocation at) const noexcept {
        const Bytes step = at == MemoryLocation::Host ? host
                           : reserved < first         ? first
                                                      : std::min(reserved, most);
        return std::max(needed, step);
    }
};

/// Always the same; 0 for one chunk a request.
struct FixedGrowth {
    Bytes step{};

    [[nodiscard]] constexpr Bytes next(Bytes needed, Bytes, MemoryLocation) const noexcept {
        return std::max(needed, step);
    }
};

/// For a pool, and all handles to its blocks, that one thread uses.
struct NoLock {
    void lock() noexcept {}
    void unlock() noexcept {}
};

/// What a pool can lock with.
template <class M>
concept PoolMutex = std::default_initializable<M> && requires(M mutex) {
    mutex.lock();
    mutex.unlock();
};

/// The policies of a pool.
template <UsageLedger L = neuronbook::Ledger, PoolMutex M = std::mutex,
          PoolGrowth G = DoublingGrowth>
struct PoolTraits {
    using Ledger = L;
    using Mutex = M;
    using Growth = G;
};

static_assert(PoolGrowth<DoublingGrowth> && PoolGrowth<FixedGrowth>);
static_assert(PoolMutex<NoLock> && PoolMutex<std::mutex>);

} // namespace v0
} // namespace neuronbook
