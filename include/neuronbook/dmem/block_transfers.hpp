// SPDX-License-Identifier: Apache-2.0
//
// What can be done with the bytes of an allocator's blocks: copies, fills, the address in this
// process.
// Owns: the bounds of a block, its mapping. Does not own: ways and plans of copies (copy/), blocks.
// Layer: dmem.   libnrt: dmem_buf_copyin, dmem_buf_copyout, dmem_get_va. Source: tables.md 15, 16
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/log.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/block.hpp"
#include "neuronbook/dmem/block_export.hpp"
#include "neuronbook/dmem/copy/copy_progress.hpp"
#include "neuronbook/dmem/core_copies.hpp"

namespace neuronbook {
inline namespace v0 {

namespace detail {

struct NoCopies {};

/// The engine where the driver can copy, else nothing.
template <class D, class L>
struct CopiesOf {
    using type = NoCopies;
};
template <class D, class L>
    requires MemoryOps<D> && CopyOps<D>
struct CopiesOf<D, L> {
    using type = CoreCopies<D, L>;
};

} // namespace detail

/// The part of an Allocator that moves bytes. Every offset counts from the block's first byte, and
/// no access leaves the bytes that were *requested*.
/// Errors of every copy: INVALID_HANDLE or CLOSED for a handle that is not this allocator's, as
/// Allocator::free(); INVALID with OutOfBounds (value: offset, asked: bytes, limit: the requested
/// size) before any driver call; then the engine's (copy/copy_engine.hpp).
template <class Self, class D, class L>
class BlockTransfers {
public:
    using Copies = typename detail::CopiesOf<D, L>::type;

    /// Copies `from` into the block at `offset`. libnrt: dmem_buf_copyin
    Result<void> write(const Block& block, Bytes offset, std::span<const std::byte> from,
                       ProgressRef progress = {})
        requires CopyOps<D>
    {
        const auto at = range(block, offset, Bytes{from.size()});
        if (!at) return fail(at.error());
        return copies_->write(at->chunk, at->offset, from, progress);
    }
    /// Copies from the block at `offset` into `to`. libnrt: dmem_buf_copyout
    Result<void> read(const Block& block, Bytes offset, std::span<std::byte> to,
                      ProgressRef progress = {})
        requires CopyOps<D>
    {
        const auto at = range(block, offset, Bytes{to.size()});
        if (!at) return fail(at.error());
        return copies_->read(at->chunk, at->offset, to, progress);
    }
    /// Sets bytes of the block. libnrt: dmem_memset
    Result<void> fill(const Block& block, Bytes offset, Bytes size, std::byte value)
        requires CopyOps<D>
    {
        const auto at = range(block, offset, size);
        if (!at) return fail(at.error());
        return copies_->fill(at->chunk, at->offset, size, value);
    }
    /// Copies between blocks of one device; `to` is this allocator's. Blocks of one HBM by one
    /// driver copy, of two HBMs through the host. Errors: besides, INVALID with RangesOverlap
    /// inside one block, and OtherDevice for a `from` of another device.
    /// libnrt: dmem_copy
    Result<void> copy(const Block& from, Bytes from_offset, const Block& to, Bytes to_offset,
                      Bytes size, ProgressRef progress = {})
        requires CopyOps<D>
    {
        const auto target = range(to, to_offset, size);
        if (!target) return fail(target.error());
        const auto source = within(from, from_offset, size);
        if (!source) return fail(source.error());
        if (from.device() != host_) {
            Error error = place(Detail::OtherDevice);
            error.value = from.device().value();
            error.limit = host_.value();
            return fail(error);
        }
        return copies_->copy(source->chunk, source->offset, target->chunk, target->offset, size,
                             progress);
    }

    struct Write {
        const Block& block;
        Bytes offset{};
        std::span<const std::byte> from{};
    };
    struct Read {
        const Block& block;
        Bytes offset{};
        std::span<std::byte> to{};
    };
    /// Many at once, in few driver calls where the driver can. All are checked before the first.
    Result<void> write_batch(std::span<const Write> batch)
        requires CopyOps<D>
    {
        std::vector<WritePiece> pieces;
        pieces.reserve(batch.size());
        for (const Write& one : batch) {
            const auto at = range(one.block, one.offset, Bytes{one.from.size()});
            if (!at) return fail(at.error());
            pieces.push_back({at->chunk, at->offset, one.from});
        }
        return copies_->write_batch(pieces);
    }
    Result<void> read_batch(std::span<const Read> batch)
        requires CopyOps<D>
    {
        std::vector<ReadPiece> pieces;
        pieces.reserve(batch.size());
        for (const Read& one : batch) {
            const auto at = range(one.block, one.offset, Bytes{one.to.size()});
            if (!at) return fail(at.error());
            pieces.push_back({at->chunk, at->offset, one.to});
        }
        return copies_->read_batch(pieces);
    }

    /// The block's bytes in this process; mapped when first asked for, unmapped before the block is
    /// freed. Errors: those of the driver's map(). libnrt: dmem_get_va
    [[nodiscard]] Result<std::span<std::byte>> map(const Block& block)
        requires MapOps<D>
    {
        if (auto mine = check(block, Operation::Map); !mine) return fail(mine.error());
        auto* record = detail::BlockAccess::record(block);
        void* address = record->mapping.load(std::memory_order_acquire);
        if (address == nullptr) {
            auto mapped = driver_.map(host_, record->facts.chunk());
            if (!mapped) return fail(mapped.error());
            if (record->mapping.compare_exchange_strong(address, *mapped,
                                                        std::memory_order_acq_rel))
                address = *mapped;
            else
                (void)driver_.unmap(*mapped, record->facts.chunk()); // another thread was first
        }
        auto* first = static_cast<std::byte*>(address) + block.align_offset().count();
        return std::span<std::byte>(first, block.requested().count());
    }

    /// Bytes of the block as a dma-buf; any range, the export tells where it begins in its first
    /// page. Maps the block. Errors: as a copy's for handle and range; INVALID with ZeroSize; those
    /// of the driver's map() and share(). libnrt: nrt_get_dmabuf_fd_v2
    [[nodiscard]] Result<BlockExport<D>> share(const Block& block, Bytes offset, Bytes size)
        requires MapOps<D> && ShareOps<D>
    {
        const auto at = range(block, offset, size);
        if (!at) return fail(at.error());
        const auto pages = shared_pages(at->chunk.size, at->offset, size);
        if (!pages) return fail(pages.error());
        const auto bytes = static_cast<Self&>(*this).map(block);
        if (!bytes) return fail(bytes.error());
        const std::byte* first = bytes->data() - block.align_offset().count();
        const auto descriptor = driver_.share(host_, first + pages->offset.count(), pages->size);
        if (!descriptor) return fail(descriptor.error());
        return BlockExport<D>(driver_, *descriptor, pages->into_page, block);
    }

protected:
    BlockTransfers(D& driver, HostDeviceId host, PhysicalCore core,
                   const std::shared_ptr<L>& ledger, std::shared_ptr<Copies> copies)
        : driver_(driver), host_(host), core_(core), copies_(std::move(copies)) {
        if constexpr (MemoryOps<D> && CopyOps<D>) {
            own_copies_ = copies_ == nullptr;
            if (own_copies_)
                copies_ = std::make_shared<Copies>(
                    driver, host, core.core, LedgerBounce<D, L>(driver, ledger, host, core.core));
        }
    }
    ~BlockTransfers() = default;

    void close_copies() noexcept {
        if constexpr (MemoryOps<D> && CopyOps<D>)
            if (own_copies_) copies_->close();
    }
    void abandon_copies() noexcept {
        if constexpr (MemoryOps<D> && CopyOps<D>)
            if (own_copies_) copies_->abandon();
    }

    [[nodiscard]] Error closed(Operation operation) const noexcept {
        return {.status = Status::Closed,
                .operation = operation,
                .detail = Detail::Closed,
                .text = std::string_view("allocator")};
    }

    /// Whether a handle is this allocator's. The first that is not and was to be freed is logged.
    [[nodiscard]] Result<void> check(const Block& block, Operation operation) const {
        const auto& self = static_cast<const Self&>(*this);
        if (self.owns(block)) return {};
        if (!self.is_open()) return fail(closed(operation));
        const bool empty = detail::BlockAccess::record(block) == nullptr;
        Error error = place(empty ? Detail::UnknownHandle : Detail::Unmatched);
        error.status = Status::InvalidHandle;
        error.operation = operation;
        error.asked = block.charged().count();
        error.text = Self::tier();
        if (operation == Operation::Free) tell_once(empty);
        return fail(error);
    }

    [[nodiscard]] Error still_shared(const Block& block) const noexcept {
        Error error = place(Detail::StillShared);
        error.value = block.handles();
        return error;
    }

    D& driver_;
    const HostDeviceId host_;
    const PhysicalCore core_;

private:
    /// A place in a chunk.
    struct Place {
        Chunk chunk;
        Bytes offset;
    };

    [[nodiscard]] Error place(Detail detail) const noexcept {
        return {.status = Status::Invalid,
                .operation = Operation::Copy,
                .detail = detail,
                .device = static_cast<std::int32_t>(host_.value()),
                .core = static_cast<std::int32_t>(core_.core.value())};
    }

    [[nodiscard]] Result<Place> range(const Block& block, Bytes offset, Bytes size) const {
        if (auto mine = check(block, Operation::Copy); !mine) return fail(mine.error());
        return within(block, offset, size);
    }

    /// Of any allocator's block.
    [[nodiscard]] Result<Place> within(const Block& block, Bytes offset, Bytes size) const {
        const auto chunk = block.chunk();
        if (!chunk) return fail(chunk.error());
        if (contains(block.requested(), offset, size))
            return Place{*chunk, Bytes{offset.count() + block.align_offset().count()}};
        Error error = place(Detail::OutOfBounds);
        error.value = offset.count();
        error.asked = size.count();
        error.limit = block.requested().count();
        return fail(error);
    }

    void tell_once(bool empty) const noexcept {
        if (told_of_unmatched_.exchange(true, std::memory_order_relaxed)) return;
        Log::write(LogLevel::Warn, "device %u core %u: free() got %s; more of these are not logged",
                   host_.value(), core_.core.value(),
                   empty ? "an empty handle" : "another allocator's block");
    }

    mutable std::atomic<bool> told_of_unmatched_{false};
    std::shared_ptr<Copies> copies_;
    bool own_copies_ = false; ///< nobody else uses them
};

} // namespace v0
} // namespace neuronbook
