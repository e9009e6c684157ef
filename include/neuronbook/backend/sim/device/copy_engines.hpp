// SPDX-License-Identifier: Apache-2.0
//
// The host-to-device engines of a device and the queues that copies go through.
// Owns: which core uses which queue, who was given one. Does not own: how a ring fills
// (transfer_ring.hpp), completions (completion_queue.hpp), the memory of either.
// Layer: backend (simulated kernel).   Source: driver-abi.md 1, 8.8 (measured)
#pragma once

#include <array>
#include <cerrno>
#include <cstdint>
#include <vector>

#include "neuronbook/backend/sim/device/attach_slots.hpp"
#include "neuronbook/backend/sim/device/completion_queue.hpp"
#include "neuronbook/backend/sim/device/transfer_ring.hpp"
#include "neuronbook/backend/sim/machine/machine_spec.hpp"
#include "neuronbook/backend/sim/memory/chunk.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// What a queue is for. A service queue is only set aside: a program gives it its rings.
enum class QueueUse : std::uint8_t { None, Default, Copy, Service };

/// A chunk that the driver holds, unless somebody freed it behind its back.
struct OwnChunk {
    std::uint32_t index = Chunk::kNone;
    std::uint64_t pa = 0;
    std::uint64_t size = 0;
};

struct CopyQueue {
    QueueUse use = QueueUse::None;
    std::uint32_t core = 0;  ///< it was given to this one
    bool taken_over = false; ///< a program put rings of its own under the driver's copies
    TransferRing ring;
    std::array<std::uint64_t, 2> moves{}; ///< of its asynchronous copies, as the mover numbers them
    CompletionQueue completions;
    OwnChunk receive, transmit, words, entries;

    /// Whether copies of this core may name it.
    [[nodiscard]] bool serves(std::uint32_t which) const {
        return (use == QueueUse::Default || use == QueueUse::Copy) && core == which;
    }
};

/// Not thread-safe. Queues get their memory from an `Owner`, which is the device.
class CopyEngines {
public:
    explicit CopyEngines(const MachineSpec& machine)
        : release_(machine.release()), paired_(!machine.is(Architecture::Sunda)),
          engines_(paired_ ? 4 : 2) {}

    /// The driver's number of a core's engine. On Trn1 all cores but 0 use the second, also those
    /// that are not there.
    [[nodiscard]] std::uint32_t number(std::uint32_t core) const {
        return (paired_ ? kFirstOfPairs : kFirstOfTwo) + index_of(core);
    }
    [[nodiscard]] std::uint32_t default_queue(std::uint32_t core) const {
        return paired_ ? core % 2 : 0;
    }
    /// Requires: `qid` is below 16.
    [[nodiscard]] CopyQueue& queue(std::uint32_t core, std::uint32_t qid) {
        return engines_[index_of(core)][qid];
    }
    [[nodiscard]] CopyQueue& default_of(std::uint32_t core) {
        return queue(core, default_queue(core));
    }
    /// The queue of an engine by the driver's numbers; null when it is none of these engines.
    [[nodiscard]] CopyQueue* find(std::uint32_t engine, std::uint32_t qid) {
        const auto first = paired_ ? kFirstOfPairs : kFirstOfTwo;
        const bool here = engine >= first && engine - first < engines_.size();
        return here && qid < uapi::kH2tQueues ? &engines_[engine - first][qid] : nullptr;
    }

    /// What a reset of a core does: the queues that anybody was given for it are gone, its default
    /// queue is new. A host without memory for that is not modelled: the queue works without.
    template <class Owner>
    void reset(Owner& owner, std::uint32_t core) {
        for (auto& queue : engines_[index_of(core)])
            if (queue.use != QueueUse::None && queue.core == core && !forgets(queue))
                give_back(owner, queue);
        auto& queue = default_of(core);
        build(owner, queue, core);
        queue.use = QueueUse::Default;
    }

    /// Takes the queues that anybody was given for a core. `by`: the slot of who frees them.
    template <class Owner>
    void drop_extra(Owner& owner, std::uint32_t core, std::uint32_t by) {
        for (auto& queue : engines_[index_of(core)])
            if ((queue.use == QueueUse::Copy || queue.use == QueueUse::Service) &&
                queue.core == core)
                give_back(owner, queue, by);
    }

    /// Takes its own queue as well: there is none until a reset brings one.
    template <class Owner>
    void drop_all(Owner& owner, std::uint32_t core, std::uint32_t by) {
        for (auto& queue : engines_[index_of(core)])
            if (queue.use != QueueUse::None && queue.core == core) give_back(owner, queue, by);
        default_of(core).core = core;
    }

    /// The lowest queue of the core's engine that nobody has, its memory charged to the process of
    /// a slot: its number, or -ENOMEM, or what the release answers when there is none.
    template <class Owner>
    std::int64_t allocate(Owner& owner, std::uint32_t core, QueueUse use, std::uint32_t slot) {
        auto& queues = engines_[index_of(core)];
        std::uint32_t qid = paired_ ? 2 : 1; // below are default queues
        while (qid < queues.size() && queues[qid].use != QueueUse::None) ++qid;
        if (qid == queues.size()) return release_ >= Release::V2_30_2 ? -EBUSY : -EPERM;
        auto& queue = queues[qid];
        if (use == QueueUse::Copy && !build(owner, queue, core, slot)) {
            give_back(owner, queue, slot);
            return -ENOMEM;
        }
        queue.use = use;
        queue.core = core;
        return qid;
    }

    /// A queue's own ring and memory go; it is nobody's.
    template <class Owner>
    void give_back(Owner& owner, CopyQueue& queue, std::uint32_t slot = kNobody) {
        owner.free_own(queue.receive, slot);
        owner.free_own(queue.transmit, slot);
        // up to 2.24 these words are forgotten (4096 bytes a reset, measured)
        if (release_ >= Release::V2_26_5) owner.free_own(queue.words, slot);
        owner.free_own(queue.entries, slot);
        queue = CopyQueue{};
    }

    template <class F>
    void for_each(F visit) {
        for (auto& engine : engines_)
            for (auto& queue : engine) visit(queue);
    }

private:
    static constexpr std::uint32_t kNobody = AttachSlots::kNone;
    static constexpr std::uint32_t kFirstOfTwo = 32;
    static constexpr std::uint32_t kFirstOfPairs = 128;
    static constexpr std::uint64_t kRing = 131072; ///< 8192 descriptors of 16 bytes
    static constexpr std::uint64_t kWords = 24;

    [[nodiscard]] std::size_t index_of(std::uint32_t core) const {
        return paired_ ? core / 2 : core == 0 ? 0 : 1;
    }

    /// From 2.25 to 2.29 a reset builds a new default queue and forgets the memory of the old one:
    /// 266240 bytes a reset.
    [[nodiscard]] bool forgets(const CopyQueue& queue) const {
        return release_ == Release::V2_26_5 && queue.use == QueueUse::Default;
    }

    /// False when the host has not enough memory.
    template <class Owner>
    bool build(Owner& owner, CopyQueue& queue, std::uint32_t core, std::uint32_t slot = kNobody) {
        queue = CopyQueue{};
        queue.core = core;
        queue.receive = owner.allocate_own(kRing, core, slot);
        queue.transmit = owner.allocate_own(kRing, core, slot);
        queue.words = owner.allocate_own(kWords, core, slot);
        bool whole = queue.receive.index != Chunk::kNone && queue.transmit.index != Chunk::kNone &&
                     queue.words.index != Chunk::kNone;
        if (release_ >= Release::V2_30_2) {
            // charged to core 0, and with a handle from the start
            queue.entries = owner.allocate_own(CompletionQueue::kBytes, 0, slot);
            owner.name_own(queue.entries);
            CompletionQueue::clear(owner.bytes_of(queue.entries));
            whole = whole && queue.entries.index != Chunk::kNone;
        }
        return whole;
    }

    Release release_;
    bool paired_; ///< two cores share an engine
    std::vector<std::array<CopyQueue, uapi::kH2tQueues>> engines_;
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
