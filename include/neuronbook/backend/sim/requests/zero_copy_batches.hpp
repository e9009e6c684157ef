// SPDX-License-Identifier: Apache-2.0
//
// The request that copies many pieces of many chunks, by pinned pages or through BAR4.
// Owns: its handler, what is checked before anything moves. Does not own: a copy (zero_copy.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 8.7 (measured)
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <vector>

#include "neuronbook/backend/sim/requests/bounds.hpp"
#include "neuronbook/backend/sim/requests/call.hpp"
#include "neuronbook/backend/sim/requests/copy.hpp"
#include "neuronbook/backend/sim/requests/zero_copy.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// The largest array that the driver finds memory for.
inline constexpr std::uint64_t kMostKernelMemory = std::uint64_t{4} << 20;

/// Reads an array whose size was checked.
template <class T>
[[nodiscard]] std::int64_t read_array(Call& call, const void* from, std::vector<T>& to) {
    const auto size = to.size() * sizeof(T);
    return short_copy(call, size - call.user.read(to.data(), Call::address_of(from), size));
}

/// Checks one batch, operation by operation. 0, or the first that is wrong. The driver adds the two
/// offsets without looking at overflow.
[[nodiscard]] inline std::int64_t check_batch(Call& call, const uapi::MemcpyBatch& batch,
                                              const std::vector<uapi::NrtTensorBatchOp>& ops) {
    const auto* chunk = call.device.named(batch.mem_handle);
    if (chunk == nullptr) return -EINVAL;
    for (const auto& op : ops) {
        if (op.size == 0 || op.buffer == nullptr) return -EINVAL;
        if (!in_bounds(call, *chunk, op.offset + batch.mem_handle_offset, op.size)) return -EINVAL;
        if (!is_user_range(Call::address_of(op.buffer), op.size)) return -EFAULT;
    }
    return 0;
}

/// The engine's way of one batch. Numbered, its last operation tells; before that only what fails
/// does.
inline std::int64_t engine_batch(Call& call, const std::vector<Transfer>& parts, std::int32_t qid,
                                 std::uint64_t sequence) {
    const auto& chunk = *parts.front().chunk;
    auto* queue = find_queue(call, chunk, qid);
    if (queue == nullptr) return -ENOENT;
    if (!call.machine().zero_copy_works()) return -EINVAL;
    if (!queue->serves(chunk.core)) return -ENOENT;
    if (sequence != 0) return queue_pinned(call, *queue, parts, {sequence, 0});
    for (const auto& part : parts)
        if (const auto answer = copy_pinned(call, *queue, part)) return answer;
    return 0;
}

/// One batch, checked only now: what came before it is done. No batch through BAR4 is heard of.
inline std::int64_t run_batch(Call& call, const uapi::MemBufCopy64zcBatches& ask,
                              const uapi::MemcpyBatch& batch) {
    std::vector<uapi::NrtTensorBatchOp> ops(batch.num_ops);
    if (const auto answer = read_array(call, batch.ops_ptr, ops)) return answer;
    if (const auto answer = check_batch(call, batch, ops)) return answer;
    std::vector<Transfer> parts;
    bool small = true;
    for (const auto& op : ops) {
        parts.push_back({call.device.named(batch.mem_handle), op.offset + batch.mem_handle_offset,
                         op.size, Call::address_of(op.buffer), ask.is_copy_to_device != 0});
        small = small && fits_bar4(parts.back(), batch.bar4_wr_threshold);
    }
    // numbers came with 2.29; before, the member is not looked at
    const auto sequence = call.machine().at_least(Release::V2_30_2) ? ask.sequence_num : 0;
    if (!small) return engine_batch(call, parts, ask.h2t_qid, sequence);
    for (const auto& part : parts)
        if (const auto answer = write_bar4(call, part)) return answer;
    return 0;
}

inline std::int64_t zero_copy_batches(Call& call) {
    uapi::MemBufCopy64zcBatches ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    if (ask.batches_ptr == nullptr || ask.num_batches == 0) return -EINVAL;
    if (std::uint64_t{ask.num_batches} * sizeof(uapi::MemcpyBatch) > kMostKernelMemory)
        return -ENOMEM;
    std::vector<uapi::MemcpyBatch> batches(ask.num_batches);
    if (const auto answer = read_array(call, ask.batches_ptr, batches)) return answer;
    std::uint64_t ops = 0;
    for (const auto& batch : batches) {
        if (batch.num_ops == 0 || batch.ops_ptr == nullptr) return -EINVAL;
        ops += batch.num_ops;
    }
    if (ops * sizeof(uapi::NrtTensorBatchOp) > kMostKernelMemory) return -ENOMEM;
    auto& done = call.progress.done; // one that waited goes on where it was
    for (; done < batches.size(); ++done)
        if (const auto answer = run_batch(call, ask, batches[done])) return answer;
    return 0;
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
