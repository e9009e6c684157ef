// SPDX-License-Identifier: Apache-2.0
//
// A block of device or host memory, and the handle that keeps it.
// Owns: the count of handles. Does not own: allocation (allocator.hpp), the list of blocks.
// Layer: dmem.   libnrt: dmem_t, dmem. Source: tables.md 6 and 15
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/detail/block_record.hpp"
#include "neuronbook/dmem/usage.hpp"

namespace neuronbook {
inline namespace v0 {

namespace detail {
struct BlockAccess;
}

/// A counted handle to a block: copying acquires, the last one dropped frees. The destructor is
/// silent, what goes wrong is logged; Allocator::free() answers.
///
/// A handle may outlive its allocator, which frees the memory when it ends: the handle is then
/// empty, like a default-constructed one, and everything it says is zero. In a forked child and
/// after the driver was closed, dropping a handle makes no call.
///
/// Thread safety: as a shared pointer. Different handles to one block may be used from different
/// threads; one handle may not be changed while another thread uses it.
///
/// libnrt: dmem_t, dmem.
/// Differs: requested and charged bytes are both kept; the hint is stored as text, so that it
/// cannot dangle; the alignment offset is the smallest.
class Block {
public:
    Block() noexcept = default;
    /// libnrt: dmem_acquire_reference
    Block(const Block& other) noexcept : record_(other.record_) {
        if (record_) record_->count.fetch_add(1, std::memory_order_relaxed);
    }
    Block(Block&& other) noexcept : record_(std::exchange(other.record_, nullptr)) {}
    Block& operator=(Block other) noexcept {
        std::swap(record_, other.record_);
        return *this;
    }
    ~Block() { (void)reset(); }

    /// Effects: drops the handle now; on the last one frees the block.
    /// Returns: what went wrong with the free; success for an empty handle or one of several.
    Result<void> reset() noexcept {
        auto* record = std::exchange(record_, nullptr);
        if (!record) return {};
        // The only handle has nobody to race with: a handle is copied from a handle.
        if (record->count.load(std::memory_order_acquire) != 1 &&
            record->count.fetch_sub(1, std::memory_order_acq_rel) != 1)
            return {};
        return record->owner->finish(*record);
    }

    /// Whether there is memory behind the handle. False also once its allocator has ended.
    explicit operator bool() const noexcept {
        return record_ && record_->held.load(std::memory_order_acquire);
    }

    /// What the driver made.
    /// Errors: INVALID_HANDLE with UnknownHandle for an empty handle; CLOSED with Detail::Closed if
    /// the allocator ended before.
    [[nodiscard]] Result<Chunk> chunk() const {
        if (*this) return record_->owner->chunk_of(*record_);
        Error error{.status = Status::InvalidHandle, .operation = Operation::Query};
        error.detail = Detail::UnknownHandle;
        if (record_) {
            error.status = Status::Closed;
            error.detail = Detail::Closed;
            error.text = ShortText{"allocator"};
        }
        return fail(error);
    }

    // Of an empty handle: all zero.

    /// Bytes asked for: the bound of every access. libnrt: size
    [[nodiscard]] Bytes requested() const noexcept { return facts().booking.requested; }
    /// Bytes the driver took, whole pages: what the ledger counts. Of a pool's block, what the pool
    /// took for it. libnrt: allocated_size
    [[nodiscard]] Bytes charged() const noexcept { return charge().bytes; }
    /// Where the block begins in its device's address space. libnrt: _pa
    [[nodiscard]] DeviceAddress address() const noexcept {
        const Booking& booking = facts().booking;
        return DeviceAddress{booking.address.value() + booking.align_offset};
    }
    /// From the start of its chunk to the block: not 0 where the driver had no aligned call, and
    /// in a pool.
    /// libnrt: align_offset
    [[nodiscard]] Bytes align_offset() const noexcept {
        if (!*this) return Bytes{};
        return Bytes{address().value() - record_->owner->chunk_of(*record_).address.value()};
    }
    /// libnrt: mem_type
    [[nodiscard]] MemoryLocation location() const noexcept { return charge().location; }
    /// libnrt: tdram_channel
    [[nodiscard]] std::uint32_t hbm() const noexcept { return charge().hbm; }
    /// libnrt: mem_usage_type
    [[nodiscard]] Usage usage() const noexcept { return charge().usage; }
    [[nodiscard]] HostDeviceId device() const noexcept {
        return *this ? record_->owner->device : HostDeviceId{};
    }
    /// The core the block is charged to. libnrt: pcore
    [[nodiscard]] PhysicalCore core() const noexcept {
        return *this ? record_->owner->core : PhysicalCore{};
    }
    /// The caller's own word for it; valid as long as this handle. libnrt: hint
    [[nodiscard]] std::string_view hint() const noexcept { return facts().booking.hint.view(); }
    /// Handles to the block at some instant, for tests and reports. libnrt: ref_count
    [[nodiscard]] std::uint64_t handles() const noexcept {
        return record_ ? record_->count.load(std::memory_order_relaxed) : 0;
    }

    /// Same block, not equal contents.
    friend bool operator==(const Block& a, const Block& b) noexcept {
        return a.record_ == b.record_;
    }

private:
    friend detail::BlockAccess;

    explicit Block(detail::BlockRecord* record) noexcept : record_(record) {}

    [[nodiscard]] const detail::BlockFacts& facts() const noexcept {
        static constexpr detail::BlockFacts nothing;
        return *this ? record_->facts : nothing;
    }

    [[nodiscard]] const Charge& charge() const noexcept { return facts().booking.charge; }

    detail::BlockRecord* record_ = nullptr;
};

namespace detail {

/// How an allocator makes and recognises handles.
struct BlockAccess {
    static Block make(BlockRecord* record) noexcept { return Block(record); }
    static BlockRecord* record(const Block& block) noexcept { return block.record_; }
    /// Its record is somebody else's by now.
    static void forget(Block& block) noexcept { block.record_ = nullptr; }
};

} // namespace detail

} // namespace v0
} // namespace neuronbook
