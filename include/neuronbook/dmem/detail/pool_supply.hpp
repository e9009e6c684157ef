// SPDX-License-Identifier: Apache-2.0
//
// How a pool gets another chunk: how large, what is given back first, whom it asks.
// Owns: the order of these steps. Does not own: chunks (pool_arena.hpp), the driver's call
// (obtain.hpp). Layer: dmem.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string_view>
#include <utility>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/architecture.hpp"
#include "neuronbook/base/log.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/allocation_request.hpp"
#include "neuronbook/dmem/block.hpp"
#include "neuronbook/dmem/detail/driver_owner.hpp"
#include "neuronbook/dmem/detail/obtain.hpp"
#include "neuronbook/dmem/detail/pool_arena.hpp"
#include "neuronbook/dmem/detail/refusal.hpp"
#include "neuronbook/dmem/memory_options.hpp"
#include "neuronbook/dmem/pool/pool_options.hpp"
#include "neuronbook/dmem/pool/pool_statistics.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// How a pool reaches the owner of its chunks.
struct OwnerAccess {
    template <class A>
    static auto& owner(A& allocator) noexcept {
        return *allocator.owner_;
    }
};

/// By HBM; the host's is the last. Made when first asked for.
template <class Arena>
using PoolArenas = std::array<std::atomic<Arena*>, kMaxHbm + 1>;

template <class D, class Traits>
struct PoolSupply {
    using L = typename Traits::Ledger;
    using Arena = PoolArena<typename Traits::Mutex>;

    D& driver;
    const Geometry& geometry;
    DriverOwner<D, L>& owner; ///< of the chunks
    Arena& arena;
    const PoolArenas<Arena>& all; ///< of the pool
    const PoolOptions& options;
    const typename Traits::Growth& growth;

    Error why{};          ///< when run() or reserve() gave nothing
    ChunkRequest tried{}; ///< what the driver was asked last

    /// A block from a new chunk, or from what was freed meanwhile; null: see `why`. One thread at a
    /// time grows, so that several which are short of memory share what one has brought.
    PoolRecord* run(const PoolWish& wish) {
        for (bool again = false;; again = true) {
            {
                const std::lock_guard turn(arena.growing());
                if (PoolRecord* record = arena.take(wish)) return record;
                if (Block chunk = obtain(wish.request, wish.size, true))
                    return arena.add(std::move(chunk), &wish);
                // What others freed while the driver was asked.
                if (PoolRecord* record = arena.take(wish)) return record;
            }
            const MemoryOptions& memory = owner.ledger().options();
            if (again || !room_may_help() || memory.on_out_of_memory == nullptr ||
                !memory.on_out_of_memory(memory.context, why))
                break;
        }
        if (Obtain<D, L>::worth_a_retry(why)) explain(wish.request);
        owner.ledger().observer().refused(why);
        return nullptr;
    }

    /// Effects: one more chunk of `request.size` bytes, all free.
    bool reserve(const AllocationRequest& request) {
        const std::lock_guard turn(arena.growing());
        Block chunk = obtain(request, SegregatedFit::round_up(request.size.count()), false);
        if (!chunk) return false;
        (void)arena.add(std::move(chunk), nullptr);
        return true;
    }

private:
    /// A chunk with room for `size` bytes. Where there is no memory, or no budget: the chunks that
    /// hold no block go back first, and one more try is made, for what is needed and no more.
    Block obtain(const AllocationRequest& request, std::uint64_t size, bool grow) {
        const Bytes needed = *whole_pages(Bytes{size}); // below an HBM's size
        Bytes reserved = arena.reserved();
        Bytes wanted = grow ? larger(request, needed, reserved) : needed;
        if (!allowed(reserved, wanted)) wanted = needed;
        if (!allowed(reserved, wanted)) {
            const std::uint64_t room = options.maximum > needed
                                           ? options.maximum.count() - needed.count()
                                           : std::uint64_t{0};
            if (needed <= options.maximum) (void)flush(room);
            reserved = arena.reserved();
            if (!allowed(reserved, wanted)) return full(request);
        }
        if (arena.full() && flush(0) == 0) return full_of_chunks(request);
        Block chunk = once(request, wanted);
        if (!chunk && Obtain<D, L>::worth_a_retry(why) && (flush_for(why) != 0 || wanted > needed))
            chunk = once(request, needed);
        return chunk;
    }

    [[nodiscard]] bool allowed(Bytes reserved, Bytes more) const noexcept {
        return options.maximum == Bytes{} || contains(options.maximum, reserved, more);
    }
    [[nodiscard]] Bytes larger(const AllocationRequest& request, Bytes needed,
                               Bytes reserved) const noexcept {
        const auto policy = whole_pages(growth.next(needed, reserved, request.location));
        const Bytes most = std::max(geometry.hbm_size, needed);
        return policy ? std::clamp(*policy, needed, most) : needed;
    }

    /// Returns: bytes that went back to the driver.
    std::uint64_t flush(std::uint64_t keep) {
        LeavingSegments leaving;
        arena.release(leaving, keep);
        return leaving.bytes();
    }

    /// A budget and the driver's handles are shared by all HBMs.
    std::uint64_t flush_for(const Error& error) {
        if (error.detail != Detail::OverBudget && error.detail != Detail::OutOfHandles)
            return flush(0);
        LeavingSegments leaving;
        for (const auto& slot : all)
            if (Arena* one = slot.load(std::memory_order_acquire)) one->release(leaving, 0);
        return leaving.bytes();
    }

    Block once(const AllocationRequest& request, Bytes size) {
        AllocationRequest ask = request;
        ask.size = size;
        ask.usage = options.usage;
        ask.alignment = request.alignment > kPage ? request.alignment : Bytes{};
        ask.hint = "pool";
        Obtain<D, L> obtain(driver, geometry, owner);
        if (BlockRecord* record = obtain.once(ask)) return BlockAccess::make(record);
        why = obtain.error();
        why.asked = request.size.count();
        tried = obtain.tried;
        return {};
    }

    /// Whether a user who frees something can change the outcome.
    [[nodiscard]] bool room_may_help() const noexcept {
        return why.detail == Detail::PoolFull || why.detail == Detail::TooManyChunks ||
               Obtain<D, L>::worth_a_retry(why);
    }

    [[nodiscard]] Block full_of_chunks(const AllocationRequest& request) {
        (void)full(request);
        why.detail = Detail::TooManyChunks;
        why.value = why.limit = SegregatedFit::kMaxSegments;
        return {};
    }
    [[nodiscard]] Block full(const AllocationRequest& request) {
        const PoolStatistics now = arena.statistics();
        const bool host = request.location == MemoryLocation::Host;
        why = {.status = host ? Status::FailHostMemAlloc : Status::Resource,
               .operation = Operation::Allocate,
               .detail = Detail::PoolFull,
               .device = static_cast<std::int32_t>(owner.device.value()),
               .core = static_cast<std::int32_t>(owner.core.core.value())};
        if (!host)
            why.hbm = static_cast<std::int32_t>(
                request.hbm.value_or(geometry.default_hbm(owner.core.core)));
        why.value = now.reserved.count();
        why.limit = options.maximum.count();
        why.asked = request.size.count();
        why.free = now.free.count();
        why.largest = now.largest_free.count();
        why.free_blocks = static_cast<std::uint32_t>(now.free_blocks);
        why.others = now.waiting.count();
        why.cause = now.free.count() >= request.size.count() ? FailureCause::Fragmentation
                                                             : FailureCause::Size;
        return {};
    }

    /// Effects: asks driver and ledger for the cause; says what the pool has besides.
    void explain(const AllocationRequest& request) {
        why = Refusal<D, L>{driver, geometry, owner}.explain(why, request, tried);
        if (!owner.ledger().options().report_out_of_memory || !Log::enabled(LogLevel::Error))
            return;
        const PoolStatistics now = arena.statistics();
        const auto number = [](Bytes bytes) {
            return static_cast<unsigned long long>(bytes.count());
        };
        Log::write(LogLevel::Error,
                   "the pool of %.*s memory has %llu bytes reserved there: %llu used, %llu waiting "
                   "for a queue, %llu free in %llu blocks, the largest of %llu",
                   static_cast<int>(owner.account().tier.size()), owner.account().tier.data(),
                   number(now.reserved), number(now.used), number(now.waiting), number(now.free),
                   static_cast<unsigned long long>(now.free_blocks), number(now.largest_free));
    }
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
