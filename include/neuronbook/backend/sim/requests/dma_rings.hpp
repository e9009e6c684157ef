// SPDX-License-Identifier: Apache-2.0
//
// Requests that set up DMA queues and ask for their state.
// Owns: their handlers. Does not own: descriptors (dma_descriptors.hpp). Nothing is executed: a
// start moves the queue's pointers as an engine that keeps up would.
// Layer: backend (simulated kernel).   Source: driver-abi.md 2.3, 12
#pragma once

#include <cerrno>
#include <cstdint>
#include <vector>

#include "neuronbook/backend/sim/device/dma_queues.hpp"
#include "neuronbook/backend/sim/requests/call.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

inline constexpr std::uint64_t kDescriptor = 16; ///< bytes

/// Queues that an engine of the table has.
[[nodiscard]] inline std::uint32_t queues_of(const Call& call, std::uint32_t engine) {
    return call.device.dma.has(engine) ? DmaQueues::kQueues : 0;
}

/// A state the driver does not know changes nothing.
inline std::int64_t set_engine_state(Call& call) {
    uapi::DmaEngSetState ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    if (ask.eng_id >= DmaQueues::kEngines) return -EINVAL;
    auto& state = call.device.dma.state(ask.eng_id);
    if (ask.state == 0) state = DmaQueues::EngineState::Idle;
    if (ask.state == 2) state = DmaQueues::EngineState::Normal;
    if (ask.state == 3) state = DmaQueues::EngineState::Abort;
    return 0;
}

inline std::int64_t get_engine_state(Call& call) {
    constexpr std::uint32_t kRevision = 4;
    uapi::DmaEngGetState ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    if (ask.eng_id >= DmaQueues::kEngines) return -EINVAL;
    const auto state = static_cast<std::uint32_t>(call.device.dma.state(ask.eng_id));
    const uapi::DmaEngState out{call.device.dma.has(ask.eng_id) ? kRevision : 0, DmaQueues::kQueues,
                                queues_of(call, ask.eng_id), state, state};
    return call.copy_out(Call::address_of(ask.state), out);
}

/// Whether a ring may have that many descriptors.
[[nodiscard]] inline bool is_ring_length(const Call& call, std::uint32_t count) {
    constexpr std::uint32_t kLeast = 32;
    const auto most = (1u << 24) - (call.machine().at_least(Release::V2_30_2) ? 16 : 0);
    return count >= kLeast && count <= most;
}

/// The checks once the queue's owner is written down, and what they leave set up.
inline std::int64_t set_up_rings(Call& call, DmaQueue& queue, const uapi::DmaQueueInit& ask) {
    const auto* transmit = call.device.named(ask.tx_handle); // a bad handle is taken for none
    const auto* receive = call.device.named(ask.rx_handle);
    const auto* completion = call.device.named(ask.rxc_handle);
    queue.has_receive = receive != nullptr;
    if (completion != nullptr && std::uint64_t{ask.rx_desc_count} * kDescriptor > completion->size)
        return -EINVAL;
    if (ask.tx_desc_count % 16 != 0 || ask.rx_desc_count % 16 != 0) return -EPERM;
    if (completion != nullptr) return -EPERM; // no queue has such a ring
    if (!call.device.dma.has(ask.eng_id)) return -EINVAL;
    if (!is_ring_length(call, ask.tx_desc_count)) return -EINVAL;
    queue.transmit = {transmit != nullptr ? transmit->pa : 0, ask.tx_desc_count, 0};
    if (!is_ring_length(call, ask.rx_desc_count)) return -EINVAL;
    queue.receive = {receive != nullptr ? receive->pa : 0, ask.rx_desc_count, 0};
    return 0;
}

/// 2.24 lets a program take a queue of the driver's own copies.
inline std::int64_t init_queue(Call& call, const uapi::DmaQueueInit& ask) {
    if (ask.eng_id >= DmaQueues::kEngines || ask.qid >= DmaQueues::kQueues) return -EINVAL;
    auto* copy = call.device.engines.find(ask.eng_id, ask.qid);
    const bool drivers = copy != nullptr && copy->serves(copy->core);
    if (drivers && call.machine().at_least(Release::V2_26_5)) return -EALREADY;
    auto& queue = call.device.dma.queue(ask.eng_id, ask.qid);
    queue.pid = call.caller.pid;
    const auto answer = set_up_rings(call, queue, ask);
    if (drivers && answer == 0) copy->taken_over = true;
    return answer;
}

/// Answer to a queue's description that cannot be read.
[[nodiscard]] inline std::int64_t unreadable_queue(const Call& call) {
    return call.machine().at_least(Release::V2_30_2) ? -EFAULT : -EACCES;
}

inline std::int64_t dma_queue_init(Call& call) {
    uapi::DmaQueueInit ask;
    if (call.copy_in(ask) != 0) return unreadable_queue(call);
    return init_queue(call, ask);
}

/// In order, up to the first that fails.
inline std::int64_t dma_queue_init_batch(Call& call) {
    std::vector<uapi::DmaQueueInitBatch> kept(1); // too large for a stack
    auto& ask = kept.front();
    if (call.copy_in(ask) != 0) return unreadable_queue(call);
    if (ask.count >= uapi::kMaxDmaQueueInitBatch) return -E2BIG;
    for (std::uint32_t i = 0; i < ask.count; ++i)
        if (const auto answer = init_queue(call, ask.entries[i])) return answer;
    return 0;
}

/// The rings of a queue, the driver's own included.
[[nodiscard]] inline DmaQueue rings_of(Call& call, std::uint32_t engine, std::uint32_t qid) {
    constexpr std::uint32_t kCopyRing = 8192;
    const auto* copy = call.device.engines.find(engine, qid);
    if (copy == nullptr || !copy->serves(copy->core) || copy->taken_over)
        return call.device.dma.queue(engine, qid);
    return {0, true, {copy->transmit.pa, kCopyRing, 0}, {copy->receive.pa, kCopyRing, 0}};
}

inline std::int64_t dma_copy_start(Call& call) {
    uapi::DmaQueueCopyStart ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    if (ask.eng_id >= DmaQueues::kEngines) return -EINVAL;
    if (ask.qid >= queues_of(call, ask.eng_id)) return -EPERM;
    const auto rings = rings_of(call, ask.eng_id, ask.qid);
    if (ask.tx_desc_count > rings.transmit.length || ask.rx_desc_count > rings.receive.length)
        return -EPERM;
    if (ask.rx_desc_count == 0 && call.machine().at_least(Release::V2_30_2)) return -EPERM;
    if (!rings.has_receive)
        call.state.journal.crashes.add("start of a queue without a receive ring: oops with the "
                                       "engine locked");
    auto& queue = call.device.dma.queue(ask.eng_id, ask.qid);
    queue.transmit.start(ask.tx_desc_count);
    queue.receive.start(ask.rx_desc_count);
    return 0;
}

/// How many is not checked.
inline std::int64_t dma_ack_completed(Call& call) {
    uapi::DmaAckCompleted ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    if (ask.eng_id >= DmaQueues::kEngines || ask.qid >= queues_of(call, ask.eng_id)) return -EINVAL;
    const auto length = rings_of(call, ask.eng_id, ask.qid).transmit.length;
    const bool even = (length & (length - 1)) == 0;
    return even || !call.machine().at_least(Release::V2_30_2) ? 0 : -EPERM;
}

/// What the registers of one direction say. Software status 2: enabled.
[[nodiscard]] inline uapi::DmaQueueState ring_state(const DmaRing& ring) {
    return {0, 2, ring.base, ring.length, ring.next, ring.next, 0, 0, ring.next, 0};
}

inline std::int64_t dma_queue_get_state(Call& call) {
    uapi::DmaQueueGetState ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    if (ask.eng_id >= DmaQueues::kEngines || ask.qid >= queues_of(call, ask.eng_id)) {
        call.state.journal.crashes.add("state of a queue that no engine has: kernel fault");
        return -EIO;
    }
    const auto rings = rings_of(call, ask.eng_id, ask.qid);
    if (const auto missing = call.copy_out(Call::address_of(ask.tx), ring_state(rings.transmit)))
        return missing;
    return call.copy_out(Call::address_of(ask.rx), ring_state(rings.receive));
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
