// SPDX-License-Identifier: Apache-2.0
//
// What adding a model may need memory for, taken before the lock and freed after it.
// Owns: a cell and larger tables until they are used. Does not own: the tables in use.
// Layer: model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "neuronbook/model/detail/cell_pool.hpp"
#include "neuronbook/model/detail/key_index.hpp"
#include "neuronbook/model/detail/slot_directory.hpp"
#include "neuronbook/model/model_record.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// A cell that goes back to the pool unless it is used.
class SpareCell {
public:
    explicit SpareCell(CellPool& pool) : pool_(pool), cell_(pool.take()) {}
    SpareCell(const SpareCell&) = delete;
    SpareCell& operator=(const SpareCell&) = delete;
    ~SpareCell() {
        if (cell_) pool_.give_back(*cell_);
    }

    [[nodiscard]] explicit operator bool() const noexcept { return cell_ != nullptr; }
    [[nodiscard]] CountCell& use() noexcept { return *std::exchange(cell_, nullptr); }

private:
    CellPool& pool_;
    CountCell* cell_;
};

/// Where the models of a database are found.
template <class T>
struct ModelTables {
    SlotDirectory<T> directory;
    KeyIndex<T, ByName> names;
    KeyIndex<T, ByUuid> uuids;
};

/// Larger tables for one more model. Every size is that of what lacks, 0 for what does not.
template <class T>
class ShelfRooms {
public:
    /// Whether nothing lacks.
    [[nodiscard]] bool enough() const noexcept {
        return (lacking_places_ | lacking_names_ | lacking_uuids_) == 0;
    }
    /// Whether there is no array large enough.
    [[nodiscard]] bool hopeless() const noexcept {
        return lacking_places_ > SlotDirectory<T>::kMost;
    }

    /// Effects: looks what lacks. Under the lock.
    void measure(const ModelTables<T>& tables, std::uint32_t handle) noexcept {
        const auto beyond = [](std::size_t wanted, std::size_t there) {
            return wanted > there ? wanted : 0;
        };
        lacking_places_ = beyond(tables.directory.size_for(handle), tables.directory.size());
        lacking_names_ = beyond(tables.names.buckets_wanted(), tables.names.buckets());
        lacking_uuids_ = beyond(tables.uuids.buckets_wanted(), tables.uuids.buckets());
    }
    /// Effects: allocates it. Not under the lock. std::bad_alloc passes through.
    void make() {
        if (lacking_places_ != 0) places_ = SlotDirectory<T>::make_room(lacking_places_);
        if (lacking_names_ != 0) names_ = Names(lacking_names_);
        if (lacking_uuids_ != 0) uuids_ = Uuids(lacking_uuids_);
    }
    /// Effects: the tables have it, and this has what they had. Under the lock.
    void give(ModelTables<T>& tables) noexcept {
        tables.directory.take_room(places_);
        tables.names.take_room(names_);
        tables.uuids.take_room(uuids_);
    }

private:
    using Names = typename KeyIndex<T, ByName>::Room;
    using Uuids = typename KeyIndex<T, ByUuid>::Room;

    std::size_t lacking_places_ = 0;
    std::size_t lacking_names_ = 0;
    std::size_t lacking_uuids_ = 0;
    typename SlotDirectory<T>::Room places_;
    Names names_;
    Uuids uuids_;
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
