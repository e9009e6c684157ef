// SPDX-License-Identifier: Apache-2.0
//
// The completion queue of one host-to-device queue: how a program learns that a numbered request
// is done.
// Owns: what is finished and not yet written, the driver's copy of the tail. Does not own: the
// memory, which the program maps and whose head it moves.
// Layer: backend (simulated kernel).   Source: driver-abi.md 8.6
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>

#include "neuronbook/backend/uapi.hpp"
#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// What a numbered request leaves behind, from when it is due.
struct Completion {
    std::uint64_t sequence = 0;
    std::int64_t result = 0; ///< 0 or minus an errno
    std::uint64_t context = 0;
    Nanoseconds due{};
    std::uint64_t steps = 0; ///< places taken until it is written
};

/// There is no thread: what is due is written when somebody calls pump(), and the kernel does that
/// at the end of every request. A program that only looks at its mapping sees all of what it asked
/// for before, unless the queue was full or the engine hung. Not thread-safe but for the head.
class CompletionQueue {
public:
    static constexpr std::uint32_t kCapacity = 1024;
    static constexpr std::uint64_t kMostSteps = 1023; ///< queued at a time
    static constexpr std::uint32_t kBytes = 24592;    ///< what a program is told to map

    /// Requires: `memory`, everywhere in this class, has kBytes or is null: nothing is written.
    static void clear(std::byte* memory) {
        if (memory == nullptr) return;
        std::memset(memory, 0, kBytes);
        const uapi::H2dDmaComplQueue start{kCapacity, 0, 0, 0};
        std::memcpy(memory, &start, sizeof(start));
    }

    [[nodiscard]] bool has_room(std::uint64_t steps) const { return steps <= kMostSteps - steps_; }
    [[nodiscard]] bool idle() const { return pending_.empty(); }
    /// When the last of what is queued is due.
    [[nodiscard]] Nanoseconds busy_until() const {
        return pending_.empty() ? Nanoseconds{} : pending_.back().due;
    }

    /// Requires: has_room(what.steps), and nothing that is queued is due later.
    void add(const Completion& what) {
        steps_ += what.steps;
        pending_.push_back(what);
    }

    /// What is queued where the driver never looks: it keeps its places. Requires: has_room(steps).
    void keep(std::uint64_t steps) { steps_ += steps; }

    /// Nobody hears of what is still queued.
    void drain() {
        pending_.clear();
        steps_ = 0;
    }

    /// Whether something is due that finds no room: the driver then waits, with the queue locked.
    [[nodiscard]] bool stalled(std::byte* memory, Nanoseconds now) const {
        return !pending_.empty() && pending_.front().due <= now && memory != nullptr &&
               full(memory);
    }

    /// Writes what is due, in order, as far as there is room.
    void pump(std::byte* memory, Nanoseconds now) {
        while (!pending_.empty() && pending_.front().due <= now) {
            if (memory != nullptr) {
                if (full(memory)) return;
                write(memory, pending_.front());
            }
            steps_ -= pending_.front().steps;
            pending_.pop_front();
        }
    }

private:
    using Start = uapi::H2dDmaComplQueue;
    using Entry = uapi::H2dDmaComplQueueEntry;
    static_assert(sizeof(Start) + kCapacity * sizeof(Entry) == kBytes);

    static std::uint32_t& word(std::byte* memory, std::size_t offset) {
        return *reinterpret_cast<std::uint32_t*>(memory + offset);
    }

    /// The program's head is believed; the tail that it sees is not.
    [[nodiscard]] bool full(std::byte* memory) const {
        auto& head = word(memory, offsetof(Start, head));
        return tail_ - std::atomic_ref(head).load(std::memory_order_acquire) >= kCapacity;
    }

    void write(std::byte* memory, const Completion& what) {
        const Entry entry{what.sequence, what.result, reinterpret_cast<void*>(what.context)};
        std::memcpy(memory + sizeof(Start) + tail_ % kCapacity * sizeof(Entry), &entry,
                    sizeof(entry));
        ++tail_;
        auto& tail = word(memory, offsetof(Start, tail));
        std::atomic_ref(tail).store(tail_, std::memory_order_release);
    }

    std::deque<Completion> pending_;
    std::uint64_t steps_ = 0;
    std::uint32_t tail_ = 0;
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
