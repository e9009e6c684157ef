// SPDX-License-Identifier: Apache-2.0
//
// What a pool knows of a block besides what every allocator knows, and of the chunk it lies in.
// Owns: chunks in segments. Does not own: the records' memory (record_store.hpp), the lock.
// Layer: dmem.
#pragma once

#include <boost/intrusive/slist.hpp>
#include <cstdint>
#include <utility>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/dmem/block.hpp"
#include "neuronbook/dmem/detail/block_record.hpp"
#include "neuronbook/dmem/detail/record_store.hpp"
#include "neuronbook/dmem/pool/segregated_fit.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

struct PoolRecord final : BlockRecord {
    SegregatedFit::Place place = SegregatedFit::kNone;
    std::uint64_t fence = 0; ///< point of the queue it waits for
    Chunk chunk;             ///< that it lies in; a copy, since handles may ask while the pool ends
};
static_assert(sizeof(PoolRecord) == sizeof(BlockRecord), "all of it lies where nothing else is");

using PoolRecordList = RecordList<PoolRecord>;

/// A chunk of the driver's that blocks are cut from. Keeps the chunk.
struct PoolSegment : SegregatedFit::Segment, boost::intrusive::slist_base_hook<> {
    /// Requires: `from` has memory. std::bad_alloc passes through; then the caller still has it.
    explicit PoolSegment(Block& from)
        : Segment(from.address().value(), from.requested().count()), chunk(*from.chunk()),
          block(std::move(from)) {}

    const Chunk chunk;
    Block block; ///< the chunk underneath, with its handle
};
using PoolSegments = boost::intrusive::slist<PoolSegment>;

/// Segments that leave; the driver gets them back when this goes, which must be after any lock.
class LeavingSegments {
public:
    LeavingSegments() noexcept = default;
    LeavingSegments(const LeavingSegments&) = delete;
    LeavingSegments& operator=(const LeavingSegments&) = delete;
    ~LeavingSegments() {
        list_.clear_and_dispose([](PoolSegment* segment) { delete segment; });
    }
    void take(PoolSegment& segment) noexcept { list_.push_front(segment); }
    [[nodiscard]] std::uint64_t bytes() const noexcept {
        std::uint64_t sum = 0;
        for (const PoolSegment& segment : list_) sum += segment.chunk.size.count();
        return sum;
    }

private:
    PoolSegments list_;
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
