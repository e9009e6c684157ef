// SPDX-License-Identifier: Apache-2.0
//
// Requests about host-to-device queues: more of them, fewer, and where their completions are.
// Owns: their handlers. Does not own: the queues (copy_engines.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 8.6, 8.8 (measured)
#pragma once

#include <cerrno>
#include <cstdint>

#include "neuronbook/backend/sim/requests/call.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// Gives queues of a map back, a core's own queue left out. -ENXIO when one was not the core's; the
/// others are given back all the same.
inline std::int64_t give_queues_back(Call& call, std::uint32_t core, std::uint32_t map) {
    auto& engines = call.device.engines;
    std::int64_t answer = 0;
    for (std::uint32_t qid = 0; qid < uapi::kH2tQueues; ++qid) {
        if ((map >> qid & 1) == 0 || qid == engines.default_queue(core)) continue;
        auto& queue = engines.queue(core, qid);
        const bool extra = queue.use == QueueUse::Copy || queue.use == QueueUse::Service;
        if (extra && queue.core == core)
            engines.give_back(call.device, queue, call.slot());
        else
            answer = -ENXIO;
    }
    return answer;
}

/// Adds queues to a map. 0, or why there is one too few.
inline std::int64_t take_queues(Call& call, std::uint32_t core, QueueUse use, std::uint32_t count,
                                std::uint32_t& map) {
    for (; count != 0; --count) {
        const auto qid = call.device.engines.allocate(call.device, core, use, call.slot());
        if (qid < 0) return qid;
        map |= 1u << qid;
    }
    return 0;
}

/// All that are asked for or none; no queue at all asks for the core's own.
inline std::int64_t alloc_queues(Call& call) {
    uapi::H2tDmaAllocQueues ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    if (ask.nc_id >= call.machine().cores()) return -E2BIG;
    if (std::uint32_t{ask.copy_queue_cnt} + ask.service_queue_cnt >= uapi::kH2tQueues)
        return -E2BIG;
    ask.copy_queue_bmap = 0;
    ask.service_queue_bmap = 0;
    ask.copy_default_queue = call.device.engines.default_queue(ask.nc_id);
    auto answer =
        take_queues(call, ask.nc_id, QueueUse::Copy, ask.copy_queue_cnt, ask.copy_queue_bmap);
    if (answer == 0)
        answer = take_queues(call, ask.nc_id, QueueUse::Service, ask.service_queue_cnt,
                             ask.service_queue_bmap);
    if (answer == 0) {
        const auto missing = call.copy_out(ask);
        if (missing == 0) return 0;
        // 2.30 takes the queues back then; before, nobody knows their numbers
        if (!call.machine().at_least(Release::V2_30_2)) return missing;
        answer = -EFAULT;
    }
    give_queues_back(call, ask.nc_id, ask.copy_queue_bmap | ask.service_queue_bmap);
    return answer;
}

/// Any process may. Bits above the last queue say nothing.
inline std::int64_t free_queues(Call& call) {
    uapi::H2tDmaFreeQueues ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    if (ask.nc_id >= call.machine().cores()) return -E2BIG;
    return give_queues_back(call, ask.nc_id, ask.queue_bmap);
}

/// Where to map the completions of queues. It does not matter which core they belong to.
inline std::int64_t completion_queues(Call& call) {
    uapi::GetAsyncH2tDmaComplQueues ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    if (ask.nc_id >= call.machine().cores()) return -EINVAL;
    for (auto& info : ask.compl_queue_info) info = {};
    for (std::uint32_t qid = 0; qid < uapi::kH2tQueues; ++qid) {
        if ((ask.qid_bitmap >> qid & 1) == 0) continue;
        const auto& entries = call.device.engines.queue(ask.nc_id, qid).entries;
        if (entries.index == Chunk::kNone) return -EINVAL;
        ask.compl_queue_info[qid] = {entries.pa, CompletionQueue::kBytes, 0};
    }
    return call.copy_out(ask);
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
