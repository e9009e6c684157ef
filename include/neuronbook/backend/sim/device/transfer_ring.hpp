// SPDX-License-Identifier: Apache-2.0
//
// The ring of one queue of a host-to-device engine, through which every copy goes.
// Owns: how many descriptors are taken, which copies are waited for. Does not own: the bytes.
// Layer: backend (simulated kernel).   Source: driver-abi.md 1, 8, 8.3, 13 (measured)
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// Bytes of one descriptor at most; the engine moves that much whole.
inline constexpr std::uint64_t kPiece = 65536;

/// Descriptors of a copy. A size of 0 is encoded as a full piece is, so it makes one.
[[nodiscard]] constexpr std::uint64_t pieces_of(std::uint64_t size) noexcept {
    return size == 0 ? 1 : size / kPiece + (size % kPiece != 0);
}

/// Shared by all processes. Every batch of a copy takes a descriptor a piece and one that says that
/// it is done, and gives them back when it is waited for. What nobody waits for stays taken until
/// the core is reset, and the batch that finds too little room takes what is left. Not thread-safe.
class TransferRing {
public:
    static constexpr std::uint64_t kMostPieces = 2032; ///< of one batch
    /// The ring's 4096 descriptors are rounded up with a margin, and 16 are never used: then the
    /// 4089th copy that nobody waited for is the first to fail (measured).
    static constexpr std::uint64_t kDescriptors = 8192 - 16;

    /// A copy that is waited for at once, batch after batch: 0 or -ENOMEM. Its first batch is the
    /// longest.
    [[nodiscard]] std::int64_t run(std::uint64_t pieces) {
        const auto batch = take(pieces);
        if (batch == 0) return -ENOMEM;
        taken_ -= batch;
        return 0;
    }

    /// The same for a copy that never ends: its first batch keeps what it took.
    [[nodiscard]] std::int64_t lose(std::uint64_t pieces) {
        return take(pieces) == 0 ? -ENOMEM : 0;
    }

    /// Whether the first batch of a copy finds enough descriptors.
    [[nodiscard]] bool has_room(std::uint64_t pieces) const {
        return first_batch(pieces) <= kDescriptors - taken_;
    }

    /// Starts a copy that somebody waits for later: the handle to wait with, or minus an errno. The
    /// caller then waits for `previous` unless that is -1. A copy of more than one batch is
    /// refused, its first batch moved and never given back. `ends`: whether the engine will ever
    /// finish it. Requires: `previous` is -1, 1 or 2.
    [[nodiscard]] std::int64_t start(std::uint64_t pieces, std::uint32_t previous, bool ends) {
        const bool chained = previous != kStartOfChain;
        if (chained && !waits_for(previous)) return -EINVAL;
        const auto batch = take(pieces);
        if (batch == 0) return -ENOMEM;
        if (pieces > kMostPieces) return -EINVAL;
        const std::uint32_t handle = previous == 1 ? 2 : 1;
        started_[handle - 1] = {batch, ends}; // an abandoned chain is taken over, its place lost
        return handle;
    }

    /// Whether a copy with that handle was started and not waited for.
    [[nodiscard]] bool waits_for(std::uint32_t handle) const {
        return (handle == 1 || handle == 2) && started_[handle - 1].descriptors != 0;
    }

    /// Whether the engine finishes that copy. Requires: waits_for(handle).
    [[nodiscard]] bool ends(std::uint32_t handle) const { return started_[handle - 1].ends; }

    /// Pieces of that copy. Requires: waits_for(handle).
    [[nodiscard]] std::uint64_t pieces(std::uint32_t handle) const {
        return started_[handle - 1].descriptors - 1;
    }

    /// Releases the handle, and the descriptors if the copy ended. Requires: waits_for(handle).
    void wait(std::uint32_t handle) {
        if (ends(handle)) taken_ -= started_[handle - 1].descriptors;
        started_[handle - 1] = {};
    }

    [[nodiscard]] std::uint64_t taken() const { return taken_; }

    static constexpr std::uint32_t kStartOfChain = 0xFFFFFFFFu;

private:
    /// A copy that somebody is to wait for; no descriptors: none.
    struct Started {
        std::uint64_t descriptors = 0;
        bool ends = true;
    };

    static constexpr std::uint64_t first_batch(std::uint64_t pieces) {
        return std::min(pieces, kMostPieces) + 1;
    }

    /// Descriptors taken for a first batch; 0: not enough were left, and now none is.
    std::uint64_t take(std::uint64_t pieces) {
        const auto batch = first_batch(pieces);
        if (batch > kDescriptors - taken_) {
            taken_ = kDescriptors;
            return 0;
        }
        taken_ += batch;
        return batch;
    }

    std::uint64_t taken_ = 0;
    std::array<Started, 2> started_{}; ///< handles 1 and 2
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
