// SPDX-License-Identifier: Apache-2.0
//
// What is known of one block, and who ends it.
// Owns: the facts, the count of handles. Does not own: the list it is in (driver_owner.hpp).
// Layer: dmem.   libnrt: dmem_t. Source: tables.md 6
#pragma once

#include <atomic>
#include <boost/intrusive/list.hpp>
#include <boost/intrusive/slist.hpp>
#include <cstdint>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/architecture.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/charge.hpp"

namespace neuronbook {
inline namespace v0 {

/// How many blocks, and their bytes.
struct BlockCount {
    std::uint64_t blocks = 0;
    Bytes charged{};   ///< as the driver rounded them
    Bytes requested{}; ///< as they were asked for

    void add(const Booking& one) noexcept {
        ++blocks;
        charged = Bytes{charged.count() + one.charge.bytes.count()};
        requested = Bytes{requested.count() + one.requested.count()};
    }
    /// Requires: it was added.
    void remove(const Booking& one) noexcept {
        --blocks;
        charged = Bytes{charged.count() - one.charge.bytes.count()};
        requested = Bytes{requested.count() - one.requested.count()};
    }
};

namespace detail {

/// All that is known of a block. Never changes while the block is live.
struct BlockFacts {
    [[nodiscard]] constexpr Chunk chunk() const noexcept {
        return {handle, booking.address, booking.charge.bytes, booking.charge.location,
                booking.charge.hbm};
    }
    /// Whose lock guards its counters besides the core's: its HBM, or kMaxHbm for host memory.
    [[nodiscard]] constexpr std::uint32_t channel() const noexcept {
        return booking.charge.on_host() ? kMaxHbm : booking.charge.hbm;
    }

    ChunkHandle handle{};
    Booking booking{};
    std::uint64_t number = 0; ///< of the event that made it
    std::uint64_t ticks = 0;
};

struct BlockRecord;
class WeakEntry;

/// Who ends a block when its last handle goes. Lives until its allocator and its last record do.
class BlockOwner {
public:
    BlockOwner(HostDeviceId d, PhysicalCore c) noexcept : device(d), core(c) {}

    const HostDeviceId device; ///< of all its blocks
    const PhysicalCore core;

    /// Effects: frees the block of a record whose last handle went; the record is the owner's.
    /// Returns: what the driver said; CLOSED if the allocator had freed it before.
    virtual Result<void> finish(BlockRecord& record) noexcept = 0;
    /// Effects: `entry` joins the record's chain, and its list. False: the block is gone, and the
    /// entry is still the caller's.
    virtual bool enter(BlockRecord& record, WeakEntry& entry) noexcept = 0;
    /// What the driver made: the chunk that the block is, or lies in. Requires: a handle.
    [[nodiscard]] virtual Chunk chunk_of(const BlockRecord& record) const noexcept;

protected:
    ~BlockOwner() = default;
};

/// Where a record with handles stands; guarded by the owner's lock.
enum class BlockState : std::uint8_t {
    Live,    ///< in the owner's list
    Orphan,  ///< its allocator ended before its handles did
    Waiting, ///< without handles, behind the fence of a queue; a pool's only
};

// A hook that checks nothing writes nothing when a record leaves a list.
using RecordHook =
    boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>>;
using SpareHook =
    boost::intrusive::slist_base_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>>;

/// One block. The count has a cache line of its own: handles are copied while others read facts.
struct alignas(64) BlockRecord : RecordHook, SpareHook {
    BlockRecord() noexcept = default;
    BlockRecord(const BlockRecord&) = delete;
    BlockRecord& operator=(const BlockRecord&) = delete;

    BlockOwner* owner = nullptr; ///< set once, before the first block
    BlockFacts facts;
    WeakEntry* weak = nullptr; ///< entries of weak lists; guarded by the owner's lock
    /// Where the chunk is mapped; null until somebody asks for the address.
    std::atomic<void*> mapping{nullptr};
    std::atomic<std::uint32_t> exports{0}; ///< dma-bufs of it that are open
    BlockState state = BlockState::Live;
    /// False once the allocator ended: the memory is no longer the handles'.
    std::atomic<bool> held{false};
    /// Its chunk is on the way back to the driver, outside the lock: not to be reused yet.
    std::atomic<bool> leaving{false};
    alignas(64) std::atomic<std::uint64_t> count{0};
};

inline Chunk BlockOwner::chunk_of(const BlockRecord& record) const noexcept {
    return record.facts.chunk();
}

} // namespace detail
} // namespace v0
} // namespace neuronbook
