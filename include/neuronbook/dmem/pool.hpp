// SPDX-License-Identifier: Apache-2.0
//
// An allocator that cuts its blocks from large chunks, so that few allocations reach the driver.
// Owns: a pool of chunks for each HBM and for the host. Does not own: the driver, the ledger, which
// range is free (pool/segregated_fit.hpp). Layer: dmem.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/architecture.hpp"
#include "neuronbook/base/log.hpp"
#include "neuronbook/base/process_mark.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/allocation_request.hpp"
#include "neuronbook/dmem/allocator.hpp"
#include "neuronbook/dmem/block.hpp"
#include "neuronbook/dmem/block_transfers.hpp"
#include "neuronbook/dmem/detail/leak_line.hpp"
#include "neuronbook/dmem/detail/pool_arena.hpp"
#include "neuronbook/dmem/detail/pool_supply.hpp"
#include "neuronbook/dmem/pool/pool_options.hpp"
#include "neuronbook/dmem/pool/pool_statistics.hpp"
#include "neuronbook/dmem/pool/work_queue.hpp"
#include "neuronbook/dmem/survivor.hpp"
#include "neuronbook/dmem/tags.hpp"

namespace neuronbook {
inline namespace v0 {

/// A block, and how far in it an address is.
struct FoundBlock {
    Block block;
    Bytes offset{};
};

/// One tier's pool on one core: a drop-in for Allocator, which it takes its chunks from. Each HBM,
/// and the host, has chunks, free ranges and a lock of its own. The ledger counts the chunks, by
/// PoolOptions::usage; what the blocks in them are for is known to the pool alone, and observers
/// are told of chunks. Nothing is ever written into a chunk to keep books.
///
/// A block begins at a multiple of 512 bytes and takes as many; MemoryOptions::zero holds for each.
/// Chunks stay when they are empty, until trim(), or until the driver or a budget has nothing left.
/// A block never moves.
///
/// Driver, ledger and handles: as for Allocator. A block's handle may be dropped whatever the
/// driver's state, since that makes no call. A pool that ends gives its chunks back whatever queues
/// may still do in them, and says so in the log.
///
/// Thread safety: as Allocator, if Traits::Mutex locks. With NoLock, one thread uses the pool and
/// all its handles. A thread that grows the pool holds up others that have to grow it, and nobody
/// else. Observers of its chunks, and its growth policy, are called by that thread in its turn, so
/// they must not use the pool; the functions of MemoryOptions are called without any lock.
///
/// Differs: the original has no such pool; a driver call for each block.
template <AllocTag Tag, class D = DefaultDriver, class Traits = PoolTraits<>>
class Pool : public BlockTransfers<Pool<Tag, D, Traits>, D, typename Traits::Ledger> {
    using L = typename Traits::Ledger;
    using Base = BlockTransfers<Pool, D, L>;

public:
    using Copies = typename Base::Copies;
    using Growth = typename Traits::Growth;

    /// As Allocator's constructor. No chunk is taken before the first block.
    Pool(D& driver, HostDeviceId host, PhysicalCore core, const Geometry& geometry,
         std::shared_ptr<L> ledger, const PoolOptions& options = {},
         std::shared_ptr<Copies> copies = nullptr, Growth growth = {})
        : Base(driver, host, core, ledger, std::move(copies)), geometry_(geometry),
          options_(options), growth_(std::move(growth)),
          chunks_(driver, host, core, geometry, std::move(ledger),
                  {.name = options.name, .budget = options.budget}) {}
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;
    ~Pool() { close(); }

    /// Effects: frees every block that still has a handle, reports each as MemoryOptions::on_leak
    /// says, leaves the handles empty, and gives all chunks back. Afterwards every call answers
    /// CLOSED. Twice is once. Nothing else may run beside it.
    void close() noexcept {
        if (!chunks_.is_open() || !process_.here()) return;
        const MemoryOptions options = owner().ledger().options();
        bool any = false;
        for (auto& slot : arenas_)
            if (Arena* arena = slot.exchange(nullptr, std::memory_order_relaxed)) {
                Survivor row;
                while (arena->pop(row, owner().account(), owner().ledger().clock()))
                    if (usable()) {
                        any = true;
                        tell(options, row);
                    }
                if (const std::uint64_t waited = arena->close(); waited != 0 && usable())
                    Log::write(LogLevel::Warn, "a pool ends while %llu bytes wait for a queue",
                               static_cast<unsigned long long>(waited));
            }
        chunks_.close();
        this->close_copies();
        if (any && options.on_leak == OnLeak::Abort) std::abort();
    }

    /// Effects: forgets what it owns, without a call and without a lock: for a forked child whose
    /// driver is gone already. What it owned is the parent's.
    void abandon() noexcept {
        for (auto& slot : arenas_) slot.store(nullptr, std::memory_order_relaxed);
        chunks_.abandon();
        this->abandon_copies();
    }

    /// Effects: one block with one handle, in a chunk that is there, or in a new one. Takes host
    /// memory only where the pool has never had as many blocks, or free ranges between them.
    /// Errors: as Allocator::allocate(); RESOURCE (or FAIL_HOST_MEM_ALLOC) with TooManyChunks for
    /// the 65 537th chunk of an HBM, or with PoolFull where PoolOptions::maximum forbids another
    /// chunk: bytes reserved (value), that maximum (limit), bytes free and in the largest of
    /// `free_blocks`, bytes waiting (others). Before any refusal, chunks without a block go back to
    /// the driver, once, and it is asked once more, for no more than is needed; then
    /// MemoryOptions::on_out_of_memory may ask for all of it again.
    [[nodiscard]] Result<Block> allocate(const AllocationRequest& request) {
        if (!chunks_.is_open()) return fail(this->closed(Operation::Allocate));
        ChunkRequest ask;
        // What it may not answer itself, the allocator underneath refuses: no request goes on.
        if (!detail::translate(geometry_, this->core_.core, request, ask) || !usable())
            if (auto said = chunks_.allocate(request); !said) return said;
        const detail::PoolWish wish{.request = request,
                                    .category = ask.category,
                                    .size = SegregatedFit::round_up(request.size.count()),
                                    .number = numbers_.fetch_add(1, std::memory_order_relaxed),
                                    .ticks = owner().ledger().clock().now()};
        Arena& from = arena(ask.location, ask.hbm);
        detail::PoolRecord* record = from.take(wish);
        if (record == nullptr) {
            auto supply = this->supply(from);
            record = supply.run(wish);
            if (record == nullptr) return fail(supply.why);
        }
        Block block = detail::BlockAccess::make(record);
        if (owner().ledger().options().zero)
            if (auto zeroed = zero(block); !zeroed) return fail(zeroed.error());
        return block;
    }

    /// Effects: drops the handle; on the last one frees the block. Afterwards `block` is empty,
    /// unless the block is another allocator's. Errors: as Allocator::free(), none of a driver.
    Result<void> free(Block&& block) {
        if (auto mine = this->check(block, Operation::Free); !mine) return mine;
        return block.reset();
    }

    /// Effects: frees the block as soon as `queue` has reached `point`, without holding up blocks
    /// of other queues. Until then its bytes are waiting(): neither used nor free. Afterwards
    /// `block` is empty. Errors: as free() for the handle; INVALID with StillShared for a block
    /// with more than one handle (value); then `block` is as before.
    Result<void> free_after(Block&& block, const WorkQueue& queue, std::uint64_t point) {
        if (auto mine = this->check(block, Operation::Free); !mine) return mine;
        // In a child of fork() the arena's lock may belong to a thread that is not here.
        if (!process_.here() || (queue.reached() >= point && block.handles() == 1))
            return block.reset();
        auto& record = static_cast<detail::PoolRecord&>(*detail::BlockAccess::record(block));
        if (!static_cast<Arena*>(record.owner)->free_after(record, queue, point))
            return fail(this->still_shared(block));
        detail::BlockAccess::forget(block);
        return {};
    }

    /// Effects: moves the block's bytes to the other kind of memory, through the core's copies, and
    /// frees the old block. Returns, errors: as Allocator::relocate(); counters of both change one
    /// after the other.
    [[nodiscard]] Result<Block> relocate(Block&& block, MemoryLocation to)
        requires CopyOps<D>
    {
        if (auto mine = this->check(block, Operation::Allocate); !mine) return fail(mine.error());
        if (block.handles() != 1) return fail(this->still_shared(block));
        if (block.location() == to) return std::move(block);
        auto made = allocate({.size = block.requested(),
                              .usage = block.usage(),
                              .location = to,
                              .hint = block.hint()});
        if (!made) return made;
        if (auto moved = this->copy(block, Bytes{}, *made, Bytes{}, block.requested()); !moved)
            return fail(moved.error());
        (void)block.reset();
        return made;
    }

    /// The live block that a device address is in, with a handle to it; nothing for an address in
    /// no block of this pool. Costs a walk over the blocks of one MiB at most.
    [[nodiscard]] std::optional<FoundBlock> find(DeviceAddress address) {
        if (!usable()) return std::nullopt;
        for (const auto& slot : arenas_)
            if (Arena* one = slot.load(std::memory_order_acquire))
                if (auto* record = one->find(address.value())) {
                    Block block = detail::BlockAccess::make(record);
                    const Bytes offset{address.value() - block.address().value()};
                    return FoundBlock{std::move(block), offset};
                }
        return std::nullopt;
    }

    /// The block's bytes in this process. Its chunk is mapped when this is first asked of one of
    /// its blocks, and stays mapped. Errors: those of the driver's map(). libnrt: dmem_get_va
    [[nodiscard]] Result<std::span<std::byte>> map(const Block& block)
        requires MapOps<D>
    {
        if (auto mine = this->check(block, Operation::Map); !mine) return fail(mine.error());
        auto& record = static_cast<detail::PoolRecord&>(*detail::BlockAccess::record(block));
        const auto& segment = static_cast<Arena*>(record.owner)->segment_of(record);
        const auto chunk = chunks_.map(segment.block);
        if (!chunk) return chunk;
        record.mapping.store(chunk->data(), std::memory_order_release); // for reports
        return chunk->subspan(block.address().value() - segment.block.address().value(),
                              block.requested().count());
    }

    /// Effects: takes a chunk of `size` bytes now, for blocks to come. Errors: as allocate().
    Result<void> reserve(Bytes size, MemoryLocation location = MemoryLocation::Device,
                         std::optional<std::uint32_t> hbm = {}) {
        if (!chunks_.is_open()) return fail(this->closed(Operation::Allocate));
        const AllocationRequest request{
            .size = size, .usage = options_.usage, .location = location, .hbm = hbm};
        ChunkRequest ask;
        if (!detail::translate(geometry_, this->core_.core, request, ask) || !usable())
            if (auto said = chunks_.allocate(request); !said) return fail(said.error());
        auto supply = this->supply(arena(ask.location, ask.hbm));
        if (supply.reserve(request)) return {};
        return fail(supply.why);
    }

    /// Effects: gives chunks without a block back to the driver, of each HBM and the host until no
    /// more than `keep` bytes are reserved there. Returns: bytes given back; what the driver
    /// refuses to take counts as lost().
    Bytes trim(Bytes keep = {}) {
        std::uint64_t sum = 0;
        if (usable())
            for (const auto& slot : arenas_)
                if (Arena* one = slot.load(std::memory_order_acquire)) {
                    detail::LeavingSegments leaving;
                    one->release(leaving, keep.count());
                    sum += leaving.bytes();
                }
        return Bytes{sum};
    }
    /// Effects: what queues are done with is free. Happens by itself where memory is short.
    void collect() {
        for (const auto& slot : arenas_)
            if (Arena* one = slot.load(std::memory_order_acquire)) one->collect();
    }

    /// Of one HBM; nothing but zeros for one without a chunk.
    [[nodiscard]] PoolStatistics statistics(std::uint32_t hbm) const noexcept {
        return of(hbm < kMaxHbm ? arenas_[hbm].load(std::memory_order_acquire) : nullptr);
    }
    [[nodiscard]] PoolStatistics host_statistics() const noexcept {
        return of(arenas_[kMaxHbm].load(std::memory_order_acquire));
    }
    /// Of all HBMs and the host, one after the other.
    [[nodiscard]] PoolStatistics statistics() const noexcept {
        PoolStatistics sum;
        for (const auto& slot : arenas_) sum.add(of(slot.load(std::memory_order_acquire)));
        return sum;
    }

    /// Effects: most device memory it may reserve from now on, 0 for no budget.
    void set_budget(Bytes most) noexcept { chunks_.set_budget(most); }

    /// Blocks that have a handle.
    [[nodiscard]] BlockCount outstanding() const noexcept {
        BlockCount sum;
        for (const auto& slot : arenas_)
            if (Arena* one = slot.load(std::memory_order_acquire)) {
                const BlockCount some = one->outstanding();
                sum.blocks += some.blocks;
                sum.charged = Bytes{sum.charged.count() + some.charged.count()};
                sum.requested = Bytes{sum.requested.count() + some.requested.count()};
            }
        return sum;
    }
    /// Chunks the driver refused to take back.
    [[nodiscard]] BlockCount lost() const noexcept { return chunks_.lost(); }
    /// Every block that has a handle, oldest first.
    [[nodiscard]] std::vector<Survivor> survivors() const {
        std::vector<Survivor> rows;
        for (const auto& slot : arenas_)
            if (Arena* one = slot.load(std::memory_order_acquire))
                one->survivors(rows, owner().account(), owner().ledger().clock());
        std::sort(rows.begin(), rows.end(),
                  [](const Survivor& a, const Survivor& b) { return a.number < b.number; });
        return rows;
    }
    /// Whether the block came from here.
    [[nodiscard]] bool owns(const Block& block) const noexcept {
        const auto* record = detail::BlockAccess::record(block);
        return record != nullptr && chunks_.is_open() &&
               std::any_of(arenas_.begin(), arenas_.end(), [&](const auto& slot) {
                   return slot.load(std::memory_order_acquire) == record->owner;
               });
    }

    [[nodiscard]] std::uint32_t id() const noexcept { return chunks_.id(); }
    [[nodiscard]] bool is_open() const noexcept { return chunks_.is_open(); }
    [[nodiscard]] bool usable() const noexcept { return chunks_.usable(); }
    [[nodiscard]] HostDeviceId device() const noexcept { return this->host_; }
    [[nodiscard]] PhysicalCore core() const noexcept { return this->core_; }
    [[nodiscard]] static constexpr std::string_view tier() noexcept { return Tag::kName; }
    [[nodiscard]] std::uint32_t default_hbm() const noexcept { return chunks_.default_hbm(); }

private:
    using Arena = detail::PoolArena<typename Traits::Mutex>;

    [[nodiscard]] auto& owner() const noexcept { return detail::OwnerAccess::owner(chunks_); }

    /// Made when first asked for; whoever is second drops his.
    Arena& arena(MemoryLocation location, std::uint32_t hbm) {
        auto& slot = arenas_[location == MemoryLocation::Host ? kMaxHbm : hbm];
        if (Arena* there = slot.load(std::memory_order_acquire)) return *there;
        auto* fresh = new Arena(this->host_, this->core_);
        Arena* there = nullptr;
        if (slot.compare_exchange_strong(there, fresh, std::memory_order_acq_rel)) return *fresh;
        (void)fresh->close();
        return *there;
    }
    [[nodiscard]] detail::PoolSupply<D, Traits> supply(Arena& of) {
        return {this->driver_, geometry_, owner(), of, arenas_, options_, growth_};
    }
    static PoolStatistics of(Arena* arena) noexcept {
        return arena == nullptr ? PoolStatistics{} : arena->statistics();
    }

    Result<void> zero(const Block& block) {
        if constexpr (CopyOps<D>)
            return this->fill(block, Bytes{}, block.requested(), std::byte{0});
        else
            return {}; // its chunk could not be made
    }

    static void tell(const MemoryOptions& options, const Survivor& block) noexcept {
        if (options.on_leak == OnLeak::Log || options.on_leak == OnLeak::Abort)
            detail::log_leak(block, Tag::kLifetime);
        if (options.on_leak == OnLeak::Call && options.leaked)
            options.leaked(options.context, block);
    }

    const Geometry& geometry_;
    const PoolOptions options_;
    const Growth growth_;
    detail::ProcessMark process_;
    Allocator<Tag, D, L> chunks_;
    std::atomic<std::uint64_t> numbers_{1};
    detail::PoolArenas<Arena> arenas_{};
};

} // namespace v0
} // namespace neuronbook
