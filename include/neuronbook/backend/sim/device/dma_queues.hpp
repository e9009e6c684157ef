// SPDX-License-Identifier: Apache-2.0
//
// The DMA queues that programs set up themselves, as the driver remembers them.
// Owns: who set up which queue with which rings, the state of each engine. Does not own: the rings'
// memory, the driver's own copy queues (copy_engines.hpp). What the descriptors say is not done.
// Layer: backend (simulated kernel).   Source: driver-abi.md 1, 12
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "neuronbook/backend/sim/device/copy_engines.hpp"
#include "neuronbook/backend/sim/machine/machine_spec.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// One direction of a queue: what its registers hold.
struct DmaRing {
    std::uint64_t base = 0;
    std::uint32_t length = 0; ///< descriptors; 0: never set up
    std::uint32_t next = 0;   ///< descriptors started so far, within the ring

    void start(std::uint32_t count) {
        if (length != 0) next = static_cast<std::uint32_t>((std::uint64_t{next} + count) % length);
    }
};

struct DmaQueue {
    std::int32_t pid = 0; ///< who set it up last; 0: nobody
    bool has_receive = false;
    DmaRing transmit, receive;
};

/// No reference is taken on a ring's memory: a queue goes on naming what was freed. Not
/// thread-safe.
class DmaQueues {
public:
    static constexpr std::uint32_t kEngines = 132; ///< of the driver's table, on every architecture
    static constexpr std::uint32_t kQueues = 16;
    static constexpr std::uint32_t kDummyRing = 64;

    enum class EngineState : std::uint8_t { Idle = 1, Normal = 2, Abort = 3 };

    explicit DmaQueues(const MachineSpec& machine)
        : sunda_(machine.is(Architecture::Sunda)), live_(sunda_ ? 34 : kEngines) {
        states_.fill(EngineState::Normal);
    }

    OwnChunk dummy; ///< ring of queues whose owner is gone

    /// Whether the device has that engine.
    [[nodiscard]] bool has(std::uint32_t engine) const { return engine < live_; }

    /// Requires: below kEngines and kQueues.
    [[nodiscard]] DmaQueue& queue(std::uint32_t engine, std::uint32_t qid) {
        return queues_[engine * kQueues + qid];
    }
    [[nodiscard]] EngineState& state(std::uint32_t engine) { return states_[engine]; }

    /// The end of a process: what it set up gets the dummy ring, but for the queues of Trn1's core
    /// engines that the hardware uses by itself. No queue of a host-to-device engine is looked at.
    void tear_down(CopyEngines& copies, std::int32_t pid) {
        for (auto& [number, queue] : queues_) {
            const auto engine = number / kQueues;
            const auto qid = number % kQueues;
            const bool hardwares = sunda_ && qid == 14 && engine % 16 < 11;
            const auto* copy = copies.find(engine, qid);
            if (copy != nullptr || queue.pid != pid || hardwares) continue;
            queue = {0, true, {dummy.pa, kDummyRing, 0}, {dummy.pa, kDummyRing, 0}};
        }
    }

private:
    bool sunda_;
    std::uint32_t live_;
    std::array<EngineState, kEngines> states_{};
    std::map<std::uint32_t, DmaQueue> queues_; ///< those ever looked at
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
