// SPDX-License-Identifier: Apache-2.0
//
// Requests that move the bytes of chunks and are done when they answer.
// Owns: encoding, splitting, the way back from pages that cannot be pinned. Does not own: bounds
// (driver_rules.hpp), which way is taken (copy_path.hpp).
// Layer: backend.   Source: driver-abi.md 8.1, 8.2, 8.4, 8.5
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/backend/ioctl/channel.hpp"
#include "neuronbook/backend/ioctl/copy_path.hpp"
#include "neuronbook/backend/ioctl/driver_rules.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

enum class CopyDirection : std::uint8_t { FromChunk, ToChunk };

/// One device as requests see it.
template <Port P>
struct Lane {
    P& port;
    int fd;
    const DriverFacts& facts;

    template <class Argument>
    Result<void> copy(std::uint32_t word, Argument argument) const {
        return request(port, fd, word, argument, Operation::Copy, CallKind::Copy);
    }
};

/// A piece of one request. The driver moves the size of a BUF_COPY modulo 4 GiB and reports
/// success; pieces stay well below.
inline constexpr std::uint64_t kCopyPiece = std::uint64_t{1} << 30;
/// The same by pinned pages: below what the driver takes at once even where it only queues them.
inline constexpr std::uint64_t kPinnedPiece = std::uint64_t{128} << 20;

/// Refuses, before any call, a range that a driver without 64-bit requests cannot name.
[[nodiscard]] inline Result<void> check_reach(const DriverFacts& facts, Bytes offset, Bytes size,
                                              std::string_view what) {
    constexpr Bytes kReach{std::uint64_t{1} << 32};
    if (facts.features & uapi::kFeatureMemAlloc64 || contains(kReach, offset, size)) return {};
    return fail({.status = Status::Invalid,
                 .operation = Operation::Copy,
                 .detail = Detail::NotOnThisDriver,
                 .value = offset.count(),
                 .limit = kReach.count(),
                 .asked = size.count(),
                 .text = what});
}

/// Both ends of a copy between chunks.
[[nodiscard]] inline Result<void> check_between(const DriverFacts& facts, const Chunk& from,
                                                Bytes from_offset, const Chunk& to, Bytes to_offset,
                                                Bytes size) {
    constexpr std::string_view kBeyond = "a copy beyond 4 GiB";
    auto legal = check_range(from, from_offset, size);
    if (legal) legal = check_range(to, to_offset, size);
    if (legal) legal = check_reach(facts, from_offset, size, kBeyond);
    if (legal) legal = check_reach(facts, to_offset, size, kBeyond);
    return legal;
}

/// Calls `send(done, piece)` for each piece until one fails; `done` is what went well before.
/// A size of 0 has none.
template <class F>
Result<void> in_pieces(std::uint64_t size, std::uint64_t most, std::uint64_t& done, F send) {
    while (done < size) {
        const std::uint64_t piece = std::min(size - done, most);
        if (auto sent = send(done, piece); !sent) return sent;
        done += piece;
    }
    return {};
}

/// Copies between chunks, the engine alone.
template <Port P>
Result<void> copy_chunk(const Lane<P>& lane, ChunkHandle from, std::uint64_t from_offset,
                        ChunkHandle to, std::uint64_t to_offset, std::uint64_t size) {
    const auto send = [&](auto form, std::uint32_t word, std::uint64_t done, std::uint64_t piece) {
        form.src_mem_handle = from.value();
        form.dst_mem_handle = to.value();
        form.size = static_cast<decltype(form.size)>(piece);
        form.src_offset = static_cast<decltype(form.src_offset)>(from_offset + done);
        form.dst_offset = static_cast<decltype(form.dst_offset)>(to_offset + done);
        return lane.copy(word, form);
    };
    const bool wide = lane.facts.features & uapi::kFeatureMemAlloc64;
    std::uint64_t moved = 0;
    return in_pieces(size, kCopyPiece, moved, [&](std::uint64_t done, std::uint64_t piece) {
        return wide ? send(uapi::MemCopy64Deprecated{}, uapi::kMemCopy64Deprecated, done, piece)
                    : send(uapi::MemCopy{}, uapi::kMemCopy, done, piece);
    });
}

template <Port P>
Result<void> fill_chunk(const Lane<P>& lane, ChunkHandle chunk, std::uint64_t offset,
                        std::uint64_t size, std::byte value) {
    const auto send = [&](auto form, std::uint32_t word, std::uint64_t done, std::uint64_t piece) {
        form.mem_handle = chunk.value();
        form.offset = offset + done;
        form.value = std::to_integer<std::uint32_t>(value);
        form.size = static_cast<decltype(form.size)>(piece);
        return lane.copy(word, form);
    };
    const bool wide = lane.facts.features & uapi::kFeatureMemAlloc64;
    std::uint64_t filled = 0;
    return in_pieces(size, kCopyPiece, filled, [&](std::uint64_t done, std::uint64_t piece) {
        return wide ? send(uapi::Memset64{}, uapi::kMemset64, done, piece)
                    : send(uapi::Memset{}, uapi::kMemset, done, piece);
    });
}

/// One piece between a buffer and a chunk. The processor's own way through the BAR is never asked
/// for (threshold 0): up to 2.28 a write that ends with its HBM is lost there.
template <Port P>
Result<void> move_piece(const Lane<P>& lane, CopyPath path, ChunkHandle chunk, std::uint64_t offset,
                        std::byte* buffer, std::uint64_t size, CopyDirection direction) {
    const auto send = [&](auto form, std::uint32_t word) {
        const bool inward = direction == CopyDirection::ToChunk;
        form.mem_handle = chunk.value();
        form.buffer = buffer;
        form.size = static_cast<decltype(form.size)>(size);
        form.offset = static_cast<decltype(form.offset)>(offset);
        if constexpr (requires { form.h2t_qid; }) {
            form.is_copy_to_device = inward;
            form.h2t_qid = uapi::kDmaH2tDefaultQid;
        } else {
            form.copy_to_mem_handle = inward;
        }
        return lane.copy(word, form);
    };
    switch (path) {
    case CopyPath::Pinned64: return send(uapi::MemBufCopy64zc{}, uapi::kMemBufZerocopy64);
    case CopyPath::Pinned48:
        return send(uapi::MemBufCopy64zcDeprecated{}, uapi::kMemBufZerocopy64Deprecated);
    case CopyPath::Bounce64: return send(uapi::MemBufCopy64{}, uapi::kMemBufCopy64);
    case CopyPath::Bounce32: break;
    }
    return send(uapi::MemBufCopy{}, uapi::kMemBufCopy);
}

/// Whether a refusal may be about pages that cannot be pinned: a mapping of the driver's, a buffer
/// that may not be written. Since 2.29 the errno of the first page comes through.
[[nodiscard]] inline bool may_be_unpinnable(const Error& error) noexcept {
    return error.os_error == ENOMEM || error.os_error == EFAULT;
}

/// Bytes between a buffer and a chunk, by `path`. What cannot be pinned takes the bounce buffer for
/// the rest of this call; the next call tries again. Size 0 makes no call.
template <Port P>
Result<void> move_bytes(const Lane<P>& lane, CopyPath path, ChunkHandle chunk, std::uint64_t offset,
                        std::byte* buffer, std::uint64_t size, CopyDirection direction) {
    std::uint64_t moved = 0;
    const auto all_by = [&](CopyPath way, std::uint64_t most) {
        return in_pieces(size, most, moved, [&](std::uint64_t done, std::uint64_t piece) {
            return move_piece(lane, way, chunk, offset + done, buffer + done, piece, direction);
        });
    };
    const auto bounce = bounce_path(lane.facts);
    if (path != bounce) {
        auto pinned = all_by(path, kPinnedPiece);
        if (pinned || !may_be_unpinnable(pinned.error())) return pinned;
    }
    return all_by(bounce, kCopyPiece);
}

} // namespace detail
} // namespace v0
} // namespace neuronbook
