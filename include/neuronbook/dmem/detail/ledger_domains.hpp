// SPDX-License-Identifier: Apache-2.0
//
// What of a ledger goes by which lock.
// Owns: the locks, and the events that each guards. Does not own: counters (ledger_rows.hpp).
// Layer: dmem.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "neuronbook/base/architecture.hpp"
#include "neuronbook/dmem/detail/brief_lock.hpp"
#include "neuronbook/dmem/event_ring.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// What goes by one lock, on lines of its own.
struct alignas(64) LedgerDomain {
    explicit LedgerDomain(std::size_t capacity) noexcept : events(capacity) {}
    mutable BriefLock mutex;
    EventRing events;
};

/// One for each HBM and one for host memory.
using LedgerDomains = std::array<LedgerDomain, kMaxHbm + 1>;

/// Holds every lock of a device, taken in the order in which two of them are, too.
class AllLocks {
public:
    explicit AllLocks(const LedgerDomains& domains) : domains_(domains) {
        for (const auto& domain : domains_) domain.mutex.lock();
    }
    AllLocks(const AllLocks&) = delete;
    AllLocks& operator=(const AllLocks&) = delete;
    ~AllLocks() {
        for (const auto& domain : domains_) domain.mutex.unlock();
    }

private:
    const LedgerDomains& domains_;
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
