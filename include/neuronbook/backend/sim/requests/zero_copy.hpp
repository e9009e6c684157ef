// SPDX-License-Identifier: Apache-2.0
//
// Requests that copy between a caller's pinned pages and a chunk, or write small pieces through
// BAR4.
// Owns: their handlers, the cut into steps. Does not own: batches (zero_copy_batches.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 8.5, 8.6 (measured)
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include "neuronbook/backend/sim/requests/bounds.hpp"
#include "neuronbook/backend/sim/requests/call.hpp"
#include "neuronbook/backend/sim/requests/copy.hpp"
#include "neuronbook/backend/sim/requests/engine_use.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// One copy between a buffer and a chunk.
struct Transfer {
    const Chunk* chunk = nullptr;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::uint64_t buffer = 0;
    bool inward = false; ///< to the chunk
};

/// What a numbered request is known by; number 0: the call waits.
struct Numbered {
    std::uint64_t sequence = 0;
    std::uint64_t context = 0;
};

/// Whether a buffer lies where a program's memory can be. No page is looked at.
[[nodiscard]] inline bool is_user_range(std::uint64_t buffer, std::uint64_t size) {
    constexpr std::uint64_t kUserEnd = std::uint64_t{1} << 47;
    return buffer < kUserEnd && size <= kUserEnd - buffer;
}

/// Whether a copy is small and even enough for the processor to write it.
[[nodiscard]] inline bool fits_bar4(const Transfer& what, std::uint64_t threshold) {
    constexpr std::uint64_t kMostBar4 = 8192;
    return what.inward && !what.chunk->on_host() && what.size <= std::min(threshold, kMostBar4) &&
           what.size % 4 == 0 && what.offset % 4 == 0;
}

/// Up to 2.28 a write that ends with its HBM is done somewhere else.
inline std::int64_t write_bar4(Call& call, const Transfer& what) {
    if (what.size == 0) return 0;
    std::vector<std::byte> bytes(what.size);
    const auto moved = call.user.read(bytes.data(), what.buffer, what.size);
    if (moved != what.size) return short_copy(call, what.size - moved);
    const auto& hbm = call.device.hbms()[what.chunk->hbm];
    if (!call.machine().at_least(Release::V2_30_2) &&
        what.chunk->pa + what.offset + what.size == hbm.end()) {
        call.state.journal.crashes.add("BAR4 write that ends with its HBM: goes elsewhere");
        return 0;
    }
    if (auto* to = bytes_of(call, *what.chunk, what.offset, what.size))
        std::memcpy(to, bytes.data(), what.size);
    return 0;
}

/// Bytes from a buffer's start that can be pinned. For a copy outward that is what can be written.
[[nodiscard]] inline std::uint64_t pinnable(Call& call, const Transfer& what,
                                            std::vector<std::byte>& held) {
    held.resize(what.size);
    const auto moved = call.user.read(held.data(), what.buffer, what.size);
    return what.inward ? moved : call.user.write(what.buffer, held.data(), moved);
}

/// One step: its pages are pinned, all or none, before anything moves. 0, or the driver's answer to
/// pages that cannot be. `to`: null when nothing is to move.
[[nodiscard]] inline std::int64_t move_step(Call& call, const Transfer& step, std::byte* bytes) {
    const auto move = [&] {
        return step.inward ? call.user.read(bytes, step.buffer, step.size)
                           : call.user.write(step.buffer, bytes, step.size);
    };
    std::vector<std::byte> held;
    std::uint64_t moved = 0;
    if (is_driver_mapping(call.state, call.caller.pid, step.buffer, step.size)) {
        // such pages have no page structures: not even the first can be pinned
    } else if (call.user.may_be_partial() || bytes == nullptr) {
        moved = pinnable(call, step, held);
        if (moved == step.size && bytes != nullptr) {
            if (step.inward)
                std::memcpy(bytes, held.data(), moved);
            else
                moved = move();
        }
    } else {
        moved = move();
    }
    if (moved == step.size) return 0;
    // since 2.29 the errno of the first page, when not even that could be pinned
    return call.machine().at_least(Release::V2_30_2) && moved == 0 ? -EFAULT : -ENOMEM;
}

/// Bytes of the first step of what is left: 64 pages at most, but a rest between one and two steps
/// is halved.
[[nodiscard]] inline std::uint64_t step_bytes(std::uint64_t buffer, std::uint64_t left,
                                              std::uint64_t whole) {
    constexpr std::uint64_t kStep = 64 * kPage.count();
    const auto page = kPage.count();
    const auto most =
        whole > kStep && whole <= 2 * kStep ? ((whole + 1) / 2 + page - 1) / page * page : kStep;
    return std::min(most - buffer % page, left);
}

/// Calls `visit(step, pages)` for each step until one answers other than 0.
template <class F>
std::int64_t for_each_step(const Transfer& what, F visit) {
    const auto whole = what.size + what.buffer % kPage.count();
    for (std::uint64_t done = 0; done < what.size;) {
        auto step = what;
        step.buffer += done;
        step.offset += done;
        step.size = step_bytes(step.buffer, what.size - done, whole);
        const auto into_page = step.buffer % kPage.count();
        const auto pages = (into_page + step.size + kPage.count() - 1) / kPage.count();
        if (const auto answer = visit(step, pages)) return answer;
        done += step.size;
    }
    return 0;
}

/// A copy by pinned pages that the call waits for. It waits for what is queued as well, and nobody
/// hears of that. Requires: the range passed in_bounds().
inline std::int64_t copy_pinned(Call& call, CopyQueue& queue, const Transfer& what) {
    auto& queued = queue.completions;
    if (what.size == 0) return 0;
    if (is_locked(call, queue)) return Call::kWaits;
    const auto end = queued.busy_until();
    queued.drain();
    if (end > call.now) return wait_until(call, end);
    auto* bytes = place_of(call, *what.chunk, what.offset, what.size);
    if (bytes == nullptr) return 0;
    return for_each_step(what, [&](const Transfer& step, std::uint64_t pages) -> std::int64_t {
        const bool hangs = engines_hang(call.device);
        auto* to = bytes + (step.offset - what.offset);
        call.device.memory.settle(what.chunk->pa + step.offset, step.size);
        if (hangs)
            if (const auto answer = move_step(call, step, nullptr)) return answer;
        if (const auto answer = run_engine(call, queue, pages, Waited::Later)) return answer;
        return move_step(call, step, to);
    });
}

/// What a numbered request came to, step by step.
struct QueuedSteps {
    std::uint64_t count = 0;
    std::uint64_t first_pages = 0;
};

/// The steps of one copy of a numbered request. They move now unless the engine hangs.
[[nodiscard]] inline std::int64_t queue_steps(Call& call, CopyQueue& queue, const Transfer& what,
                                              QueuedSteps& steps) {
    const bool hangs = engines_hang(call.device);
    auto* bytes = place_of(call, *what.chunk, what.offset, what.size);
    return for_each_step(what, [&](const Transfer& step, std::uint64_t pages) -> std::int64_t {
        if (!queue.completions.has_room(steps.count + 1)) return -EBUSY;
        if (steps.count++ == 0) steps.first_pages = pages;
        if (bytes != nullptr) call.device.memory.settle(what.chunk->pa + step.offset, step.size);
        auto* to = hangs || bytes == nullptr ? nullptr : bytes + (step.offset - what.offset);
        if (const auto answer = move_step(call, step, to)) return answer;
        // the first step that hangs is the last to be handed to the engine
        if (hangs) return steps.count > 1 ? 0 : queue.ring.lose(pages);
        return queue.ring.run(pages);
    });
}

/// A numbered request, of one copy or of a batch's: the answer says that it is queued, and it is
/// heard of once. More than 1023 steps are refused, alone or behind others that hang; then nobody
/// hears of what is queued, whosever it is.
inline std::int64_t queue_pinned(Call& call, CopyQueue& queue, const std::vector<Transfer>& parts,
                                 const Numbered& by) {
    if (is_locked(call, queue)) return Call::kWaits;
    use_queue(call, queue);
    auto& queued = queue.completions;
    QueuedSteps steps;
    for (const auto& part : parts)
        if (const auto answer = queue_steps(call, queue, part, steps)) {
            tell_nobody(call, queued);
            return answer;
        }
    if (steps.count == 0) return 0; // of size 0: nobody ever hears of it
    const bool hangs = engines_hang(call.device);
    const auto start = std::max(call.now, queued.busy_until());
    tell(call, queued,
         {by.sequence, hangs ? timed_out(call) : 0, by.context,
          hangs ? given_up(call, start, steps.first_pages, Waited::Later) : start, steps.count});
    return 0;
}

/// The queue a request names, or the core's own; null when there is no such number.
[[nodiscard]] inline CopyQueue* find_queue(Call& call, const Chunk& chunk, std::int32_t qid) {
    auto& engines = call.device.engines;
    if (qid == uapi::kDmaH2tDefaultQid) return &engines.default_of(chunk.core);
    if (qid < 0 || qid >= static_cast<std::int32_t>(uapi::kH2tQueues)) return nullptr;
    return &engines.queue(chunk.core, static_cast<std::uint32_t>(qid));
}

/// The engine's way, once it was chosen. `queue`: from find_queue().
inline std::int64_t copy_by_engine(Call& call, CopyQueue* queue, const Transfer& what,
                                   const Numbered& by) {
    if (queue == nullptr) return -ENOENT;
    if (!call.machine().zero_copy_works()) return -EINVAL;
    if (!queue->serves(what.chunk->core)) return -ENOENT;
    return by.sequence == 0 ? copy_pinned(call, *queue, what)
                            : queue_pinned(call, *queue, {what}, by);
}

/// The processor's way of a numbered request: done at once, even when no queue can tell of it, and
/// heard of behind the others.
inline std::int64_t queue_bar4(Call& call, CopyQueue& queue, const Transfer& what,
                               const Numbered& by) {
    const bool known = queue.serves(what.chunk->core);
    if (known && is_locked(call, queue)) return Call::kWaits;
    const auto result = write_bar4(call, what);
    if (!known) return -ENOENT;
    auto& queued = queue.completions;
    if (!queued.has_room(1)) {
        tell_nobody(call, queued);
        return -EBUSY;
    }
    const auto due = std::max(call.now, queued.busy_until());
    tell(call, queued, {by.sequence, result, by.context, due, 1});
    return 0;
}

/// The forms of 2.25 and of 2.29, which can be numbered; each release knows one. The older one
/// looks at the queue's number only when an engine is to use it.
template <class Form>
std::int64_t zero_copy(Call& call) {
    if (call.encoded_size() != sizeof(Form)) return -EINVAL;
    Form ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    const auto* chunk = call.device.named(ask.mem_handle);
    if (chunk == nullptr || !in_bounds(call, *chunk, ask.offset, ask.size)) return -EINVAL;
    const Transfer what{chunk, ask.offset, ask.size, Call::address_of(ask.buffer),
                        ask.is_copy_to_device != 0};
    if (!is_user_range(what.buffer, what.size)) return -EFAULT;
    auto* queue = find_queue(call, *chunk, ask.h2t_qid);
    Numbered by;
    if constexpr (requires { ask.sequence_num; }) {
        by = {ask.sequence_num, Call::address_of(ask.context)};
        if (queue == nullptr) return -ENOENT;
    }
    if (!fits_bar4(what, ask.bar4_wr_threshold)) return copy_by_engine(call, queue, what, by);
    return by.sequence == 0 ? write_bar4(call, what) : queue_bar4(call, *queue, what, by);
}

/// The form of 2.24, which moves through pinned pages on every architecture, host chunks too. An
/// address that no user can have is one whose pages cannot be pinned.
inline std::int64_t zero_copy_24(Call& call) {
    if (call.encoded_size() != sizeof(uapi::MemBufCopy64)) return -EINVAL;
    uapi::MemBufCopy64 ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    const auto* chunk = call.device.named(ask.mem_handle);
    if (chunk == nullptr || !in_bounds(call, *chunk, ask.offset, ask.size)) return -EINVAL;
    const Transfer what{chunk, ask.offset, ask.size, Call::address_of(ask.buffer),
                        ask.copy_to_mem_handle != 0};
    if (what.size == 0) {
        call.state.journal.crashes.add("zero-copy of size 0: oops with the ring locked");
        return -EINVAL;
    }
    return copy_pinned(call, call.device.queue_of(*chunk), what);
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
