// SPDX-License-Identifier: Apache-2.0
//
// From a hash to the number of the thing that has it.
// Owns: hashes and numbers, 8 bytes each. Does not own: keys; who asks compares them.
// Layer: model.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// No number.
inline constexpr std::uint32_t kNoNumber = ~std::uint32_t{0};

/// Open addressing by steps of one, at most half full. A slot holds the whole hash: it picks the
/// slot, spares most comparisons, and lets the array grow without looking at keys.
class NumberIndex {
public:
    /// The number with that hash for which `same(number)`, or kNoNumber.
    template <class Same>
    [[nodiscard]] std::uint32_t find(std::uint32_t hash, Same same) const noexcept {
        if (size_ == 0) return kNoNumber;
        for (std::size_t at = hash & mask_; slots_[at].plus_one != 0; at = (at + 1) & mask_)
            if (slots_[at].hash == hash && same(slots_[at].plus_one - 1))
                return slots_[at].plus_one - 1;
        return kNoNumber;
    }

    /// Effects: room for `count` numbers in all, so that inserting them takes no memory.
    /// std::bad_alloc passes through, nothing changed then.
    void reserve(std::size_t count) {
        if (slots_ && count <= (mask_ + 1) / 2) return;
        const std::size_t slots = 2 * std::bit_ceil(count < 8 ? 8 : count);
        auto more = std::make_unique<Slot[]>(slots);
        for (std::size_t at = 0; slots_ && at <= mask_; ++at)
            if (slots_[at].plus_one != 0) put(more.get(), slots - 1, slots_[at]);
        slots_ = std::move(more);
        mask_ = slots - 1;
    }

    /// Requires: reserve() made room, and the number is not there.
    void insert(std::uint32_t hash, std::uint32_t number) noexcept {
        put(slots_.get(), mask_, {hash, number + 1});
        ++size_;
    }

    /// Effects: takes a number out, if it is there; the last one gives the memory back.
    void erase(std::uint32_t hash, std::uint32_t number) noexcept {
        if (size_ == 0) return;
        std::size_t hole = hash & mask_;
        for (; slots_[hole].plus_one != number + 1; hole = (hole + 1) & mask_)
            if (slots_[hole].plus_one == 0) return;
        if (--size_ == 0) return slots_.reset();
        // What stands behind moves up, unless that is in front of where it belongs.
        for (std::size_t at = (hole + 1) & mask_; slots_[at].plus_one != 0; at = (at + 1) & mask_) {
            const std::size_t home = slots_[at].hash & mask_;
            if (((at - home) & mask_) < ((at - hole) & mask_)) continue;
            slots_[hole] = slots_[at];
            hole = at;
        }
        slots_[hole] = Slot{};
    }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
    struct Slot {
        std::uint32_t hash = 0;
        std::uint32_t plus_one = 0; ///< the number, plus one; 0 in an empty slot
    };

    static void put(Slot* slots, std::size_t mask, Slot slot) noexcept {
        std::size_t at = slot.hash & mask;
        while (slots[at].plus_one != 0) at = (at + 1) & mask;
        slots[at] = slot;
    }

    std::unique_ptr<Slot[]> slots_;
    std::size_t mask_ = 0;
    std::size_t size_ = 0;
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
