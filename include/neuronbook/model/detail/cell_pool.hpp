// SPDX-License-Identifier: Apache-2.0
//
// The counting cells of a process, used again and never freed.
// Owns: cells. Does not own: what is counted in them.
// Layer: model.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "neuronbook/model/detail/count_cell.hpp"
#include "neuronbook/model/detail/thread_tables.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// Thread safety: every member may be called from any thread. The lock is held for a few
/// instructions; memory is taken outside of it.
class CellPool {
public:
    static constexpr std::uint32_t kChunkCells = 64;
    static constexpr std::uint32_t kMostChunks = 8192;

    /// The cells say that threads count for them in `tables`, as long as there is room.
    explicit CellPool(const ThreadTables& tables) noexcept : tables_(&tables) {}
    CellPool(const CellPool&) = delete;
    CellPool& operator=(const CellPool&) = delete;
    ~CellPool() {
        while (auto* chunk = chunks_) {
            chunks_ = chunk->next;
            delete chunk;
        }
    }

    /// A cell that nobody uses, of those that were used before the one given back last; null if the
    /// process has as many models as there can be. std::bad_alloc passes through.
    [[nodiscard]] CountCell* take() {
        if (auto* cell = take_free()) return cell;
        auto chunk = std::make_unique<Chunk>();
        const std::lock_guard lock(mutex_);
        if (free_ == nullptr && chunk_count_ < kMostChunks) {
            for (std::uint32_t i = kChunkCells; i-- > 0;) { // low numbers go first
                auto& cell = chunk->cells[i];
                cell.tables = tables_;
                cell.counted_at = tables_->place_of(chunk_count_ * kChunkCells + i);
                cell.next_free = free_;
                free_ = &cell;
            }
            ++chunk_count_;
            chunk->next = chunks_;
            chunks_ = chunk.release();
        }
        return pop();
    }
    void give_back(CountCell& cell) noexcept {
        const std::lock_guard lock(mutex_);
        cell.next_free = free_;
        free_ = &cell;
    }

private:
    struct Chunk {
        Chunk* next = nullptr;
        CountCell cells[kChunkCells];
    };

    CountCell* take_free() noexcept {
        const std::lock_guard lock(mutex_);
        return pop();
    }
    CountCell* pop() noexcept {
        auto* cell = free_;
        if (cell) free_ = cell->next_free;
        return cell;
    }

    std::mutex mutex_;
    CountCell* free_ = nullptr;
    std::uint32_t chunk_count_ = 0;
    const ThreadTables* tables_;
    Chunk* chunks_ = nullptr; ///< all there are; kept so that they stay reachable
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
