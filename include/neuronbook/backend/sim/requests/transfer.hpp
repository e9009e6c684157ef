// SPDX-License-Identifier: Apache-2.0
//
// Requests that fill a chunk, or copy from chunk to chunk.
// Owns: their handlers, the order in which pieces move. Does not own: rings (transfer_ring.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 8.1-8.3 (measured)
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "neuronbook/backend/sim/device/transfer_ring.hpp"
#include "neuronbook/backend/sim/requests/bounds.hpp"
#include "neuronbook/backend/sim/requests/call.hpp"
#include "neuronbook/backend/sim/requests/copy.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// The bytes that an engine told to move `size` touches: 64 KiB for a size of 0, in the chunk or
/// not. Null when they leave the device's memory.
[[nodiscard]] inline std::byte* engine_bytes(Call& call, const Chunk& chunk, std::uint64_t offset,
                                             std::uint64_t size) {
    if (size == 0 && offset <= chunk.reach && chunk.reach - offset < kPiece)
        call.state.journal.crashes.add("a size of 0 moves 64 KiB and leaves its chunk");
    return bytes_of(call, chunk, offset, size == 0 ? kPiece : size);
}

/// Moves piece after piece, each of them whole, so ranges that overlap by less than a piece do not
/// come out as memmove leaves them.
inline void move_pieces(std::byte* to, const std::byte* from, std::uint64_t size) {
    for (std::uint64_t done = 0; done < size; done += kPiece)
        std::memmove(to + done, from + done, std::min(kPiece, size - done));
}

/// Both forms. The first piece comes from a buffer of the driver's, which keeps what earlier
/// requests left in it; the rest is copied from the first piece on the device.
template <class Form>
std::int64_t fill_chunk(Call& call) {
    Form ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    const auto* chunk = call.device.named(ask.mem_handle);
    if (chunk == nullptr) return bad_handle(call);
    if (!in_bounds(call, *chunk, ask.offset, ask.size)) return bad_range(call);
    auto& ring = call.device.ring_of(*chunk);
    auto& buffer = call.device.fill_buffer;
    buffer.resize(kPiece);
    const std::uint64_t size = ask.size;
    std::memset(buffer.data(), static_cast<unsigned char>(ask.value), std::min(size, kPiece));
    if (const auto answer = ring.run(1)) return answer;
    auto* bytes = engine_bytes(call, *chunk, ask.offset, size);
    const auto first = size == 0 ? kPiece : std::min(size, kPiece);
    if (bytes != nullptr) std::memcpy(bytes, buffer.data(), first);
    if (size <= kPiece) return 0;
    if (const auto answer = ring.run(pieces_of(size - kPiece))) return answer;
    for (auto done = kPiece; bytes != nullptr && done < size; done += kPiece)
        std::memcpy(bytes + done, bytes, std::min(kPiece, size - done));
    return 0;
}

/// The two ends of a copy.
struct Ends {
    const Chunk* from = nullptr;
    const Chunk* to = nullptr;
    std::int64_t error = 0;
};

[[nodiscard]] inline Ends find_ends(Call& call, std::uint64_t from, std::uint64_t to) {
    Ends ends{call.device.named(from), call.device.named(to), 0};
    if (ends.from == nullptr || ends.to == nullptr) ends.error = bad_handle(call);
    return ends;
}

template <class Form>
[[nodiscard]] Ends find_ends(Call& call, const Form& ask) {
    auto ends = find_ends(call, ask.src_mem_handle, ask.dst_mem_handle);
    if (ends.error == 0 && (!in_bounds(call, *ends.from, ask.src_offset, ask.size) ||
                            !in_bounds(call, *ends.to, ask.dst_offset, ask.size)))
        ends.error = bad_range(call);
    return ends;
}

/// Moves at most `most` bytes of what was asked for.
template <class Form>
void move_chunk(Call& call, const Ends& ends, const Form& ask, std::uint64_t most) {
    const auto size = std::min<std::uint64_t>(ask.size, most);
    const auto* from = engine_bytes(call, *ends.from, ask.src_offset, size);
    auto* to = engine_bytes(call, *ends.to, ask.dst_offset, size);
    if (from == nullptr || to == nullptr) return;
    move_pieces(to, from, size == 0 ? kPiece : size);
}

/// All forms. The ring is that of the end on the device, of the destination when both are.
template <class Form>
std::int64_t copy_chunk(Call& call) {
    Form ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    const auto ends = find_ends(call, ask);
    if (ends.error != 0) return ends.error;
    const bool by_source = ends.to->on_host() && !ends.from->on_host();
    auto& ring = call.device.ring_of(by_source ? *ends.from : *ends.to);
    if (const auto answer = ring.run(pieces_of(ask.size))) return answer;
    move_chunk(call, ends, ask, ~std::uint64_t{0});
    if constexpr (requires { ask.sequence_num; })
        if (ask.sequence_num != 0)
            call.state.journal.unmodelled.add("MEM_COPY64: completion entry of a numbered copy");
    return 0;
}

/// The ring of copies that are not waited for at once: of the source when both ends are on the
/// device.
[[nodiscard]] inline TransferRing& async_ring(Call& call, const Ends& ends) {
    return call.device.ring_of(ends.from->on_host() ? *ends.to : *ends.from);
}

/// Both forms. The bytes move before the answer, so a copy is never seen under way.
template <class Form>
std::int64_t copy_async(Call& call) {
    Form ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    const auto ends = find_ends(call, ask);
    if (ends.error != 0) return ends.error;
    const auto previous = ask.pwait_handle;
    if (previous > 2 && previous != TransferRing::kStartOfChain) return -EINVAL;
    auto& ring = async_ring(call, ends);
    const auto pieces = pieces_of(ask.size);
    const auto before = ring.taken();
    const auto handle = previous == 0 ? ring.run(pieces) : ring.start(pieces, previous);
    // a copy refused for its size is refused after its first batch was started
    const bool cut = handle == -EINVAL && ring.taken() != before;
    if (cut || handle >= 0)
        move_chunk(call, ends, ask, cut ? TransferRing::kMostPieces * kPiece : ask.size);
    if (handle < 0) return handle;
    ask.wait_handle = static_cast<std::uint32_t>(handle);
    return short_copy(call, static_cast<std::uint64_t>(call.copy_out(ask)));
}

inline std::int64_t copy_async_wait(Call& call) {
    uapi::MemCopyAsyncWait ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    const auto ends = find_ends(call, ask.src_mem_handle, ask.dst_mem_handle);
    if (ends.error != 0) return ends.error;
    auto& ring = async_ring(call, ends);
    if (!ring.waits_for(ask.pwait_handle)) return -EINVAL;
    ring.wait(ask.pwait_handle);
    return 0;
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
