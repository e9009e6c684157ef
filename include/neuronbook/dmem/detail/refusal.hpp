// SPDX-License-Identifier: Apache-2.0
//
// Finds out why an allocation failed, and tells.
// Owns: whom it asks. Does not own: the verdict and its words (report/).
// Layer: dmem.   libnrt: dml_dump, dml_driver_dump. Source: tables.md 15
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/architecture.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/log.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/dmem/allocation_request.hpp"
#include "neuronbook/dmem/detail/driver_owner.hpp"
#include "neuronbook/dmem/device_usage.hpp"
#include "neuronbook/dmem/memory_options.hpp"
#include "neuronbook/dmem/report/diagnosis.hpp"
#include "neuronbook/dmem/report/oom_report.hpp"
#include "neuronbook/dmem/report/pool_view.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// Called with no lock held. Where the ledger or the driver cannot be asked, the error stays as it
/// is, or says less.
template <class D, class L>
struct Refusal {
    D& driver;
    const Geometry& geometry;
    DriverOwner<D, L>& owner;

    /// Returns: the error with cause, figures and the smallest change; the report goes to the log,
    /// in one piece.
    [[nodiscard]] Error explain(const Error& error, const AllocationRequest& request,
                                const ChunkRequest& ask) {
        L& ledger = owner.ledger();
        if constexpr (requires {
                          { ledger.usage() } -> std::same_as<DeviceUsage>;
                      }) {
            const DeviceUsage usage = ledger.usage();
            const auto seen = look(ask, usage.counters);
            const PoolView* view = seen && *seen ? &**seen : nullptr;
            Diagnosis said = diagnose(failed(error, request, ask), geometry, usage, view);
            if (seen && !*seen && said.cause == FailureCause::Unknown)
                said.reason = seen->error().text.view(); // `seen` outlives the report
            const MemoryOptions& options = ledger.options();
            if (options.report_out_of_memory && Log::enabled(LogLevel::Error))
                Log::write_lines(LogLevel::Error, oom_report(said, geometry, options.lnc_size,
                                                             std::span(&usage, 1), view));
            return neuronbook::complete(error, said);
        } else {
            return error;
        }
    }

private:
    /// Nothing where there is no list to look at.
    std::optional<Result<PoolView>> look(const ChunkRequest& ask, const LedgerSnapshot& counters) {
        if constexpr (AuditOps<D>)
            if (ask.location == MemoryLocation::Device)
                return view_pools(driver, owner.device, geometry, ask.hbm, counters);
        return std::nullopt;
    }

    [[nodiscard]] FailedRequest failed(const Error& error, const AllocationRequest& request,
                                       const ChunkRequest& ask) const noexcept {
        const bool handles = error.detail == Detail::OutOfHandles;
        return {.device = owner.device,
                .core = owner.core.core,
                .location = request.location,
                .hbm = ask.hbm,
                .usage = request.usage,
                .requested = request.size,
                .asked = ask.size,
                .alignment = request.alignment,
                .owner = owner.account().name.id,
                .tier = owner.account().tier,
                .refused_by = handles ? FailureCause::Handles : error.cause};
    }
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
