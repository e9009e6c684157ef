// SPDX-License-Identifier: Apache-2.0
//
// Bring-up and tear-down: one object per layer, built in rank order and destroyed top down.
// Owns: the driver, the ledgers, the tree and what hangs in its cores. Does not own: models.
// Layer: runtime.   libnrt: tdrv_init, tdrv_destroy, kmgr. Source: tables.md 19 and 22
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/describe.hpp"
#include "neuronbook/base/log.hpp"
#include "neuronbook/dmem/memory_observer.hpp"
#include "neuronbook/runtime/logical_access.hpp"
#include "neuronbook/runtime/machine_view.hpp"
#include "neuronbook/runtime/memory_access.hpp"
#include "neuronbook/runtime/memory_reports.hpp"
#include "neuronbook/runtime_options.hpp"
#include "neuronbook/topology/context_tree.hpp"
#include "neuronbook/topology/core_claim.hpp"
#include "neuronbook/topology/core_map.hpp"
#include "neuronbook/topology/logical_cores.hpp"
#include "neuronbook/topology/routing_map.hpp"

namespace neuronbook {
inline namespace v0 {

/// Shape of a runtime's tree. One with a `kInstanceTable` of its own goes by that instead of
/// kInstances where the type of instance decides.
struct RuntimeShape : TreeTraits {
    static constexpr std::uint32_t kNumMla = 32;
    static constexpr std::uint32_t kNumTpb = kMaxCoresPerDevice;
    /// Who is told of allocations and frees, see memory_observer.hpp. Copied for each device.
    using Observer = NullObserver;
};

/// Everything a process has on its devices, from bring-up to tear-down. Several may live in one
/// process; they share its door to the kernel, and closing one returns only what it took.
///
/// Thread safety: open(), close() and destruction belong to one thread; everything else may be
/// called from any number. Blocks and allocators made by model_allocator() may outlive it: they are
/// closed with it, their memory freed.
template <Driver D = DefaultDriver, class Shape = RuntimeShape>
class Runtime
    : public LogicalAccess<Runtime<D, Shape>, detail::TreeOf<D, Shape>, detail::CoresOf<Shape>>,
      public MemoryAccess<Runtime<D, Shape>, D, Shape>,
      public MemoryReports<Runtime<D, Shape>> {
public:
    using Tree = detail::TreeOf<D, Shape>;
    using Cores = detail::CoresOf<Shape>;
    using Observer = detail::ObserverOf<Shape>;

    /// Effects: brings the book up: connects, settles the logical core size, reads the topology,
    /// claims cores, opens and describes their devices, gives each core its GLOBAL allocator and
    /// each device its ledger. A failure at any step returns what was taken so far and logs one
    /// line. Errors: those of the driver, of choose_lnc_size() and of claim_cores().
    /// libnrt: tdrv_init
    static Result<std::unique_ptr<Runtime>> open(const RuntimeOptions& options, D driver,
                                                 const Observer& observer = Observer{}) {
        if (options.log_level) Log::set_level(*options.log_level);
        std::unique_ptr<Runtime> runtime(new Runtime(std::move(driver)));
        if (auto up = runtime->bring_up(options, observer); !up) {
            Log::write(LogLevel::Error, "%s", describe(up.error()).c_str());
            return fail(up.error());
        }
        return runtime;
    }

    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;
    ~Runtime() { close(); }

    /// Effects: frees what the allocators still own, closes devices, releases claims. Twice is
    /// once. In a forked child nothing is called. libnrt: tdrv_destroy
    void close() noexcept {
        closed_ = true;
        this->end_models();
        logical_.clear();
        tree_.for_each_core([](auto& core) { Runtime::end_core(core.payload); });
        tree_.clear();
        this->drop_ledgers();
        driver_.disconnect();
    }

    /// False once closed, and in a forked child.
    [[nodiscard]] bool usable() const noexcept { return driver_.usable(); }
    [[nodiscard]] bool closed() const noexcept { return closed_; }
    [[nodiscard]] D& driver() noexcept { return driver_; }
    [[nodiscard]] const DriverFacts& facts() const noexcept { return facts_; }
    [[nodiscard]] const Tree& tree() const noexcept { return tree_; }
    [[nodiscard]] const RoutingMap& routing() const noexcept { return routing_; }
    /// The logical cores this process owns, by index, and the size in force. Empty once closed.
    [[nodiscard]] const Cores& logical_cores() const noexcept { return logical_; }

private:
    friend LogicalAccess<Runtime, Tree, Cores>;
    friend MemoryAccess<Runtime, D, Shape>;
    friend MemoryReports<Runtime>;

    explicit Runtime(D driver) : driver_(std::move(driver)) {}

    /// Why nothing can be done: closed, or a forked child.
    [[nodiscard]] Error barred(Operation operation) const {
        return {.status = closed_ ? Status::Closed : Status::Uninitialized,
                .operation = operation,
                .detail = closed_ ? Detail::Closed : Detail::Forked,
                .text = std::string_view("runtime")};
    }

    Result<void> bring_up(const RuntimeOptions& options, const Observer& observer) {
        const auto view = detail::view_machine(driver_, options, Shape::kMaxLncSize,
                                               detail::instances_of<Shape>());
        if (!view) return fail(view.error());
        facts_ = view->facts;
        geometry_ = view->geometry;
        this->start_memory(*geometry_, options.memory, view->cores.lnc(), observer);
        if (auto read = read_topology(); !read) return read;
        if (options.visible && options.core_count != 0)
            Log::write(LogLevel::Warn, "cores %s were chosen, so a number of cores (%u) is ignored",
                       std::string(options.visible->text.view()).c_str(), options.core_count);
        const auto shared = detail::held_here(driver_, view->cores); // by siblings of this process
        if (!shared) return fail(shared.error());
        const auto ranges = claim_cores(driver_, view->cores,
                                        {.visible = options.visible,
                                         .count = options.core_count,
                                         .wait = options.wait_for_cores,
                                         .most_devices = Tree::kNumMla});
        if (!ranges) return fail(ranges.error());
        logical_.start(view->cores.lnc());
        for (const LogicalRange& range : *ranges)
            for (std::uint32_t k = 0; k < range.count; ++k) {
                const LogicalCore core{range.first.value() + k};
                if (auto owned = own(core, view->cores); !owned) return owned;
            }
        return options.reset_cores ? reset_owned_cores(*shared) : Result<void>{};
    }

    Result<void> read_topology() {
        auto ids = driver_.routing_ids();
        if (!ids) return fail(ids.error());
        auto routing = RoutingMap::make(*ids, facts_.family);
        if (!routing) return fail(routing.error());
        routing_ = *routing;
        auto entries = driver_.core_map();
        if (!entries) return fail(entries.error());
        core_map_ = CoreMap(*geometry_, *std::move(entries));
        auto pod = driver_.pod();
        if (!pod) return fail(pod.error());
        tree_.set_machine({.architecture = facts_.architecture,
                           .pod = pod->value_or(Pod{}),
                           .routing_map_size = routing_.size()});
        return {};
    }

    /// Owns the physical cores of a logical core and enters it in the book.
    Result<void> own(LogicalCore core, const PresentCores& present) {
        std::array<PhysicalCore, Shape::kMaxLncSize> parts{};
        const LncSize lnc = present.lnc();
        const LogicalIndex index{static_cast<std::uint32_t>(logical_.owned().size())};
        for (std::uint32_t k = 0; k < lnc.count(); ++k) {
            const auto part = own(lnc.core_of(core, k), index);
            if (!part) return fail(part.error());
            parts[k] = *part;
        }
        const auto routing = routing_.routing_of(present.device_of(core));
        if (!routing) return fail(routing.error());
        const FabricCore fabric{routing->value() * present.per_device() + present.place_of(core)};
        const auto added = logical_.add(core, fabric, std::span(parts).first(lnc.count()));
        return added ? Result<void>{} : fail(added.error());
    }

    /// Opens the core's device when it is the first of it, and hangs the core in the tree.
    Result<PhysicalCore> own(UserCore user, LogicalIndex logical) {
        const auto where = core_map_.host_core(user);
        if (!where) return fail(where.error());
        const auto* device = tree_.find(where->device);
        if (!device) {
            auto added = add_device(where->device);
            if (!added) return fail(added.error());
            device = *added;
        }
        const PhysicalCore id{device->index(), where->core};
        auto core = tree_.own_core(id, user);
        if (!core) return fail(core.error());
        this->start_core((*core)->payload, driver_, device->host(), id);
        (*core)->payload.logical = logical;
        return id;
    }

    Result<typename Tree::Device*> add_device(HostDeviceId host) {
        const auto facts = driver_.open_device(host);
        if (!facts) return fail(facts.error());
        const auto routing = routing_.routing_of(host);
        if (!routing) return fail(routing.error());
        auto added = tree_.add_device(
            {.host = host, .routing = *routing, .bus = facts->bus, .geometry = geometry_});
        if (added) this->start_device((*added)->index(), host);
        return added;
    }

    /// A reset ends the work of whoever uses the core, so `shared` ones are left alone.
    Result<void> reset_owned_cores(const CoreSet& shared) {
        std::array<std::uint32_t, Shape::kNumMla> masks{};
        tree_.for_each_core([&](const auto& core) {
            const std::uint32_t user = core.user().value();
            masks[core.id().device.value()] |= (shared[user] ? 0u : 1u) << core.id().core.value();
            if (shared[user])
                Log::write(LogLevel::Warn, "core %u is not reset: a sibling runtime has it", user);
        });
        Result<void> done;
        tree_.for_each_device([&](const auto& device) {
            const std::uint32_t mask = masks[device.index().value()];
            if (done && mask != 0) done = driver_.reset_cores(device.host(), mask);
        });
        return done;
    }

    D driver_;
    bool closed_ = false;
    DriverFacts facts_{};
    const Geometry* geometry_ = nullptr;
    RoutingMap routing_;
    CoreMap core_map_;
    Tree tree_;
    Cores logical_;
};

} // namespace v0
} // namespace neuronbook
