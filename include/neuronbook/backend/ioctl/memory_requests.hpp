// SPDX-License-Identifier: Apache-2.0
//
// Requests that move bytes of a chunk, and that list chunks.
// Owns: encoding, splitting, growing. Does not own: bounds (driver_rules.hpp).
// Layer: backend.   Source: driver-abi.md 7.3, 8.4
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/backend/ioctl/channel.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

enum class CopyDirection : std::uint8_t { FromChunk, ToChunk };

/// A piece of one BUF_COPY. The driver moves the size modulo 4 GiB and reports success; pieces stay
/// well below.
inline constexpr std::uint64_t kCopyPiece = std::uint64_t{1} << 30;

/// One BUF_COPY in the form that the driver's feature word allows.
template <Port P>
Result<void> copy_piece(P& port, int fd, const DriverFacts& facts, ChunkHandle handle,
                        std::uint64_t offset, std::byte* buffer, std::uint64_t size,
                        CopyDirection direction) {
    const auto send = [&](auto form, std::uint32_t word) {
        form.mem_handle = handle.value();
        form.buffer = buffer;
        form.size = static_cast<decltype(form.size)>(size);
        form.offset = static_cast<decltype(form.offset)>(offset);
        form.copy_to_mem_handle = direction == CopyDirection::ToChunk ? 1 : 0;
        return request(port, fd, word, form, Operation::Copy, CallKind::Copy);
    };
    if (facts.features & uapi::kFeatureMemAlloc64)
        return send(uapi::MemBufCopy64{}, uapi::kMemBufCopy64);
    return send(uapi::MemBufCopy{}, uapi::kMemBufCopy);
}

/// Size 0 makes no call. Errors, before any: a range that a driver without 64-bit requests cannot
/// name.
template <Port P>
Result<void> copy_bytes(P& port, int fd, const DriverFacts& facts, ChunkHandle handle,
                        std::uint64_t offset, std::byte* buffer, std::uint64_t size,
                        CopyDirection direction) {
    const bool wide = facts.features & uapi::kFeatureMemAlloc64;
    if (!wide && offset + size > std::uint64_t{1} << 32)
        return fail({.status = Status::Invalid,
                     .operation = Operation::Copy,
                     .detail = Detail::NotOnThisDriver,
                     .value = offset,
                     .limit = std::uint64_t{1} << 32,
                     .asked = size,
                     .text = std::string_view("a copy beyond 4 GiB")});
    for (std::uint64_t done = 0; done < size; done += kCopyPiece) {
        const std::uint64_t piece = std::min(size - done, kCopyPiece);
        auto moved =
            copy_piece(port, fd, facts, handle, offset + done, buffer + done, piece, direction);
        if (!moved) return moved;
    }
    return {};
}

/// The driver's list of an HBM. It may grow between the answer that tells its length and the next
/// question, so the question is repeated a few times.
template <Port P>
Result<std::vector<ChunkRecord>> list_chunks(P& port, int fd, std::uint32_t hbm) {
    std::vector<uapi::MemChunkInfo> buffer(64);
    for (int attempt = 0;; ++attempt) {
        uapi::DumpMemChunks ask{.hbm_index = hbm,
                                .num_entries_in = static_cast<std::uint32_t>(buffer.size()),
                                .data = buffer.data()};
        auto done = request(port, fd, uapi::kDumpMemChunks, ask, Operation::Query);
        if (!done && done.error().os_error == EAGAIN && attempt < 16) {
            buffer.resize(ask.num_entries_out + ask.num_entries_out / 8 + 16);
            continue;
        }
        if (!done) return fail(done.error());
        std::vector<ChunkRecord> records;
        records.reserve(ask.num_entries_out);
        for (std::uint32_t i = 0; i < ask.num_entries_out; ++i)
            records.push_back(
                {DeviceAddress{buffer[i].pa}, Bytes{buffer[i].size}, buffer[i].mem_type});
        return records;
    }
}

/// The refusal of an allocation, with what was asked and where.
[[nodiscard]] inline Error allocation_error(const Geometry& geometry, const ChunkRequest& ask,
                                            Error error) {
    error.asked = ask.size.count();
    error.core = static_cast<std::int32_t>(ask.core.value());
    if (ask.location == MemoryLocation::Device) {
        error.hbm = static_cast<std::int32_t>(ask.hbm);
        error.limit = geometry.hbm_size.count();
    }
    return error;
}

} // namespace detail
} // namespace v0
} // namespace neuronbook
