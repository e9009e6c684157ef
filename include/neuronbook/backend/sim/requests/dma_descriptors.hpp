// SPDX-License-Identifier: Apache-2.0
//
// Requests that write descriptors into a ring's memory and read them back.
// Owns: their handlers, what the driver checks in a descriptor. Does not own: rings
// (dma_rings.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 2.3, 7.2, 12
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include "neuronbook/backend/sim/requests/bounds.hpp"
#include "neuronbook/backend/sim/requests/call.hpp"
#include "neuronbook/backend/sim/requests/copy.hpp"
#include "neuronbook/backend/sim/requests/dma_rings.hpp"
#include "neuronbook/backend/sim/requests/engine_use.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// Whether a bus address looks like host memory to the driver.
[[nodiscard]] inline bool looks_like_host(const MachineSpec& machine, std::uint64_t address) {
    if (machine.is(Architecture::Sunda)) return (address & 0x1f00000000000) == 0x100000000000;
    return (address >> 46 & 1) != 0;
}

/// Whether a host address lies in a chunk, anybody's, of a device that the caller is attached to.
[[nodiscard]] inline bool is_known_host(Call& call, std::uint64_t address) {
    return std::any_of(call.state.devices.begin(), call.state.devices.end(), [&](Device& device) {
        return device.slots.find(call.caller.pid) != AttachSlots::kNone &&
               device.at(address) != Chunk::kNone;
    });
}

/// Checks some descriptors: both kinds have an address in their second half.
[[nodiscard]] inline std::int64_t check_descriptors(Call& call, const std::vector<std::byte>& bytes,
                                                    std::uint32_t type) {
    const bool known = type == static_cast<std::uint32_t>(uapi::DmaQueueType::Tx) ||
                       type == static_cast<std::uint32_t>(uapi::DmaQueueType::Rx);
    for (std::uint64_t at = 0; at < bytes.size(); at += kDescriptor) {
        if (!known) return -EPERM;
        std::uint64_t address = 0;
        std::memcpy(&address, &bytes[at + kDescriptor / 2], sizeof(address));
        if (looks_like_host(call.machine(), address) && !is_known_host(call, address))
            return -EINVAL;
    }
    return 0;
}

/// Both forms. Piece by piece, each checked as a whole; earlier ones stay.
template <class Form>
std::int64_t copy_descriptors(Call& call) {
    Form ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    const auto* chunk = call.device.named(ask.mem_handle);
    const auto size = std::uint64_t{ask.num_descs} * kDescriptor;
    if (chunk == nullptr || !in_bounds(call, *chunk, ask.offset, size)) return -EINVAL;
    const auto pa = chunk->pa + ask.offset;
    auto* to = place_of(call, *chunk, ask.offset, size);
    const bool on_host = chunk->on_host();
    auto& queue = call.device.queue_of(*chunk);
    const Bounce bounce(call.device, chunk->core); // a chunk's address does not outlive this
    if (!bounce.is_there()) return -ENOMEM;
    std::vector<std::byte> piece;
    for (std::uint64_t done = 0; to != nullptr && done < size; done += piece.size()) {
        piece.resize(std::min(kBounce, size - done));
        const auto moved =
            call.user.read(piece.data(), Call::address_of(ask.buffer) + done, piece.size());
        if (moved != piece.size()) return short_copy(call, piece.size() - moved);
        if (const auto answer = check_descriptors(call, piece, ask.queue_type)) return answer;
        if (!on_host)
            if (const auto answer = run_engine(call, queue, 1)) return answer;
        call.device.memory.settle(pa + done, piece.size());
        std::memcpy(to + done, piece.data(), piece.size());
    }
    return 0;
}

/// The descriptors that a queue's ring holds. From device memory they come from the ring's start,
/// whatever was asked for; from host memory counted from the chunk's start.
inline std::int64_t descriptor_copyout(Call& call) {
    constexpr std::uint64_t kMostMemory = std::uint64_t{4} << 20;
    uapi::DmaDescriptorCopyout ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    if (ask.count == 0) return -EINVAL;
    const auto engine = ask.eng_id & 0xFF;
    const auto qid = ask.qid & 0xFF;
    if (engine >= DmaQueues::kEngines || qid >= queues_of(call, engine)) return -EINVAL;
    if (ask.eng_id >= 256)
        call.state.journal.crashes.add("descriptors of an engine above 255: kernel fault");
    const bool receives = ask.type == static_cast<std::uint32_t>(uapi::DmaQueueType::Rx);
    const auto rings = rings_of(call, engine, qid);
    const auto& ring = receives ? rings.receive : rings.transmit;
    if (std::uint64_t{ask.count} + ask.start_index > ring.length) return -EFBIG;
    if (!receives && ask.type != static_cast<std::uint32_t>(uapi::DmaQueueType::Tx)) return -EINVAL;
    const auto index = call.device.at(ring.base);
    if (index == Chunk::kNone) return -EINVAL;
    const auto& chunk = call.device.chunks[index];
    const auto size = ask.count * kDescriptor;
    std::uint64_t from = ring.base;
    if (chunk.on_host()) {
        from = chunk.pa + ask.start_index * kDescriptor;
    } else {
        if (size > kMostMemory) return -ENOMEM;
        if (const auto answer = run_engine(call, call.device.queue_of(chunk), pieces_of(size)))
            return answer;
    }
    const auto* bytes = call.device.memory.at(from, size);
    if (bytes == nullptr || size > chunk.size - std::min(chunk.size, from - chunk.pa))
        call.state.journal.crashes.add("descriptors beyond the ring's chunk are read");
    if (bytes == nullptr) return -EINVAL;
    return static_cast<std::int64_t>(size -
                                     call.user.write(Call::address_of(ask.buffer), bytes, size));
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
