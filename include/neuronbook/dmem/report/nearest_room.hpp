// SPDX-License-Identifier: Apache-2.0
//
// Where the fewest bytes would have to be freed for a request to fit.
// Owns: the search. Does not own: who holds those bytes; the driver's list does not say.
// Layer: dmem.   Source: driver-abi.md 6.1
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/report/pool_view.hpp"

namespace neuronbook {
inline namespace v0 {

/// Freeing `chunks` neighbours with `to_free` bytes makes a block at `address` that is large
/// enough.
struct Room {
    DeviceAddress address{};
    Bytes to_free{};
    std::uint64_t chunks = 0;
};

namespace detail {

struct Stretch {
    std::uint64_t begin = 0, end = 0;
    bool held = false;
};

/// Chunks and free blocks of a pool in turn; chunks that stay cut it into several.
inline void search_room(const std::vector<Stretch>& run, Bytes size, Bytes alignment,
                        std::optional<Room>& best) {
    std::size_t right = 0; // behind the last stretch of the window
    Room window;
    for (std::size_t left = 0; left < run.size(); ++left) {
        const auto fits = [&] {
            if (right <= left) return false;
            const FreeBlock joined{DeviceAddress{run[left].begin},
                                   Bytes{run[right - 1].end - run[left].begin}};
            return joined.aligned(alignment) >= size;
        };
        while (!fits() && right < run.size()) {
            const Stretch& next = run[right++];
            if (!next.held) continue;
            window.to_free = Bytes{window.to_free.count() + next.end - next.begin};
            ++window.chunks;
        }
        if (!fits()) return;
        window.address = DeviceAddress{run[left].begin};
        if (!best || window.to_free < best->to_free) best = window;
        if (!run[left].held) continue;
        window.to_free = Bytes{window.to_free.count() - (run[left].end - run[left].begin)};
        --window.chunks;
    }
}

} // namespace detail

/// The cheapest place for `size` bytes (whole pages) at an alignment, or nothing where even an
/// empty pool would not do. Linear in the length of the driver's list.
[[nodiscard]] inline std::optional<Room> nearest_room(const PoolView& view, Bytes size,
                                                      Bytes alignment) {
    std::optional<Room> best;
    std::vector<detail::Stretch> run;
    const auto search = [&] {
        detail::search_room(run, size, alignment, best);
        run.clear();
    };
    auto hole = view.holes.begin();
    const auto holes_until = [&](std::uint64_t end) {
        for (; hole != view.holes.end() && hole->address.value() < end; ++hole) {
            const std::uint64_t begin = hole->address.value();
            if (begin == view.small.begin.value()) search();
            run.push_back({begin, begin + hole->size.count(), false});
        }
    };
    for (const ChunkRecord& chunk : view.chunks) {
        const std::uint64_t begin = chunk.address.value();
        holes_until(begin);
        if (begin == view.small.begin.value()) search();
        if (chunk.category == detail::kDriverCategory || chunk.category == kScratchpadCategory)
            search(); // stays: the driver's own, and what is only freed in reverse order
        else
            run.push_back({begin, begin + chunk.size.count(), true});
    }
    holes_until(~std::uint64_t{0});
    search();
    return best;
}

} // namespace v0
} // namespace neuronbook
