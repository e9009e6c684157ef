// SPDX-License-Identifier: Apache-2.0
//
// A part of a block as a dma-buf, for another driver's hardware.
// Owns: the descriptor, and a handle that keeps the block while it is open. Does not own: the
// block. Layer: dmem.   libnrt: nrt_get_dmabuf_fd_v2. Source: driver-abi.md 9.1
#pragma once

#include <cstdint>
#include <utility>

#include "neuronbook/base/log.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/block.hpp"
#include "neuronbook/dmem/detail/block_record.hpp"

namespace neuronbook {
inline namespace v0 {

/// An exported range. The driver frees a chunk whatever is exported of it, and the next owner's
/// bytes then show through; so this keeps the block: dropping every other handle frees it only when
/// this is closed, too. Closing the block's allocator unmaps it, which ends the export.
///
/// The driver must outlive it. One thread at a time.
template <class D>
class BlockExport {
public:
    BlockExport(D& driver, int descriptor, Bytes into_page, Block block) noexcept
        : driver_(&driver), descriptor_(descriptor), into_page_(into_page),
          block_(std::move(block)) {
        detail::BlockAccess::record(block_)->exports.fetch_add(1, std::memory_order_relaxed);
    }
    BlockExport(BlockExport&& other) noexcept
        : driver_(other.driver_), descriptor_(std::exchange(other.descriptor_, -1)),
          into_page_(other.into_page_), block_(std::move(other.block_)) {}
    BlockExport& operator=(BlockExport&&) = delete;
    ~BlockExport() {
        if (auto closed = close(); !closed)
            Log::write(LogLevel::Error, "a dma-buf cannot be closed: errno %d",
                       closed.error().os_error);
    }

    /// For the importer; -1 once closed. Close it here, not by close(2).
    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
    /// Where in the dma-buf the range begins: a dma-buf begins with a page. Below a page.
    [[nodiscard]] Bytes offset() const noexcept { return into_page_; }
    [[nodiscard]] const Block& block() const noexcept { return block_; }

    /// Effects: closes the descriptor and drops the handle. Twice is once. Errors: the driver's;
    /// the descriptor is gone all the same.
    Result<void> close() noexcept {
        if (descriptor_ < 0) return {};
        auto closed = driver_->close_shared(std::exchange(descriptor_, -1));
        detail::BlockAccess::record(block_)->exports.fetch_sub(1, std::memory_order_relaxed);
        auto dropped = block_.reset();
        return closed ? dropped : closed;
    }

private:
    D* driver_;
    int descriptor_;
    Bytes into_page_;
    Block block_;
};

} // namespace v0
} // namespace neuronbook
