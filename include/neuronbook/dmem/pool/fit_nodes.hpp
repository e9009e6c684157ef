// SPDX-License-Identifier: Apache-2.0
//
// The ranges that a fit cuts its segments into, and the host memory they take.
// Owns: nodes in one array, and which are spare. Does not own: what they say (segregated_fit.hpp).
// Layer: dmem.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// A range, free or used. Two of them share a cache line, and none lies across two.
struct alignas(32) FitNode {
    static constexpr std::uint32_t kNil = ~std::uint32_t{0};
    static constexpr std::uint64_t kUsed = 1;

    /// Free ranges of the same class.
    struct Links {
        std::uint32_t previous;
        std::uint32_t next;
    };

    /// Bytes, with kUsed added: sizes are whole granules, so the lowest bit is free.
    [[nodiscard]] std::uint64_t bytes() const noexcept { return size & ~kUsed; }
    [[nodiscard]] bool used() const noexcept { return (size & kUsed) != 0; }

    std::uint64_t start; ///< the segment's number in the upper 16 bits, the offset in the others
    std::uint64_t size;
    std::uint32_t before, after; ///< neighbours in the segment
    union {
        Links links;  ///< of a free one
        void* holder; ///< of a used one: whatever its user wants to find again
    };
};
static_assert(sizeof(FitNode) == 32);

/// Nodes in one array: an index is enough to reach one, and needs half the room of a pointer. Where
/// a larger array is needed, it is made outside the lock; only the copying is done under it.
class FitNodes {
public:
    /// Host memory for more nodes. What it holds in the end goes when it does: after the lock.
    class More {
    public:
        /// More room than `now`: by 1/64, since a copy is rare and room that lies idle is not.
        /// std::bad_alloc passes through.
        explicit More(std::size_t now)
            : room_(now + std::max<std::size_t>(64, now / 64)),
              nodes_(std::make_unique_for_overwrite<FitNode[]>(room_)) {}

    private:
        friend class FitNodes;
        std::size_t room_;
        std::unique_ptr<FitNode[]> nodes_;
    };

    FitNodes() noexcept = default;
    FitNodes(const FitNodes&) = delete;
    FitNodes& operator=(const FitNodes&) = delete;

    /// Effects: moves the nodes there, if it is larger. Takes no host memory.
    void grow(More& more) noexcept {
        if (more.room_ <= room_) return;
        std::copy_n(nodes_.get(), fresh_, more.nodes_.get());
        nodes_.swap(more.nodes_);
        spare_count_ += more.room_ - room_;
        room_ = more.room_;
    }
    [[nodiscard]] std::size_t room() const noexcept { return room_; }

    [[nodiscard]] FitNode& operator[](std::uint32_t i) noexcept { return nodes_[i]; }
    [[nodiscard]] const FitNode& operator[](std::uint32_t i) const noexcept { return nodes_[i]; }

    /// Nodes that take() can give.
    [[nodiscard]] std::size_t spare() const noexcept { return spare_count_; }
    [[nodiscard]] std::size_t taken() const noexcept { return room_ - spare_count_; }
    /// Requires: spare() is not 0.
    [[nodiscard]] std::uint32_t take() noexcept {
        --spare_count_;
        if (spare_ == FitNode::kNil) return fresh_++;
        const std::uint32_t i = spare_;
        spare_ = nodes_[i].after;
        return i;
    }
    void put(std::uint32_t i) noexcept {
        ++spare_count_;
        nodes_[i].after = std::exchange(spare_, i);
    }

private:
    std::unique_ptr<FitNode[]> nodes_;
    std::size_t room_ = 0;
    std::size_t spare_count_ = 0;
    std::uint32_t spare_ = FitNode::kNil; ///< given back, newest first
    std::uint32_t fresh_ = 0;             ///< never used from here on
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
