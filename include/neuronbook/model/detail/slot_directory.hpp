// SPDX-License-Identifier: Apache-2.0
//
// From a handle to its model with one look.
// Owns: the arrays. Does not own: models, cells. Layer: model.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "neuronbook/model/detail/count_cell.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// An array of places, picked by the low bits of a handle; the whole handle is compared. It doubles
/// until no two models share a place, which comes to an end since handles in use differ in their
/// low bits. A reader may still be in an array that was replaced, so the old ones stay; together
/// they are as large as the new one.
///
/// Thread safety: readers need no lock, whoever changes something does. An answer of cell_of() may
/// be out of date when it is used; the cell knows.
template <class T>
class SlotDirectory {
    struct alignas(32) Place {
        explicit Place(std::uint32_t number) noexcept : key(nobody(number)) {}
        std::atomic<std::uint32_t> key;
        std::atomic<T*> model{nullptr};
        std::atomic<CountCell*> cell{nullptr};
        std::uint32_t owner = 0; ///< under the lock: whose place it is, until the model is gone
    };

    /// What no handle is that is looked for in the place of that number.
    static constexpr std::uint32_t nobody(std::uint32_t number) noexcept { return number ^ 1u; }

    /// The places follow the head in one piece of memory: one load less for each look.
    struct alignas(64) Array {
        explicit Array(std::size_t size) noexcept : mask((size - 1) * sizeof(Place)) {}

        std::uint64_t mask; ///< of the distance of a place from the first
        Array* older = nullptr;

        [[nodiscard]] std::size_t size() const noexcept { return mask / sizeof(Place) + 1; }
        [[nodiscard]] Place& place(std::uint32_t handle) noexcept {
            const auto distance = (std::uint64_t{handle} * sizeof(Place)) & mask;
            return *reinterpret_cast<Place*>(reinterpret_cast<char*>(this + 1) + distance);
        }
        [[nodiscard]] const Place& place(std::uint32_t handle) const noexcept {
            return const_cast<Array*>(this)->place(handle);
        }
    };
    static_assert(sizeof(Array) == 64 && sizeof(Place) == 32);
    struct Free {
        void operator()(Array* array) const noexcept {
            ::operator delete(array, std::align_val_t{alignof(Array)});
        }
    };

public:
    static constexpr std::size_t kFirst = 16;
    /// As large as the array of a mint gets.
    static constexpr std::size_t kMost = std::size_t{1} << 20;

    /// An array, made outside the lock.
    using Room = std::unique_ptr<Array, Free>;
    /// `size` is a power of two. std::bad_alloc passes through.
    [[nodiscard]] static Room make_room(std::size_t size) {
        void* memory =
            ::operator new(sizeof(Array) + size * sizeof(Place), std::align_val_t{alignof(Array)});
        Room room(::new (memory) Array(size));
        for (std::uint32_t i = 0; i < size; ++i) ::new (&room->place(i)) Place(i);
        return room;
    }

    SlotDirectory() : array_(make_room(kFirst).release()), seen_(array_) {}
    SlotDirectory(const SlotDirectory&) = delete;
    SlotDirectory& operator=(const SlotDirectory&) = delete;
    ~SlotDirectory() {
        while (array_) Free{}(std::exchange(array_, array_->older));
    }

    /// Null for a handle that is not there.
    [[nodiscard]] CountCell* cell_of(std::uint32_t handle) const noexcept {
        const auto& place = place_of(handle);
        if (place.key.load(std::memory_order_acquire) != handle) [[unlikely]]
            return nullptr;
        auto* cell = place.cell.load(std::memory_order_relaxed);
        if (!cell) __builtin_unreachable(); // it was written before the key
        return cell;
    }
    [[nodiscard]] T* model_of(std::uint32_t handle) const noexcept {
        const auto& place = place_of(handle);
        if (place.key.load(std::memory_order_acquire) != handle) [[unlikely]]
            return nullptr;
        return place.model.load(std::memory_order_relaxed);
    }

    // Under the database's lock from here on.

    /// The model whose place it is, also one that is leaving; null if there is none.
    [[nodiscard]] T* owner(std::uint32_t handle) const noexcept {
        const auto& place = array_->place(handle);
        return handle != 0 && place.owner == handle ? place.model.load(std::memory_order_relaxed)
                                                    : nullptr;
    }
    /// The size at which the handle has a place of its own; more than kMost if there is none.
    [[nodiscard]] std::size_t size_for(std::uint32_t handle) const noexcept {
        std::size_t size = array_->size();
        const auto taken = array_->place(handle).owner;
        if (taken != 0) do
                size *= 2;
            while (((taken ^ handle) & (size - 1)) == 0 && size <= kMost);
        return size;
    }
    [[nodiscard]] std::size_t size() const noexcept { return array_->size(); }

    /// Effects: `room` is the array from now on, if it is larger than the one there is.
    void take_room(Room& room) noexcept {
        if (!room || room->size() <= array_->size()) return;
        for (std::uint32_t i = 0; i < array_->size(); ++i) {
            auto& from = array_->place(i);
            if (from.owner == 0) continue;
            auto& to = room->place(from.owner);
            to.owner = from.owner;
            to.model.store(from.model.load(std::memory_order_relaxed), std::memory_order_relaxed);
            to.cell.store(from.cell.load(std::memory_order_relaxed), std::memory_order_relaxed);
            if (from.key.load(std::memory_order_relaxed) == from.owner)
                to.key.store(from.owner, std::memory_order_relaxed);
        }
        room->older = array_;
        array_ = room.release();
        seen_.store(array_, std::memory_order_release);
    }
    void enter(std::uint32_t handle, T& model, CountCell& cell) noexcept {
        auto& place = array_->place(handle);
        place.owner = handle;
        place.model.store(&model, std::memory_order_relaxed);
        place.cell.store(&cell, std::memory_order_relaxed);
        place.key.store(handle, std::memory_order_release);
    }
    /// Effects: the handle leads nowhere; its place stays taken.
    void unlink(std::uint32_t handle) noexcept {
        array_->place(handle).key.store(nobody(handle), std::memory_order_release);
    }
    void vacate(std::uint32_t handle) noexcept { array_->place(handle).owner = 0; }

private:
    [[nodiscard]] const Place& place_of(std::uint32_t handle) const noexcept {
        return seen_.load(std::memory_order_acquire)->place(handle);
    }

    Array* array_;                   ///< with the older ones behind it
    std::atomic<const Array*> seen_; ///< array_, as readers see it
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
