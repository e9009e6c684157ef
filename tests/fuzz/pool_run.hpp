// SPDX-License-Identifier: Apache-2.0
//
// Bytes as operations on a pool, compared after every step with a small reference: which ranges
// are used, which wait for which queue, and that all the rest is free and joined.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "neuronbook/base/architecture.hpp"
#include "neuronbook/dmem/pool.hpp"

namespace fuzz {

namespace nb = neuronbook;

struct WrongPool : std::runtime_error {
    using std::runtime_error::runtime_error;
};

inline void demand_pool(bool holds, const char* what) {
    if (!holds) throw WrongPool(what);
}

/// Chunks of an HBM, which has room for some; their addresses leave gaps of no size or some.
struct ScantDriver {
    nb::Result<nb::Chunk> allocate(nb::HostDeviceId, const nb::ChunkRequest& ask) {
        const std::uint64_t size = nb::whole_pages(ask.size)->count();
        if (refuse != 0 && --refuse == 0) return nb::fail({.os_error = 5});
        if (size > room[ask.hbm])
            return nb::fail(
                {.status = nb::Status::Resource, .detail = nb::Detail::OutOfDeviceMemory});
        room[ask.hbm] -= size;
        const std::uint64_t step = std::max<std::uint64_t>(4096, ask.alignment.count());
        next = (next + step - 1) & ~(step - 1);
        const nb::Chunk chunk{nb::ChunkHandle{++handle}, nb::DeviceAddress{next}, nb::Bytes{size},
                              ask.location, ask.hbm};
        next += size + (handle % 3 == 0 ? 8192 : 0);
        chunks[chunk.address.value()] = chunk;
        return chunk;
    }
    nb::Result<void> free(nb::HostDeviceId, const nb::Chunk& chunk) {
        demand_pool(chunks.erase(chunk.address.value()) == 1, "a chunk is freed twice");
        room[chunk.hbm] += chunk.size.count();
        return {};
    }
    [[nodiscard]] bool usable() const noexcept { return true; }

    std::array<std::uint64_t, 8> room{8u << 20, 3u << 20, 1u << 20};
    std::map<std::uint64_t, nb::Chunk> chunks;
    std::uint64_t next = 1u << 24, handle = 0, refuse = 0;
};

class PoolRun {
    using Memory = nb::Pool<nb::GlobalTag, ScantDriver,
                            nb::PoolTraits<nb::Ledger, nb::NoLock, nb::DoublingGrowth>>;
    struct Taken {
        std::uint64_t size = 0, charged = 0;
        std::vector<nb::Block> handles; ///< empty: it waits
        std::size_t queue = 0;          ///< for this one
        std::uint64_t point = 0;        ///< to reach that
    };

public:
    explicit PoolRun(std::span<const std::uint8_t> input) : input_(input) {
        for (auto& queue : queues_) queue = std::make_unique<nb::WorkQueue>();
        const std::uint64_t maximum = std::uint64_t{byte() % 4u} << 20;
        ledger_ = std::make_shared<nb::Ledger>(
            nb::HostDeviceId{0}, nb::MemoryOptions{.events = 0, .report_out_of_memory = false}, 2);
        pool_ = std::make_unique<Memory>(
            driver_, nb::HostDeviceId{0}, nb::PhysicalCore{},
            *nb::geometry_of(nb::Architecture::Cayman), ledger_,
            nb::PoolOptions{.maximum = nb::Bytes{maximum}}, nullptr,
            nb::DoublingGrowth{.first = nb::Bytes{64u << 10}, .most = nb::Bytes{1u << 20}});
    }

    std::size_t made = 0; ///< blocks

    /// Effects: runs the whole input. Throws WrongPool where pool and reference differ.
    void go() {
        while (at_ < input_.size()) {
            step();
            compare();
        }
        for (auto& queue : queues_) queue->reach(~std::uint64_t{0});
        taken_.clear();
        pool_->trim();
        demand_pool(driver_.chunks.empty() && pool_->statistics().chunks == 0, "a chunk is left");
        for (std::uint32_t hbm = 0; hbm < 3; ++hbm)
            demand_pool(ledger_->used_on_channel(hbm) == nb::Bytes{}, "bytes are booked");
    }

private:
    std::uint8_t byte() { return at_ < input_.size() ? input_[at_++] : 0; }

    auto any() {
        auto one = taken_.begin();
        if (!taken_.empty()) std::advance(one, byte() % taken_.size());
        return one;
    }

    void step() {
        const std::uint8_t what = byte();
        driver_.refuse = what >= 240 ? 1 : 0;
        switch (what % 8) {
        case 0:
        case 1:
        case 2: allocate(); break;
        case 3:
            if (const auto one = any(); one != taken_.end() && !one->second.handles.empty()) {
                one->second.handles.pop_back();
                if (one->second.handles.empty()) taken_.erase(one);
            }
            break;
        case 4:
            if (const auto one = any(); one != taken_.end() && !one->second.handles.empty())
                one->second.handles.push_back(one->second.handles.back());
            break;
        case 5: free_after(); break;
        case 6: reach(byte() % queues_.size(), byte()); break;
        default:
            if (what & 8) pool_->trim(nb::Bytes{std::uint64_t{byte()} << 14});
            look_up();
        }
        driver_.refuse = 0;
    }

    void allocate() {
        const std::uint64_t size = (std::uint64_t{byte()} << byte() % 14) + byte();
        const std::uint64_t alignment = byte() % 3 == 0 ? std::uint64_t{1} << byte() % 21 : 0;
        const std::uint32_t hbm = byte() % 3;
        auto block = pool_->allocate(
            {.size = nb::Bytes{size}, .hbm = hbm, .alignment = nb::Bytes{alignment}});
        if (!block) {
            // Nothing is refused for which there is a hole of its class or above.
            const auto largest = pool_->statistics(hbm).largest_free.count();
            const auto safe = size + size / 16 + alignment + 1024;
            demand_pool(size == 0 || largest < safe, "refused, and there was room");
            return;
        }
        ++made;
        demand_pool(size != 0, "a block of no size");
        const std::uint64_t address = block->address().value();
        demand_pool(address % std::max<std::uint64_t>(512, alignment) == 0, "alignment");
        demand_pool(block->hbm() == hbm && block->requested().count() == size, "facts");
        Taken one{size, (size + 511) / 512 * 512, {}, 0, 0};
        demand_pool(block->charged().count() == one.charged, "charged size");
        one.handles.push_back(*std::move(block));
        settle(); // shortage may have freed what queues were done with
        demand_pool(taken_.emplace(address, std::move(one)).second, "an address twice");
    }

    /// What waits and may go is gone for the reference when the pool has looked: always, here.
    void settle() {
        pool_->collect();
        std::erase_if(taken_, [&](const auto& one) {
            return one.second.handles.empty() &&
                   one.second.point <= queues_[one.second.queue]->reached();
        });
    }

    void free_after() {
        const auto one = any();
        const std::size_t queue = byte() % queues_.size();
        const std::uint64_t point = byte();
        if (one == taken_.end() || one->second.handles.empty()) return;
        auto& handles = one->second.handles;
        const bool done =
            pool_->free_after(std::move(handles.back()), *queues_[queue], point).has_value();
        demand_pool(done == (handles.size() == 1), "freed behind a fence");
        if (!done) return;
        handles.clear();
        one->second.queue = queue;
        one->second.point = point;
        settle();
    }

    void reach(std::size_t queue, std::uint64_t point) {
        if (point == 255) { // a queue ends, another begins
            queues_[queue]->reach(point);
            settle();
            queues_[queue] = std::make_unique<nb::WorkQueue>();
        } else {
            queues_[queue]->reach(point);
        }
        settle();
    }

    void look_up() {
        if (driver_.chunks.empty()) return;
        auto chunk = driver_.chunks.begin();
        std::advance(chunk, byte() % driver_.chunks.size());
        const std::uint64_t address =
            chunk->first + (std::uint64_t{byte()} << 13 | std::uint64_t{byte()} << 5) + byte();
        const auto found = pool_->find(nb::DeviceAddress{address});
        auto after = taken_.upper_bound(address);
        const auto* there = after == taken_.begin() ? nullptr : &*std::prev(after);
        const bool inside = there != nullptr && !there->second.handles.empty() &&
                            address - there->first < there->second.size;
        demand_pool(found.has_value() == inside, "an inner address");
        if (inside)
            demand_pool(found->block == there->second.handles[0] &&
                            found->offset.count() == address - there->first,
                        "the block of an inner address");
    }

    void compare() {
        std::array<nb::PoolStatistics, 3> sums;
        std::array<std::uint64_t, 3> holes{}, largest{};
        for (const auto& [base, chunk] : driver_.chunks) {
            auto& sum = sums[chunk.hbm];
            ++sum.chunks;
            std::uint64_t at = base;
            const std::uint64_t end = base + chunk.size.count();
            const auto hole = [&](std::uint64_t until) {
                demand_pool(at <= until, "blocks overlap");
                holes[chunk.hbm] += at != until;
                largest[chunk.hbm] = std::max(largest[chunk.hbm], until - at);
            };
            for (auto one = taken_.lower_bound(base); one != taken_.end() && one->first < end;
                 ++one) {
                hole(one->first);
                at = one->first + one->second.charged;
                auto& bytes = one->second.handles.empty() ? sum.waiting : sum.used;
                bytes = nb::Bytes{bytes.count() + one->second.charged};
            }
            hole(end);
            sum.reserved = nb::Bytes{sum.reserved.count() + chunk.size.count()};
        }
        for (std::uint32_t hbm = 0; hbm < 3; ++hbm) {
            const auto now = pool_->statistics(hbm);
            const auto& sum = sums[hbm];
            demand_pool(now.chunks == sum.chunks && now.reserved == sum.reserved, "reserved");
            demand_pool(now.used == sum.used && now.waiting == sum.waiting, "used and waiting");
            demand_pool(now.free_blocks == holes[hbm], "free ranges that are not joined");
            demand_pool(now.largest_free.count() == largest[hbm], "largest free block");
            demand_pool(ledger_->used_on_channel(hbm) == sum.reserved, "booked");
        }
        demand_pool(pool_->outstanding().blocks ==
                        static_cast<std::uint64_t>(std::count_if(
                            taken_.begin(), taken_.end(),
                            [](const auto& one) { return !one.second.handles.empty(); })),
                    "outstanding");
    }

    std::span<const std::uint8_t> input_;
    std::size_t at_ = 0;
    ScantDriver driver_;
    std::shared_ptr<nb::Ledger> ledger_;
    std::unique_ptr<Memory> pool_;
    std::array<std::unique_ptr<nb::WorkQueue>, 3> queues_;
    std::map<std::uint64_t, Taken> taken_; ///< by address
};

} // namespace fuzz
