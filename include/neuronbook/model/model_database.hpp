// SPDX-License-Identifier: Apache-2.0
//
// The models that live on a core together.
// Owns: the models from add() to remove(). Does not own: references, or what a model consists of.
// Layer: model.   libnrt: model_db, add_model, remove_model, get_model_ref_count.
// Source: tables.md 10 and 22; device-book notes on the reference protocol
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "neuronbook/base/deadline.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/log.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/model/counting.hpp"
#include "neuronbook/model/detail/count_cell.hpp"
#include "neuronbook/model/detail/model_shelf.hpp"
#include "neuronbook/model/model_record.hpp"
#include "neuronbook/model/model_ref.hpp"

namespace neuronbook {
inline namespace v0 {

/// Models by handle, name and uuid, each with a count of who uses it. `T` derives from ModelRecord.
///
/// A model that is removed is unlinked first: from then on nobody gets a reference. Then its
/// references are waited for, asleep, and the model is handed back. Who acquires it meanwhile gets
/// it alive or UnknownModel.
///
/// Thread safety: every member may be called from any thread; acquire() by handle takes no lock and
/// waits for nothing. Everything but the destructor, and giving back references, is refused in a
/// child of fork(): UNINITIALIZED with Forked; there only acquire() by handle goes on working.
///
/// libnrt: model_db.
/// Differs: a removal sleeps instead of spinning, with a deadline if wanted.
template <class T, CountPolicy Counts = SharedCount>
    requires std::derived_from<T, ModelRecord>
class ModelDatabase {
public:
    using Ref = ModelRef<T, Counts>;
    /// How long to wait; nothing: as long as it takes.
    using Wait = std::optional<Nanoseconds>;

    /// `core` is named in messages. std::bad_alloc passes through.
    explicit ModelDatabase(PhysicalCore core) : shelf_(core) {
        if (const auto counting = Counts::available(); !counting)
            Log::write(LogLevel::Info, "model references are counted in one place for all threads: "
                                       "the kernel's membarrier() cannot be had");
    }
    ModelDatabase(const ModelDatabase&) = delete;
    ModelDatabase& operator=(const ModelDatabase&) = delete;
    /// Destroys the models nobody holds. Waits for none: one that is still held is logged and left
    /// to whoever holds it. close() before tells in time.
    ~ModelDatabase() = default;

    /// Effects: the model can be acquired from now on; the database has it. Returns: its handle.
    /// Errors (the model stays with the caller): INVALID with NullPointer, or ModelNameTooLong
    /// beyond kMostModelName bytes; INVALID_HANDLE with ModelPresent, if one of that handle is here
    /// or still leaving; RESOURCE with OutOfModelHandles; CLOSED. std::bad_alloc passes through.
    /// libnrt: add_model
    Result<ModelHandle> add(std::unique_ptr<T>&& model) { return shelf_.add(std::move(model)); }

    /// Effects: takes a reference. No lock, no wait, no allocation but, with ThreadCounts, a
    /// thread's first. Errors: FAILURE with UnknownModel. libnrt: get_model_ref_count
    [[nodiscard, gnu::always_inline]] inline Result<Ref>
    acquire(ModelHandle handle) const noexcept { // inlined: a call costs as much as the rest
        auto* cell = shelf_.directory().cell_of(handle.value());
        if (cell) [[likely]] {
            const auto token = Counts::hold(*cell, handle.value());
            if (token) [[likely]]
                return detail::RefAccess::hold<T, Counts>(*cell, token);
        }
        // Built here: were the result handed to another function, it would have to be in memory,
        // and the stores would hold up the atomic additions.
        return fail(shelf_.errors().unknown(Operation::AcquireModel, handle));
    }
    /// The oldest model with that name or uuid. Takes the database's lock. Errors: FAILURE with
    /// UnknownModel, the name as text.
    [[nodiscard]] Result<Ref> acquire(std::string_view name) {
        if (auto out = shelf_.usable(Operation::AcquireModel); !out) return fail(out.error());
        auto model = shelf_.hold_named(name);
        if (!model) return fail(shelf_.errors().unknown(Operation::AcquireModel, name));
        return model;
    }
    [[nodiscard]] Result<Ref> acquire(const ModelUuid& uuid) {
        if (auto out = shelf_.usable(Operation::AcquireModel); !out) return fail(out.error());
        auto model = shelf_.hold_uuid(uuid);
        if (!model) return fail(shelf_.errors().unknown(Operation::AcquireModel, "of that uuid"));
        return model;
    }

    /// The model, without a reference; null if there is none. Requires: the caller keeps it from
    /// being removed, by a reference or because it alone removes.
    [[nodiscard]] T* find(ModelHandle handle) const noexcept {
        return shelf_.directory().model_of(handle.value());
    }

    /// Effects: unlinks the model, then waits until nobody holds a reference. Returns: the model.
    /// Errors: FAILURE with UnknownModel; TIMEOUT with ModelHeld and the number of references
    /// (asked): the model stays removed, and drain() waits again. libnrt: remove_model
    Result<std::unique_ptr<T>> remove(ModelHandle handle, Wait wait = {}) {
        const Deadline deadline(wait);
        const auto number = shelf_.unlink(handle);
        if (!number) return fail(number.error());
        Counts::settle();
        shelf_.settled(*number);
        return shelf_.drain(handle, deadline);
    }
    /// Effects: waits for a model that was removed before. Of several who wait for one, one gets
    /// it. Errors: as remove(); UnknownModel also for a model that was not removed.
    Result<std::unique_ptr<T>> drain(ModelHandle handle, Wait wait = {}) {
        return shelf_.drain(handle, Deadline(wait));
    }
    /// Effects: refuses new models, removes all, and destroys each that nobody holds. Returns after
    /// the last, or at the deadline. Errors: TIMEOUT with ModelHeld, naming the first that is held
    /// (value) and its references (asked); call again to go on waiting. libnrt: model_db (destroy)
    Result<void> close(Wait wait = {}) {
        const Deadline deadline(wait);
        const auto number = shelf_.unlink_all();
        if (!number) return fail(number.error());
        Counts::settle();
        shelf_.settled(*number);
        return shelf_.drain_all(deadline);
    }

    /// Effects: `visit(model)` for every model, oldest first, each held meanwhile, under no lock.
    /// Models that come or go during the walk may be met or not. std::bad_alloc passes through.
    template <class F>
    void for_each(F&& visit) {
        for (const auto handle : handles())
            if (auto model = acquire(handle)) visit(**model);
    }
    /// Those that can be acquired, oldest first. std::bad_alloc passes through.
    [[nodiscard]] std::vector<ModelHandle> handles() const { return shelf_.here(); }
    /// Those that were removed, but are still held.
    [[nodiscard]] std::vector<ModelHandle> leaving() const { return shelf_.leaving(); }
    /// How many can be acquired.
    [[nodiscard]] std::size_t size() const noexcept { return shelf_.size(); }

private:
    detail::ModelShelf<T, Counts> shelf_;
};

} // namespace v0
} // namespace neuronbook
