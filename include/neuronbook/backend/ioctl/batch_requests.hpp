// SPDX-License-Identifier: Apache-2.0
//
// Many pieces between buffers and chunks in few requests.
// Owns: how pieces are gathered, what a failed piece says. Does not own: single pieces
// (transfer_requests.hpp). Layer: backend.   Source: driver-abi.md 8.7
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/backend/ioctl/copy_path.hpp"
#include "neuronbook/backend/ioctl/driver_rules.hpp"
#include "neuronbook/backend/ioctl/transfer_requests.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

[[nodiscard]] inline std::span<std::byte> buffer_of(const ReadPiece& piece) { return piece.to; }
/// The request has one pointer for both directions; here the kernel only reads.
[[nodiscard]] inline std::span<std::byte> buffer_of(const WritePiece& piece) {
    return {const_cast<std::byte*>(piece.from.data()), piece.from.size()};
}

/// The failure of a piece, with its number where other failures have an offset or a handle.
[[nodiscard]] inline Error of_piece(std::size_t number, Error error) {
    error.value = number;
    if (error.detail == Detail::OutOfBounds) error.detail = Detail::PieceOutOfBounds;
    if (error.detail == Detail::UnknownHandle || error.detail == Detail::DriverPositive)
        error.detail = Detail::PieceRefused;
    return error;
}

/// Pieces of one direction on their way. Neighbours of the same chunk make one batch.
template <Port P, class Piece>
class PieceGatherer {
public:
    /// Of one request: the driver copies them all into its own memory first.
    static constexpr std::size_t kMostPieces = 128;

    PieceGatherer(const Lane<P>& lane, std::span<const Piece> pieces, CopyDirection direction)
        : lane_(lane), pieces_(pieces), direction_(direction), batched_(can_pin(lane.facts)) {}

    Result<void> run() {
        for (std::size_t i = 0; i < pieces_.size(); ++i) {
            const auto size = buffer_of(pieces_[i]).size();
            if (size == 0) continue;
            // the processor's way, and what would be split anyway, go alone
            const bool alone = !batched_ || size > kPinnedPiece ||
                               pieces_[i].chunk.location == MemoryLocation::Host;
            if (alone || count_ == kMostPieces || bytes_ + size > kPinnedPiece)
                if (auto sent = flush(); !sent) return sent;
            if (alone) {
                const CopyPath path =
                    copy_path(lane_.facts, pieces_[i].chunk.location, Bytes{size});
                if (auto moved = move(i, path); !moved) return moved;
            } else {
                add(i, size);
            }
        }
        return flush();
    }

private:
    void add(std::size_t i, std::uint64_t size) {
        const auto handle = pieces_[i].chunk.handle.value();
        if (batch_count_ == 0 || batches_[batch_count_ - 1].mem_handle != handle)
            batches_[batch_count_++] = {.mem_handle = handle, .ops_ptr = &ops_[count_]};
        ++batches_[batch_count_ - 1].num_ops;
        numbers_[count_] = i;
        ops_[count_++] = {pieces_[i].offset.count(), size, buffer_of(pieces_[i]).data()};
        bytes_ += size;
    }

    Result<void> flush() {
        if (count_ == 0) return {};
        uapi::MemBufCopy64zcBatches ask{.batches_ptr = batches_.data(),
                                        .num_batches = static_cast<std::uint32_t>(batch_count_),
                                        .is_copy_to_device = static_cast<std::uint16_t>(
                                            direction_ == CopyDirection::ToChunk ? 1 : 0),
                                        .h2t_qid = uapi::kDmaH2tDefaultQid};
        auto sent = lane_.copy(uapi::kMemBufZerocopy64Batches, ask);
        const auto count = std::exchange(count_, 0);
        batch_count_ = 0;
        bytes_ = 0;
        if (sent) return sent;
        if (!may_be_unpinnable(sent.error())) return fail(of_piece(numbers_[0], sent.error()));
        for (std::size_t k = 0; k < count; ++k)
            if (auto moved = move(numbers_[k], bounce_path(lane_.facts)); !moved) return moved;
        return {};
    }

    Result<void> move(std::size_t i, CopyPath path) {
        const auto buffer = buffer_of(pieces_[i]);
        auto moved = move_bytes(lane_, path, pieces_[i].chunk.handle, pieces_[i].offset.count(),
                                buffer.data(), buffer.size(), direction_);
        if (!moved) return fail(of_piece(i, moved.error()));
        return moved;
    }

    const Lane<P>& lane_;
    std::span<const Piece> pieces_;
    CopyDirection direction_;
    bool batched_;
    std::size_t count_ = 0;
    std::size_t batch_count_ = 0;
    std::uint64_t bytes_ = 0;
    std::array<std::size_t, kMostPieces> numbers_{};
    std::array<uapi::NrtTensorBatchOp, kMostPieces> ops_{};
    std::array<uapi::MemcpyBatch, kMostPieces> batches_{};
};

/// All pieces, checked before any call.
template <Port P, class Piece>
Result<void> move_pieces(const Lane<P>& lane, std::span<const Piece> pieces,
                         CopyDirection direction) {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const auto buffer = buffer_of(pieces[i]);
        auto legal = check_copy(pieces[i].chunk, pieces[i].offset, buffer.data(), buffer.size());
        if (legal)
            legal = check_reach(lane.facts, pieces[i].offset, Bytes{buffer.size()},
                                "a copy beyond 4 GiB");
        if (!legal) return fail(of_piece(i, legal.error()));
    }
    return PieceGatherer<P, Piece>(lane, pieces, direction).run();
}

} // namespace detail
} // namespace v0
} // namespace neuronbook
