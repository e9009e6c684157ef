// SPDX-License-Identifier: Apache-2.0
//
// The copies of one core, shared by the core's allocators, with a bounce buffer that is booked.
// Owns: the core's copy engine. Does not own: blocks (allocator.hpp), ways and plans (copy/).
// Layer: dmem.   libnrt: cpy_buf. Source: tables.md 16
#pragma once

#include <memory>
#include <utility>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/log.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/charge.hpp"
#include "neuronbook/dmem/copy/bounce_buffer.hpp"
#include "neuronbook/dmem/copy/copy_engine.hpp"
#include "neuronbook/dmem/usage.hpp"

namespace neuronbook {
inline namespace v0 {

/// Host memory for a bounce buffer, counted in the device's ledger as Generic.
template <class D, class L>
class LedgerBounce {
public:
    /// The driver must outlive it; the ledger is shared.
    LedgerBounce(D& driver, std::shared_ptr<L> ledger, HostDeviceId device, CoreIndex core) noexcept
        : memory_(driver, device, core), ledger_(std::move(ledger)), core_(core) {}

    [[nodiscard]] Result<Chunk> provide(Bytes size) {
        auto made = memory_.provide(size);
        if (!made) return made;
        if (auto booked = ledger_->add(charge(*made)); !booked) {
            (void)give_back(*made);
            return fail(booked.error());
        }
        return made;
    }
    /// Out of the ledger first; what the driver then refuses counts as lost.
    Result<void> take_back(const Chunk& chunk) noexcept {
        if (auto out = ledger_->remove(charge(chunk)); !out)
            Log::write(LogLevel::Error, "the ledger refuses to take out a bounce buffer");
        return give_back(chunk);
    }

private:
    Result<void> give_back(const Chunk& chunk) noexcept {
        auto freed = memory_.take_back(chunk);
        if (!freed) ledger_->lose(charge(chunk));
        return freed;
    }
    [[nodiscard]] Charge charge(const Chunk& chunk) const noexcept {
        const auto category = category_of(Usage::Generic, MemoryLocation::Host);
        return {Usage::Generic, MemoryLocation::Host, 0, core_, *category, chunk.size};
    }

    DriverBounce<D> memory_;
    std::shared_ptr<L> ledger_;
    CoreIndex core_;
};

/// The copy engine of a core. Shared by the core's allocators.
template <class D, class L>
using CoreCopies = CopyEngine<D, PlanByDriver, LedgerBounce<D, L>>;

} // namespace v0
} // namespace neuronbook
