// SPDX-License-Identifier: Apache-2.0
//
// The part of the driver that moves and fills bytes.
// Owns: the order of rule and request of every copy. Does not own: requests (transfer_requests.hpp,
// batch_requests.hpp), chains (copy_chain.hpp).
// Layer: backend.   Source: driver-abi.md 8
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/backend/ioctl/batch_requests.hpp"
#include "neuronbook/backend/ioctl/copy_chain.hpp"
#include "neuronbook/backend/ioctl/copy_path.hpp"
#include "neuronbook/backend/ioctl/driver_rules.hpp"
#include "neuronbook/backend/ioctl/transfer_requests.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// CopyOps, ChunkCopyOps, FillOps, AsyncCopyOps and BatchCopyOps of a driver `Self`, which lets it
/// look at its facts and descriptors. Ranges are checked before any call.
template <class Self, Port P>
class CopyOperations {
public:
    using CopyChain = detail::CopyChain<P>;

    Result<void> write(HostDeviceId device, const Chunk& chunk, Bytes offset,
                       std::span<const std::byte> from) {
        // The request has one pointer for both directions; here the kernel only reads.
        return between(device, chunk, offset, {const_cast<std::byte*>(from.data()), from.size()},
                       CopyDirection::ToChunk);
    }
    Result<void> read(HostDeviceId device, const Chunk& chunk, Bytes offset,
                      std::span<std::byte> to) {
        return between(device, chunk, offset, to, CopyDirection::FromChunk);
    }

    /// libnrt: ndl_memory_copy
    Result<void> copy(HostDeviceId device, const Chunk& from, Bytes from_offset, const Chunk& to,
                      Bytes to_offset, Bytes size) {
        const auto fd = self().opened(Operation::Copy, device);
        if (!fd) return fail(fd.error());
        auto done = check_between(self().facts_, from, from_offset, to, to_offset, size);
        if (done)
            done = copy_chunk(lane(*fd), from.handle, from_offset.count(), to.handle,
                              to_offset.count(), size.count());
        if (!done) return fail(Self::on_handle(device, from, done.error()));
        return done;
    }

    Result<void> fill(HostDeviceId device, const Chunk& chunk, Bytes offset, Bytes size,
                      std::byte value) {
        const auto fd = self().opened(Operation::Copy, device);
        if (!fd) return neuronbook::fail(fd.error());
        auto done = check_range(chunk, offset, size);
        if (done) done = fill_chunk(lane(*fd), chunk.handle, offset.count(), size.count(), value);
        if (!done) return neuronbook::fail(Self::on_handle(device, chunk, done.error()));
        return done;
    }

    /// Errors: too, CoreOutOfRange, and NotOnThisDriver before 2.12.
    Result<CopyChain> begin_copies(HostDeviceId device, CoreIndex core) {
        const auto fd = self().opened(Operation::Copy, device);
        if (!fd) return fail(fd.error());
        if (auto there = check_core(core); !there) return fail(Self::on(device, there.error()));
        if ((self().facts_.features & uapi::kFeatureAsyncDma) == 0)
            return fail(Self::on(device, {.operation = Operation::Copy,
                                          .detail = Detail::NotOnThisDriver,
                                          .text = std::string_view("asynchronous copies")}));
        return CopyChain(*self().lease_, *fd, self().facts_, device, core);
    }

    /// True on real devices; a simulated kernel says it by its options.
    [[nodiscard]] bool copies_run_aside() const noexcept {
        return static_cast<const Self&>(*this).port_.identity().copies_aside;
    }

    Result<void> write_batch(HostDeviceId device, CoreIndex core,
                             std::span<const WritePiece> pieces) {
        return batch(device, core, pieces, CopyDirection::ToChunk);
    }
    Result<void> read_batch(HostDeviceId device, CoreIndex core,
                            std::span<const ReadPiece> pieces) {
        return batch(device, core, pieces, CopyDirection::FromChunk);
    }

private:
    Self& self() noexcept { return static_cast<Self&>(*this); }
    Lane<P> lane(int fd) { return {self().port_, fd, self().facts_}; }

    Result<void> between(HostDeviceId device, const Chunk& chunk, Bytes offset,
                         std::span<std::byte> buffer, CopyDirection direction) {
        const auto fd = self().opened(Operation::Copy, device);
        if (!fd) return fail(fd.error());
        const Bytes size{buffer.size()};
        auto done = check_copy(chunk, offset, buffer.data(), buffer.size());
        if (done) done = check_reach(self().facts_, offset, size, "a copy beyond 4 GiB");
        if (done)
            done =
                move_bytes(lane(*fd), copy_path(self().facts_, chunk.location, size), chunk.handle,
                           offset.count(), buffer.data(), buffer.size(), direction);
        if (!done) return fail(Self::on_handle(device, chunk, done.error()));
        return done;
    }

    template <class Piece>
    Result<void> batch(HostDeviceId device, CoreIndex core, std::span<const Piece> pieces,
                       CopyDirection direction) {
        const auto fd = self().opened(Operation::Copy, device);
        if (!fd) return fail(fd.error());
        auto done = check_core(core);
        if (done) done = move_pieces(lane(*fd), pieces, direction);
        if (!done) return fail(Self::on(device, done.error()));
        return done;
    }

    Result<void> check_core(CoreIndex core) {
        const auto cores = self().geometry_->cores;
        if (core.value() < cores) return {};
        return fail({.status = Status::Invalid,
                     .operation = Operation::Copy,
                     .detail = Detail::CoreOutOfRange,
                     .value = core.value(),
                     .limit = cores});
    }
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
