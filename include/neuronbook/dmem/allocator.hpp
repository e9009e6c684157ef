// SPDX-License-Identifier: Apache-2.0
//
// The allocator of one tier on one core.
// Owns: the blocks it made, until the last handle or its own end. Does not own: the driver, the
// ledger, sub-allocation. Layer: dmem.
// libnrt: dmem_allocator_t, dmem_allocator_create, dmem_allocator_destroy. Source: tables.md 6, 15
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/architecture.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/block.hpp"
#include "neuronbook/dmem/detail/driver_owner.hpp"
#include "neuronbook/dmem/ledger.hpp"
#include "neuronbook/dmem/tags.hpp"
#include "neuronbook/dmem/usage.hpp"

namespace neuronbook {
inline namespace v0 {

/// What to allocate.
struct AllocationRequest {
    Bytes size{}; ///< at least 1; the driver rounds up to whole pages
    Usage usage = Usage::Generic;
    MemoryLocation location = MemoryLocation::Device;
    /// Device memory only; the one next to the core unless given.
    std::optional<std::uint32_t> hbm{};
    /// 0 or a power of two up to kMaxAlignment; up to a page it is met anyway. Above a page for
    /// device memory only: the driver aligns no host memory.
    Bytes alignment{};
    /// For reports and the log; copied, and cut after 96 characters.
    std::string_view hint{};
};

/// Allocates from the driver for one core and one tier, and books every byte.
///
/// Driver and ledger must outlive the allocator; handles need not be gone before it. Its destructor
/// frees every block that still has a handle, names each in the log at Warn, and leaves the handles
/// empty. When the driver may not be spoken to (a forked child, or closed), it makes no call.
/// Not copyable or movable.
///
/// Thread safety: every member may be called from any thread, and handles may be dropped while the
/// allocator ends; only its destructor must not run beside its own members. No lock is held during
/// a driver call.
///
/// A driver must not be disconnected while handles are dropped on other threads.
///
/// libnrt: dmem_allocator_t.
/// Differs: destroying it frees what it still owns (E4), the original only unlinks; a block leaves
/// list and ledger before the driver frees it; invalid requests never reach the driver.
template <AllocTag Tag, class D = DefaultDriver, UsageLedger L = Ledger>
class Allocator {
public:
    /// `host` is the device node that `core`'s device has; `geometry` must outlive the allocator.
    Allocator(D& driver, HostDeviceId host, PhysicalCore core, const Geometry& geometry, L& ledger)
        : driver_(driver), ledger_(ledger), host_(host), core_(core), geometry_(geometry),
          owner_(new Owner(driver, ledger)) {
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
        owner_->close(Tag::kName, Tag::kLifetime);
        owner_ = nullptr;
    }

    /// Effects: forgets what it owns, without a call and without a lock: for a forked child whose
    /// driver is gone already. What it owned is the parent's.
    void abandon() noexcept { owner_ = nullptr; }

    /// Effects: one driver call, one entry in the ledger, one block with one handle.
    /// Errors, before any driver call: INVALID with ZeroSize, BadAlignment, HbmOutOfRange,
    /// UsageInvalid or UsageNotHere; RESOURCE with LargerThanHbm (asked and limit).
    /// Then the driver's own; out of memory is RESOURCE with OutOfDeviceMemory (asked; value: bytes
    /// this runtime holds on that HBM; limit: its size) or FAIL_HOST_MEM_ALLOC with
    /// OutOfHostMemory. Then the ledger's. Whatever fails, nothing stays allocated or booked.
    /// std::bad_alloc passes through. libnrt: dmem_alloc, dmem_alloc_aligned, dmem_alloc_internal
    [[nodiscard]] Result<Block> allocate(const AllocationRequest& request) {
        if (!owner_) return fail(closed(Operation::Allocate));
        const auto checked = check(request);
        if (!checked) return fail(checked.error());
        Fresh fresh{new detail::BlockRecord(*owner_)};
        auto& facts = fresh.record->facts;
        auto made = driver_.allocate(host_, *checked);
        if (!made) return fail(complete(made.error(), request, checked->hbm));
        facts.chunk = *made;
        facts.requested = request.size;
        facts.device = host_;
        facts.core = core_;
        facts.usage = request.usage;
        facts.category = checked->category;
        facts.hint = ShortText{request.hint};
        if (auto booked = book(facts, *checked); !booked) {
            (void)owner_->give_back(facts);
            return fail(complete(booked.error(), request, checked->hbm));
        }
        owner_->link(*fresh.record);
        return detail::BlockAccess::make(std::exchange(fresh.record, nullptr));
    }

    /// Effects: drops the handle; on the last one frees the block. Afterwards `block` is empty,
    /// unless the block is another allocator's: then nothing happens to it.
    /// Errors: INVALID_HANDLE with UnknownHandle for an empty handle and Unmatched for another
    /// allocator's; UNINITIALIZED when the driver may not be spoken to; the driver's own, and then
    /// the bytes count as lost().
    /// libnrt: dmem_free
    Result<void> free(Block&& block) {
        if (auto mine = check(block, Operation::Free); !mine) return mine;
        return block.reset();
    }

    /// Copies `from` into the block at `offset`.
    /// Errors: as free() for a handle that is not this allocator's; INVALID with OutOfBounds
    /// (value: offset, asked: bytes, limit: the *requested* size) before any driver call; then the
    /// driver's own.
    /// libnrt: dmem_buf_copyin
    Result<void> write(const Block& block, Bytes offset, std::span<const std::byte> from)
        requires CopyOps<D>
    {
        const auto chunk = range(block, offset, Bytes{from.size()});
        if (!chunk) return fail(chunk.error());
        return from.empty() ? Result<void>{} : driver_.write(host_, *chunk, offset, from);
    }
    /// Copies from the block at `offset` into `to`. Errors: as write().
    /// libnrt: dmem_buf_copyin (the other way)
    Result<void> read(const Block& block, Bytes offset, std::span<std::byte> to)
        requires CopyOps<D>
    {
        const auto chunk = range(block, offset, Bytes{to.size()});
        if (!chunk) return fail(chunk.error());
        return to.empty() ? Result<void>{} : driver_.read(host_, *chunk, offset, to);
    }

    /// Blocks that have a handle, at one instant.
    [[nodiscard]] BlockCount outstanding() const noexcept {
        return owner_ ? owner_->outstanding() : BlockCount{};
    }
    /// Blocks the driver refused to take back, since construction.
    [[nodiscard]] BlockCount lost() const noexcept {
        return owner_ ? owner_->lost() : BlockCount{};
    }
    /// Whether the block came from here.
    [[nodiscard]] bool owns(const Block& block) const noexcept {
        const auto* record = detail::BlockAccess::record(block);
        return record && record->owner == owner_; // never of a closed one
    }

    /// Whether it is open and its driver may be spoken to.
    [[nodiscard]] bool usable() const noexcept {
        return owner_ && static_cast<const D&>(driver_).usable();
    }
    [[nodiscard]] HostDeviceId device() const noexcept { return host_; }
    [[nodiscard]] PhysicalCore core() const noexcept { return core_; }
    /// The HBM a request gets that names none.
    [[nodiscard]] std::uint32_t default_hbm() const noexcept {
        return geometry_.default_hbm(core_.core);
    }

private:
    using Owner = detail::DriverOwner<D, L>;

    /// A record that is not linked yet.
    struct Fresh {
        detail::BlockRecord* record;
        ~Fresh() { delete record; }
    };

    [[nodiscard]] Result<ChunkRequest> check(const AllocationRequest& request) const {
        const bool host = request.location == MemoryLocation::Host;
        const auto hbm = host ? 0 : request.hbm.value_or(default_hbm());
        const auto category = category_of(request.usage, request.location);
        if (!category) return fail(complete(category.error(), request, hbm));
        const ChunkRequest ask{.size = request.size,
                               .alignment = request.alignment,
                               .location = request.location,
                               .hbm = hbm,
                               .core = core_.core,
                               .category = *category};
        if (auto legal = check_request(geometry_, ask); !legal)
            return fail(complete(legal.error(), request, hbm));
        return ask;
    }

    /// Books a chunk that is what was asked for.
    Result<void> book(const detail::BlockFacts& facts, const ChunkRequest& asked) {
        if (facts.chunk.size < asked.size || facts.chunk.location != asked.location ||
            (asked.location == MemoryLocation::Device && facts.chunk.hbm != asked.hbm)) {
            Error error{.operation = Operation::Allocate, .detail = Detail::SelfCheckFailed};
            error.value = facts.chunk.size.count();
            error.text = ShortText{"the driver's chunk is not the one asked for"};
            return fail(error);
        }
        return ledger_.add(Owner::charge_of(facts));
    }

    static Error closed(Operation operation) noexcept {
        return {.status = Status::Closed,
                .operation = operation,
                .detail = Detail::Closed,
                .text = ShortText{"allocator"}};
    }

    [[nodiscard]] Result<void> check(const Block& block, Operation operation) const {
        if (owns(block)) return {};
        if (!owner_) return fail(closed(operation));
        Error error{.status = Status::InvalidHandle, .operation = operation};
        error.detail =
            detail::BlockAccess::record(block) ? Detail::Unmatched : Detail::UnknownHandle;
        error.device = static_cast<std::int32_t>(host_.value());
        error.core = static_cast<std::int32_t>(core_.core.value());
        error.asked = block.charged().count();
        error.text = ShortText{Tag::kName};
        return fail(error);
    }

    [[nodiscard]] Result<Chunk> range(const Block& block, Bytes offset, Bytes size) const {
        if (auto mine = check(block, Operation::Copy); !mine) return fail(mine.error());
        if (contains(block.requested(), offset, size)) return block.chunk();
        Error error{
            .status = Status::Invalid, .operation = Operation::Copy, .detail = Detail::OutOfBounds};
        error.device = static_cast<std::int32_t>(host_.value());
        error.core = static_cast<std::int32_t>(core_.core.value());
        error.value = offset.count();
        error.asked = size.count();
        error.limit = block.requested().count();
        return fail(error);
    }

    /// Puts in what the place of the failure did not know.
    [[nodiscard]] Error complete(Error error, const AllocationRequest& request,
                                 std::uint32_t hbm) const noexcept {
        error.operation = Operation::Allocate;
        error.device = static_cast<std::int32_t>(host_.value());
        error.core = static_cast<std::int32_t>(core_.core.value());
        error.asked = request.size.count();
        if (request.location == MemoryLocation::Host) return error;
        error.hbm = static_cast<std::int32_t>(hbm);
        if (error.detail == Detail::OutOfDeviceMemory) {
            error.limit = geometry_.hbm_size.count();
            error.value = ledger_.used_on_channel(hbm).count();
            error.text = ShortText{name_of(request.usage)};
        }
        return error;
    }

    D& driver_;
    L& ledger_;
    const HostDeviceId host_;
    const PhysicalCore core_;
    const Geometry& geometry_;
    Owner* owner_; ///< null once closed
};

} // namespace v0
} // namespace neuronbook
