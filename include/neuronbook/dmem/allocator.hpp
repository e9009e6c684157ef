// SPDX-License-Identifier: Apache-2.0
//
// The allocator of one tier on one core.
// Owns: the blocks it made, until the last handle or its own end. Does not own: the driver, the
// ledger, sub-allocation. Layer: dmem.
// libnrt: dmem_allocator_t, dmem_allocator_create, dmem_allocator_destroy. Source: tables.md 6, 15
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/architecture.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/allocation_request.hpp"
#include "neuronbook/dmem/block.hpp"
#include "neuronbook/dmem/block_transfers.hpp"
#include "neuronbook/dmem/detail/driver_owner.hpp"
#include "neuronbook/dmem/detail/leak_line.hpp"
#include "neuronbook/dmem/detail/obtain.hpp"
#include "neuronbook/dmem/ledger.hpp"
#include "neuronbook/dmem/owner_account.hpp"
#include "neuronbook/dmem/survivor.hpp"
#include "neuronbook/dmem/tags.hpp"
#include "neuronbook/dmem/usage_ledger.hpp"

namespace neuronbook {
inline namespace v0 {

namespace detail {
struct OwnerAccess;
}

/// What distinguishes one allocator of a tier from another.
struct AllocatorOptions {
    OwnerName name{}; ///< for reports
    Bytes budget{};   ///< most it may hold of device memory, charged; 0 for no budget
};

/// Allocates from the driver for one core and one tier, and books every byte.
///
/// The driver must outlive the allocator; the ledger is shared; handles need not be gone before it.
/// Its destructor frees every block that still has a handle, reports each as MemoryOptions::on_leak
/// says, and leaves the handles empty. When the driver may not be spoken to (a forked child, or
/// closed), it makes no call. Not copyable or movable.
///
/// Thread safety: every member may be called from any thread, and handles may be dropped while the
/// allocator ends; only its destructor must not run beside its own members. No lock is held during
/// a driver call, and no host memory is taken under one.
///
/// libnrt: dmem_allocator_t.
/// Differs: destroying it frees what it still owns (E4), the original only unlinks; a block leaves
/// list and ledger before the driver frees it; invalid requests never reach the driver. There is no
/// compaction: a block moves only when relocate() is asked to.
template <AllocTag Tag, class D = DefaultDriver, UsageLedger L = Ledger>
class Allocator : public BlockTransfers<Allocator<Tag, D, L>, D, L> {
public:
    using Copies = typename BlockTransfers<Allocator, D, L>::Copies;

    /// `host` is the device node that `core`'s device has; `geometry` must outlive the allocator.
    /// `copies`: the core's, shared by its allocators; nothing: it gets its own.
    Allocator(D& driver, HostDeviceId host, PhysicalCore core, const Geometry& geometry,
              std::shared_ptr<L> ledger, const AllocatorOptions& options = {},
              std::shared_ptr<Copies> copies = nullptr)
        : BlockTransfers<Allocator, D, L>(driver, host, core, ledger, std::move(copies)),
          geometry_(geometry),
          owner_(new Owner(driver, std::move(ledger), host, core, geometry.default_hbm(core.core),
                           Tag::kName, options.name, options.budget)) {
        // Not a constraint of the class: the default driver is incomplete where it is named.
        static_assert(MemoryOps<D>, "Allocator: the driver must satisfy MemoryOps");
    }
    Allocator(const Allocator&) = delete;
    Allocator& operator=(const Allocator&) = delete;
    ~Allocator() { close(); }

    /// Effects: what the destructor does, now: frees every block that still has a handle.
    /// Afterwards every call answers CLOSED. Twice is once. Nothing else may run beside it.
    void close() noexcept {
        if (!owner_) return;
        const MemoryOptions options = owner_->ledger().options();
        const OnLeak on_leak = options.on_leak;
        bool any = false;
        owner_->close([&](const Survivor& block) {
            any = true;
            if (on_leak == OnLeak::Log || on_leak == OnLeak::Abort)
                detail::log_leak(block, Tag::kLifetime);
            if (on_leak == OnLeak::Call && options.leaked) options.leaked(options.context, block);
        });
        owner_ = nullptr;
        this->close_copies();
        if (any && on_leak == OnLeak::Abort) std::abort();
    }

    /// Effects: forgets what it owns, without a call and without a lock: for a forked child whose
    /// driver is gone already. What it owned is the parent's.
    void abandon() noexcept {
        owner_ = nullptr;
        this->abandon_copies();
    }

    /// Effects: one driver call, one entry in the ledger, one block with one handle. With
    /// MemoryOptions::zero the block is filled with zeros. On a driver without an aligned call, a
    /// larger chunk in which the block begins at the smallest aligned offset.
    /// Errors, before any driver call: INVALID with ZeroSize, BadAlignment, HbmOutOfRange,
    /// UsageInvalid or UsageNotHere; RESOURCE with LargerThanHbm (asked and limit), or with
    /// OverBudget (value: bytes taken, limit: the budget).
    /// Then the driver's own; out of memory is RESOURCE with OutOfDeviceMemory (asked; value: bytes
    /// this runtime holds on that HBM; limit: its size; what is free there, the largest block and
    /// the cause, where the driver tells) or FAIL_HOST_MEM_ALLOC with OutOfHostMemory; both and a
    /// budget's refusal go to MemoryOptions::on_out_of_memory first, which may ask for one more
    /// try. Then the ledger's. Whatever fails, nothing stays allocated, reserved or booked.
    /// std::bad_alloc passes through. libnrt: dmem_alloc, dmem_alloc_aligned, dmem_alloc_internal
    [[nodiscard]] Result<Block> allocate(const AllocationRequest& request) {
        if (!owner_) return fail(this->closed(Operation::Allocate));
        detail::Obtain<D, L> obtain(this->driver_, geometry_, *owner_);
        if (auto* record = obtain.run(request)) return detail::BlockAccess::make(record);
        return fail(obtain.error());
    }

    /// Effects: drops the handle; on the last one frees the block. Afterwards `block` is empty,
    /// unless the block is another allocator's: then nothing happens to it.
    /// Errors: INVALID_HANDLE with UnknownHandle for an empty handle and Unmatched for another
    /// allocator's, the first of which is logged; UNINITIALIZED when the driver may not be spoken
    /// to; the driver's own, and then the bytes count as lost(). libnrt: dmem_free
    Result<void> free(Block&& block) {
        if (auto mine = this->check(block, Operation::Free); !mine) return mine;
        return block.reset();
    }

    /// Effects: moves the block's bytes to the other kind of memory, device or host, and frees the
    /// old chunk; a device block comes to the core's default HBM. Counters of both change in one
    /// step: no reader sees the block in both, or in neither. A mapping of it ends, and weak lists
    /// do not know the moved block; one that is exported has a second handle. Returns: the block at
    /// its new place; `block` is empty. On failure `block` is as before. Errors: as free() for the
    /// handle; INVALID with StillShared for a block with more than one handle (value); as
    /// allocate(); the driver's for the copy.
    [[nodiscard]] Result<Block> relocate(Block&& block, MemoryLocation to) {
        if (auto mine = this->check(block, Operation::Allocate); !mine) return fail(mine.error());
        if (block.handles() != 1) return fail(this->still_shared(block));
        if (block.location() == to) return std::move(block);
        const AllocationRequest request{.size = block.requested(),
                                        .usage = block.usage(),
                                        .location = to,
                                        .hint = block.hint()};
        detail::Obtain<D, L> obtain(this->driver_, geometry_, *owner_);
        obtain.replaced = detail::BlockAccess::record(block);
        auto* record = obtain.run(request);
        if (record == nullptr) return fail(obtain.error());
        detail::BlockAccess::forget(block);
        return detail::BlockAccess::make(record);
    }

    /// Effects: most it may hold from now on, 0 for no budget. What it holds already stays.
    void set_budget(Bytes most) noexcept {
        if (owner_) owner_->account().budget = most.count();
    }

    /// Blocks that have a handle, at one instant.
    [[nodiscard]] BlockCount outstanding() const noexcept {
        return owner_ ? owner_->outstanding() : BlockCount{};
    }
    /// Blocks the driver refused to take back, since construction.
    [[nodiscard]] BlockCount lost() const noexcept {
        return owner_ ? owner_->lost() : BlockCount{};
    }
    /// Every block that has a handle, oldest first, with its age and how many handles it has.
    [[nodiscard]] std::vector<Survivor> survivors() const {
        return owner_ ? owner_->survivors() : std::vector<Survivor>{};
    }
    /// Whether the block came from here.
    [[nodiscard]] bool owns(const Block& block) const noexcept {
        const auto* record = detail::BlockAccess::record(block);
        return record && owner_ && record->owner == owner_; // never of a closed one
    }

    /// Its number in reports; 0 once closed.
    [[nodiscard]] std::uint32_t id() const noexcept {
        return owner_ ? owner_->account().name.id : 0;
    }
    [[nodiscard]] bool is_open() const noexcept { return owner_ != nullptr; }
    /// Whether it is open and its driver may be spoken to.
    [[nodiscard]] bool usable() const noexcept {
        return owner_ && static_cast<const D&>(this->driver_).usable();
    }
    [[nodiscard]] HostDeviceId device() const noexcept { return this->host_; }
    [[nodiscard]] PhysicalCore core() const noexcept { return this->core_; }
    [[nodiscard]] static constexpr std::string_view tier() noexcept { return Tag::kName; }
    /// The HBM a request gets that names none.
    [[nodiscard]] std::uint32_t default_hbm() const noexcept {
        return geometry_.default_hbm(this->core_.core);
    }

private:
    friend detail::OwnerAccess;
    using Owner = detail::DriverOwner<D, L>;

    const Geometry& geometry_;
    Owner* owner_; ///< null once closed
};

} // namespace v0
} // namespace neuronbook
