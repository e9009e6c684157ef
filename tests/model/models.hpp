// SPDX-License-Identifier: Apache-2.0
//
// Small models for tests of the database, which say when they are used after their end.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "neuronbook/model/model_database.hpp"

namespace neuronbook::test {

inline constexpr PhysicalCore kCore{DeviceIndex{3}, CoreIndex{1}};

struct SmallModel : ModelRecord {
    static constexpr std::uint64_t kAlive = 0xA11FE;

    SmallModel(MintedHandle minted, std::string_view name, const ModelUuid& uuid = {})
        : ModelRecord(std::move(minted), name, uuid) {
        ++count;
    }
    ~SmallModel() {
        alive.store(0xDEAD, std::memory_order_relaxed);
        --count;
    }

    std::atomic<std::uint64_t> alive{kAlive};
    static inline std::atomic<int> count{0};
};

inline std::unique_ptr<SmallModel> model(std::string_view name = "bert", ModelUuid uuid = {}) {
    return std::make_unique<SmallModel>(*process_handles().mint(), name, uuid);
}

inline constexpr Nanoseconds kAtOnce{0};
inline constexpr Nanoseconds kMillisecond{1'000'000};
/// For waits that end by themselves: a test that hangs says less than one that fails.
inline constexpr Nanoseconds kLong{20'000'000'000};

} // namespace neuronbook::test
