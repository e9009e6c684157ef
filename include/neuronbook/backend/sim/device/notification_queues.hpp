// SPDX-License-Identifier: Apache-2.0
//
// The notification queues of one device: which chunk each of them writes to.
// Owns: the table. Does not own: the chunks (device.hpp), or the checks of a request.
// Layer: backend (simulated kernel).   Source: driver-abi.md 5.9, 12, 15.30 (measured)
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// Whose queue it is, and which of theirs.
struct QueueKey {
    uapi::NqDeviceType device = uapi::NqDeviceType::NeuronCore;
    std::uint32_t owner = 0;  ///< core or top synchronisation processor
    std::uint32_t number = 0; ///< of type and engine together

    friend bool operator==(const QueueKey&, const QueueKey&) = default;
};

/// One queue. It keeps what it told about its chunk, which somebody may free behind its back.
struct NotificationQueue {
    QueueKey key{};
    std::uint32_t chunk = 0;
    std::uint64_t pa = 0;
    std::uint32_t handle = 0;
    bool on_host = false;
    bool freed = false; ///< the chunk is gone, or already something else
};

/// Not thread-safe.
class NotificationQueues {
public:
    [[nodiscard]] NotificationQueue* find(const QueueKey& key) {
        for (auto& queue : queues_)
            if (queue.key == key) return &queue;
        return nullptr;
    }

    NotificationQueue& add(const NotificationQueue& queue) { return queues_.emplace_back(queue); }

    /// The queue that writes to a chunk, or null.
    [[nodiscard]] NotificationQueue* of_chunk(std::uint32_t chunk) {
        for (auto& queue : queues_)
            if (!queue.freed && queue.chunk == chunk) return &queue;
        return nullptr;
    }

private:
    static auto belongs(std::uint32_t core, std::uint32_t per_core) {
        return [core, per_core](const NotificationQueue& queue) {
            const bool of_core = queue.key.device == uapi::NqDeviceType::NeuronCore;
            return (of_core ? queue.key.owner : queue.key.owner / per_core) == core;
        };
    }

public:
    /// Queues of a core and of the processors that belong to it, `per_core` of them.
    [[nodiscard]] std::uint32_t count(std::uint32_t core, std::uint32_t per_core) const {
        return static_cast<std::uint32_t>(
            std::count_if(queues_.begin(), queues_.end(), belongs(core, per_core)));
    }

    /// Takes them out of the table, each through `visit`.
    template <class F>
    void remove(std::uint32_t core, std::uint32_t per_core, F visit) {
        const auto belong = belongs(core, per_core);
        std::vector<NotificationQueue> gone;
        std::copy_if(queues_.begin(), queues_.end(), std::back_inserter(gone), belong);
        std::erase_if(queues_, belong);
        for (const auto& queue : gone) visit(queue);
    }

private:
    std::vector<NotificationQueue> queues_;
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
