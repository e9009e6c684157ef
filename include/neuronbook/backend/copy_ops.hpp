// SPDX-License-Identifier: Apache-2.0
//
// What a driver may be able to do with bytes beyond reading and writing them.
// Owns: the contracts of copies inside a device, of fills and of batches. Does not own: who uses
// them when. Layer: backend; the layers above see it through driver.hpp.
// Source: driver-abi.md 8
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "neuronbook/backend/chunk.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {

// All of these are optional: a Driver need not have them, and whoever wants one asks with
// `if constexpr`. Ranges are checked before any call: OUT_OF_BOUNDS in the detail of the error, in
// it the offset, the chunk's size and the bytes asked. A failed operation may have moved a part.

/// Largest asynchronous copy. The driver takes 2032 descriptors of 64 KiB (133169152 bytes) and
/// starts the first part of what is larger before it refuses it.
inline constexpr Bytes kMaxAsyncCopy{std::uint64_t{127} << 20};

/// Moves bytes from one chunk to another of the same device, or of one chunk to another place of
/// it, by the device itself. Any size: what the kernel cannot take at once is split, and size 0
/// makes no call. Done when it returns. Ranges that overlap: the bytes are undefined.
template <class D>
concept ChunkCopyOps = requires(D driver, HostDeviceId device, const Chunk& from, Bytes from_offset,
                                const Chunk& to, Bytes to_offset, Bytes size) {
    { driver.copy(device, from, from_offset, to, to_offset, size) } -> std::same_as<Result<void>>;
};

/// Sets bytes of a chunk to one value. Any size; size 0 makes no call.
template <class D>
concept FillOps = requires(D driver, HostDeviceId device, const Chunk& chunk, Bytes offset,
                           Bytes size, std::byte value) {
    { driver.fill(device, chunk, offset, size, value) } -> std::same_as<Result<void>>;
};

/// Some asynchronous copies of one core, one after the other, on the engine queue that all copies
/// of the core go through. Begun by AsyncCopyOps. Holds the queue's lock from begin to end and lets
/// go of it only when nothing that it started is in flight, on every path: its destructor waits.
/// Used by one thread; must not outlive the driver it is of, nor that one's open_device().
/// - `start()`: starts this copy, then waits for the one before it, so that two are in flight at
///   most. Both chunks must stay, and their bytes be left alone, until the next start() or finish()
///   has returned. Errors: INVALID with AsyncCopySize for size 0 or more than kMaxAsyncCopy, before
///   any call. After an error of the driver's the chain has waited for what was in flight and is
///   finished.
/// - `finish()`: waits for the last copy. The chain is at its end: start() answers INVALID with
///   CopiesEnded. Errors: CopyLost where the driver knows nothing of the copy any more.
/// - `completed()`, where there is one: how many copies, from the first on, are surely done; after
///   an error, too.
template <class C>
concept AsyncCopies = std::movable<C> && !std::copyable<C> &&
                      requires(C chain, const Chunk& from, Bytes from_offset, const Chunk& to,
                               Bytes to_offset, Bytes size) {
                          {
                              chain.start(from, from_offset, to, to_offset, size)
                          } -> std::same_as<Result<void>>;
                          { chain.finish() } -> std::same_as<Result<void>>;
                      };

/// Copies between chunks of a device while the caller does something else.
/// - `begin_copies(device, core)`: `core` is the one that the device chunks were allocated for,
///   since the driver picks the queue by it: the source's between two device chunks, the target's
///   between two host chunks. Waits until no other chain of the process is on that queue: a thread
///   must not begin a second one there.
/// - `copies_run_aside()`: whether a started copy really runs beside the caller. False where it is
///   done when start() returns; a chain is correct there, too, and saves nothing.
template <class D>
concept AsyncCopyOps = requires(D driver, const D& view, HostDeviceId device, CoreIndex core) {
    typename D::CopyChain;
    requires AsyncCopies<typename D::CopyChain>;
    { driver.begin_copies(device, core) } -> std::same_as<Result<typename D::CopyChain>>;
    { view.copies_run_aside() } noexcept -> std::same_as<bool>;
};

/// One of many writes: `from` goes to `offset` of the chunk.
struct WritePiece {
    Chunk chunk{};
    Bytes offset{};
    std::span<const std::byte> from{};
};

/// One of many reads: bytes at `offset` of the chunk go to `to`.
struct ReadPiece {
    Chunk chunk{};
    Bytes offset{};
    std::span<std::byte> to{};
};

/// Many pieces in few calls where the driver can, else piece by piece.
/// - All pieces are checked before any call; empty ones are skipped; the others are done in order
///   and the first failure stops. `Error::value` is the number of the piece that failed, from 0, or
///   of the first one of the call that did, where the driver does not say which. Errors:
///   PieceOutOfBounds, NullPointer, PieceRefused; TimedOut, DriverErrno.
/// - `core`: the one whose queue the chunks go through, i.e. that they were allocated for.
template <class D>
concept BatchCopyOps =
    requires(D driver, HostDeviceId device, CoreIndex core, std::span<const WritePiece> writes,
             std::span<const ReadPiece> reads) {
        { driver.write_batch(device, core, writes) } -> std::same_as<Result<void>>;
        { driver.read_batch(device, core, reads) } -> std::same_as<Result<void>>;
    };

} // namespace v0
} // namespace neuronbook
