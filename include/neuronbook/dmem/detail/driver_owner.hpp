// SPDX-License-Identifier: Apache-2.0
//
// The owner of blocks that knows the driver and the ledger.
// Owns: the order of giving back. Does not own: driver, ledger, list (block_owner.hpp).
// Layer: dmem.
#pragma once

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/log.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/status.hpp"
#include "neuronbook/dmem/detail/block_owner.hpp"
#include "neuronbook/dmem/ledger.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// The owner that knows driver and ledger.
template <class D, class L>
class DriverOwner final : public BlockOwner {
public:
    DriverOwner(D& driver, L& ledger) noexcept : driver_(driver), ledger_(ledger) {}

    static Charge charge_of(const BlockFacts& facts) noexcept {
        return {facts.usage,     facts.chunk.location, facts.chunk.hbm,
                facts.core.core, facts.category,       facts.chunk.size};
    }

    /// Out of the ledger first, then the driver: it reuses the handle at once (tables.md 22).
    Result<void> release(const BlockFacts& facts) noexcept override {
        if (const auto booked = ledger_.remove(charge_of(facts)); !booked)
            report("the ledger refuses to take out", facts, booked.error());
        return give_back(facts);
    }

    /// Effects: gives the chunk to the driver; if it refuses, the bytes count as lost.
    Result<void> give_back(const BlockFacts& facts) noexcept {
        auto freed = driver_.free(facts.device, facts.chunk);
        if (freed) return freed;
        report("the driver refuses to free", facts, freed.error());
        ledger_.lose(charge_of(facts));
        lose(facts);
        return freed;
    }

private:
    [[nodiscard]] bool usable() const noexcept override {
        return static_cast<const D&>(driver_).usable();
    }
    void destroy() noexcept override { delete this; }

    static void report(const char* what, const BlockFacts& facts, const Error& error) noexcept {
        const auto status = name_of(error.status);
        Log::write(LogLevel::Error, "%s %llu bytes of device %u, handle %llu: %.*s, errno %d", what,
                   static_cast<unsigned long long>(facts.chunk.size.count()), facts.device.value(),
                   static_cast<unsigned long long>(facts.chunk.handle.value()),
                   static_cast<int>(status.size()), status.data(), error.os_error);
    }

    D& driver_;
    L& ledger_;
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
