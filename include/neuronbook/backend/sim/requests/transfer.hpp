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
#include "neuronbook/backend/sim/mover.hpp"
#include "neuronbook/backend/sim/requests/bounds.hpp"
#include "neuronbook/backend/sim/requests/call.hpp"
#include "neuronbook/backend/sim/requests/copy.hpp"
#include "neuronbook/backend/sim/requests/engine_use.hpp"
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

/// Both forms. The first piece comes from a buffer of the driver's, which keeps what earlier
/// requests left in it; the rest is copied from the first piece on the device.
template <class Form>
std::int64_t fill_chunk(Call& call) {
    Form ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    const auto* chunk = call.device.named(ask.mem_handle);
    if (chunk == nullptr) return bad_handle(call);
    if (!in_bounds(call, *chunk, ask.offset, ask.size)) return bad_range(call);
    auto& queue = call.device.queue_of(*chunk);
    auto& buffer = call.device.fill_buffer;
    buffer.resize(kPiece);
    const std::uint64_t size = ask.size;
    std::memset(buffer.data(), static_cast<unsigned char>(ask.value), std::min(size, kPiece));
    if (const auto answer = run_engine(call, queue, 1)) return answer;
    auto* bytes = engine_bytes(call, *chunk, ask.offset, size);
    const auto first = size == 0 ? kPiece : std::min(size, kPiece);
    if (bytes != nullptr) std::memcpy(bytes, buffer.data(), first);
    if (size <= kPiece) return 0;
    if (const auto answer = run_engine(call, queue, pieces_of(size - kPiece))) return answer;
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
    move_pieces(to, from, size == 0 ? kPiece : size, kPiece);
}

/// The same for asynchronous copies: aside, where the kernel has a thread for that. The move's
/// number, 0 when it is done.
template <class Form>
std::uint64_t move_aside(Call& call, const Ends& ends, const Form& ask, std::uint64_t most) {
    if (call.state.mover == nullptr) {
        move_chunk(call, ends, ask, most);
        return 0;
    }
    const auto size = std::min<std::uint64_t>(ask.size, most);
    const auto* from = engine_bytes(call, *ends.from, ask.src_offset, size);
    auto* to = engine_bytes(call, *ends.to, ask.dst_offset, size);
    if (from == nullptr || to == nullptr) return 0;
    return call.state.mover->put({to, from, size == 0 ? kPiece : size, kPiece});
}

/// The answer is to wait for a move, once the kernel is free for others.
inline void await_move(Call& call, std::uint64_t number) {
    if (call.state.mover != nullptr)
        call.state.mover->awaited = std::max(call.state.mover->awaited, number);
}

/// What a numbered copy says when it is done. It goes behind what is queued already, on the default
/// queue of the end on the device, of the source when both are.
[[nodiscard]] inline std::int64_t tell_copied(Call& call, const Ends& ends, std::uint64_t sequence,
                                              const void* context) {
    const auto core = (ends.from->on_host() ? ends.to : ends.from)->core;
    auto& queue = call.device.engines.default_of(core);
    if (!queue.serves(core)) return -ENOENT;
    if (!queue.completions.has_room(1)) {
        tell_nobody(call, queue.completions);
        return -EBUSY;
    }
    const auto due = std::max(call.now, queue.completions.busy_until());
    tell(call, queue.completions, {sequence, 0, Call::address_of(context), due, 1});
    return 0;
}

/// All forms. The ring is that of the end on the device, of the destination when both are.
template <class Form>
std::int64_t copy_chunk(Call& call) {
    Form ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    const auto ends = find_ends(call, ask);
    if (ends.error != 0) return ends.error;
    const bool by_source = ends.to->on_host() && !ends.from->on_host();
    auto& queue = call.device.queue_of(by_source ? *ends.from : *ends.to);
    if (const auto answer = run_engine(call, queue, pieces_of(ask.size))) return answer;
    move_chunk(call, ends, ask, ~std::uint64_t{0});
    if constexpr (requires { ask.sequence_num; })
        if (ask.sequence_num != 0) return tell_copied(call, ends, ask.sequence_num, ask.context);
    return 0;
}

/// The queue of copies that are not waited for at once: of the source when both ends are on the
/// device.
[[nodiscard]] inline CopyQueue& async_queue(Call& call, const Ends& ends) {
    return call.device.queue_of(ends.from->on_host() ? *ends.to : *ends.from);
}

/// Waits for a copy that was started. 0, kWaits, or the answer to a timeout.
[[nodiscard]] inline std::int64_t await_copy(Call& call, CopyQueue& queue, std::uint32_t handle) {
    auto& ring = queue.ring;
    const bool ends = ring.ends(handle);
    if (!ends && !outwaited(call))
        return wait_for_engine(call, given_up(call, call.now, ring.pieces(handle), Waited::Later));
    ring.wait(handle);
    await_move(call, queue.moves[handle - 1]);
    return ends ? 0 : timed_out(call);
}

/// Starts a copy after `previous`, which is then waited for. Without a thread for them
/// the bytes move before the answer, so a copy is never seen under way.
template <class Form>
std::int64_t start_copy(Call& call, const Ends& ends, Form& ask) {
    auto& queue = async_queue(call, ends);
    auto& ring = queue.ring;
    const auto previous = ask.pwait_handle;
    const bool chained = previous != TransferRing::kStartOfChain;
    const bool hangs = engines_hang(call.device);
    if (is_locked(call, queue)) return Call::kWaits;
    use_queue(call, queue);
    if (queue.use == QueueUse::None || call.progress.lost)
        if (const auto answer = ring_for(call, queue, pieces_of(ask.size), Waited::Later))
            return answer;
    // a wait for the previous copy comes first, so that the start happens once
    if (chained && ring.waits_for(previous) && !ring.ends(previous) && !call.progress.outwaited)
        return await_copy(call, queue, previous);
    const auto before = ring.taken();
    const auto handle = ring.start(pieces_of(ask.size), previous, !hangs);
    // a copy refused for its size is refused after its first batch was started
    const bool cut = handle == -EINVAL && ring.taken() != before;
    std::uint64_t move = 0;
    if ((cut || handle >= 0) && !hangs)
        move = move_aside(call, ends, ask, cut ? TransferRing::kMostPieces * kPiece : ask.size);
    if (handle < 0) return handle;
    queue.moves[static_cast<std::size_t>(handle) - 1] = move;
    ask.wait_handle = static_cast<std::uint32_t>(handle);
    return chained ? await_copy(call, queue, previous) : 0;
}

/// Both forms.
template <class Form>
std::int64_t copy_async(Call& call) {
    Form ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    const auto ends = find_ends(call, ask);
    if (ends.error != 0) return ends.error;
    if (ask.pwait_handle > 2 && ask.pwait_handle != TransferRing::kStartOfChain) return -EINVAL;
    if (ask.pwait_handle == 0) {
        if (const auto answer = run_engine(call, async_queue(call, ends), pieces_of(ask.size)))
            return answer;
        await_move(call, move_aside(call, ends, ask, ask.size));
        ask.wait_handle = 0;
    } else if (const auto answer = start_copy(call, ends, ask)) {
        return answer;
    }
    return short_copy(call, static_cast<std::uint64_t>(call.copy_out(ask)));
}

inline std::int64_t copy_async_wait(Call& call) {
    uapi::MemCopyAsyncWait ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    const auto ends = find_ends(call, ask.src_mem_handle, ask.dst_mem_handle);
    if (ends.error != 0) return ends.error;
    auto& queue = async_queue(call, ends);
    if (queue.use == QueueUse::None || call.progress.lost)
        if (const auto answer = ring_for(call, queue, 1, Waited::Later)) return answer;
    if (!queue.ring.waits_for(ask.pwait_handle)) return -EINVAL;
    if (is_locked(call, queue)) return Call::kWaits;
    return await_copy(call, queue, ask.pwait_handle);
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
