// SPDX-License-Identifier: Apache-2.0
//
// How many logical cores there are, for programs that have not brought a runtime up.
// Owns: the answer. Does not own: any core; nothing is claimed or attached.
// Layer: runtime.   libnrt: nrt_get_total_vnc_count, nrt_get_visible_vnc_count.
// Source: nrt-surface.md 3
#pragma once

#include <cstdint>
#include <utility>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/runtime/machine_view.hpp"
#include "neuronbook/runtime_options.hpp"
#include "neuronbook/topology/context_tree.hpp"

namespace neuronbook {
inline namespace v0 {

/// Logical cores of a machine.
struct CoreCounts {
    std::uint32_t total = 0;   ///< of all devices present, whatever was chosen
    std::uint32_t visible = 0; ///< that a runtime of these options would have

    friend bool operator==(const CoreCounts&, const CoreCounts&) = default;
};

/// Effects: counts, through a driver object of its own that is gone afterwards. Other processes may
/// have all cores, and runtimes of this process keep theirs. Without devices both numbers are 0.
/// Limit: where nothing of this library is up in the process, the driver's lane is closed again,
/// and with it the kernel drops all core marks that another library of the process made by itself.
/// Errors: as Runtime::open() up to its claim; NotEnoughCores when the options want more cores than
/// there are.
template <class D>
    requires Connectable<D> && TopologyOps<D>
Result<CoreCounts> count_cores(const RuntimeOptions& options, D driver,
                               std::uint32_t most_lnc = TreeTraits::kMaxLncSize) {
    const auto devices = driver.devices();
    if (!devices) return fail(devices.error());
    if (devices->empty()) return CoreCounts{};
    struct Disconnect {
        D& driver;
        ~Disconnect() { driver.disconnect(); }
    } const disconnect{driver};
    const auto view = detail::view_machine(driver, options, most_lnc);
    if (!view) return fail(view.error());
    const std::uint32_t total = view->cores.total();
    if (options.visible) {
        const auto& [range, text] = *options.visible;
        if (auto here = view->cores.check(range, text.view()); !here) return fail(here.error());
        return CoreCounts{total, range.count};
    }
    if (options.core_count != 0 && !view->cores.has_run(options.core_count, kMaxHostDevices))
        return fail({.status = Status::LoadNotEnoughNc,
                     .operation = Operation::Query,
                     .detail = Detail::NotEnoughCores,
                     .limit = total,
                     .asked = options.core_count,
                     .largest = view->cores.longest_run(CoreSet{}.set(), kMaxHostDevices),
                     .lnc = view->cores.lnc().count()});
    return CoreCounts{total, options.core_count != 0 ? options.core_count : total};
}

} // namespace v0
} // namespace neuronbook
