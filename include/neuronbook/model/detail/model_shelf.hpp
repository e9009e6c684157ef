// SPDX-License-Identifier: Apache-2.0
//
// What a database has under its lock: where each model stands, and the wait for its last user.
// Owns: models, indexes, the lock. Does not own: cells (of the process), references.
// Layer: model.   libnrt: model_db_lock
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "neuronbook/base/deadline.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/log.hpp"
#include "neuronbook/base/process_mark.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/model/detail/model_errors.hpp"
#include "neuronbook/model/detail/model_process.hpp"
#include "neuronbook/model/detail/shelf_rooms.hpp"
#include "neuronbook/model/detail/slot_directory.hpp"
#include "neuronbook/model/model_record.hpp"
#include "neuronbook/model/model_ref.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// A model is in one of three places: here (can be acquired), leaving (unlinked, with its number's
/// place still taken), or with the caller. Nothing is allocated, freed or waited for under the
/// lock, and no model destroyed.
template <class T, CountPolicy Counts>
class ModelShelf {
    using Hook = boost::intrusive::list_base_hook<boost::intrusive::tag<OnShelf>>;
    using List = boost::intrusive::list<T, boost::intrusive::base_hook<Hook>>;
    using Owned = std::unique_ptr<T>;
    using Ref = ModelRef<T, Counts>;

public:
    explicit ModelShelf(PhysicalCore core) : errors_(core), process_(ModelProcess::here()) {}
    ModelShelf(const ModelShelf&) = delete;
    ModelShelf& operator=(const ModelShelf&) = delete;
    ~ModelShelf() { abandon(); }

    [[nodiscard]] const SlotDirectory<T>& directory() const noexcept { return tables_.directory; }

    [[nodiscard]] const ModelErrors& errors() const noexcept { return errors_; }

    Result<ModelHandle> add(Owned&& model) {
        if (auto here = usable(Operation::LoadModel); !here) return fail(here.error());
        if (auto sane = errors_.check(model.get()); !sane) return fail(sane.error());
        SpareCell cell(process_.cells());
        if (!cell) return fail(errors_.none_left());
        const auto handle = model->handle();
        ShelfRooms<T> rooms;
        for (;;) {
            rooms.make();
            const std::lock_guard lock(mutex_);
            if (closed_) return fail(errors_.closed());
            if (tables_.directory.owner(handle.value())) return fail(errors_.present(handle));
            rooms.give(tables_);
            rooms.measure(tables_, handle.value());
            if (rooms.hopeless()) return fail(errors_.none_left());
            if (!rooms.enough()) continue;
            put(*model.release(), cell.use());
            return handle;
        }
    }

    /// Effects: nobody gets the model any more. Returns: the number of this unlinking, for
    /// settled().
    Result<std::uint64_t> unlink(ModelHandle handle) {
        if (auto here = usable(Operation::RemoveModel); !here) return fail(here.error());
        const std::lock_guard lock(mutex_);
        T* model = tables_.directory.model_of(handle.value());
        if (!model) return fail(errors_.unknown(Operation::RemoveModel, handle));
        unlink(*model);
        return unlinked_;
    }
    Result<std::uint64_t> unlink_all() {
        if (auto here = usable(Operation::RemoveModel); !here) return fail(here.error());
        const std::lock_guard lock(mutex_);
        closed_ = true;
        while (!here_.empty()) unlink(here_.front());
        return unlinked_;
    }
    /// Effects: Counts::held() says the truth of every model unlinked up to that number.
    void settled(std::uint64_t number) noexcept {
        const std::lock_guard lock(mutex_);
        if (settled_ < number) settled_ = number;
        if (sleeping_ != 0) // they may have looked too early
            for (auto& model : leaving_) Record::cell(model)->bell.ring();
    }

    Result<Owned> drain(ModelHandle handle, const Deadline& deadline) {
        if (auto here = usable(Operation::RemoveModel); !here) return fail(here.error());
        for (bool slept = false;; slept = true) {
            auto look = look_at(handle, slept);
            if (look.gone) return retire(*look.cell, std::move(look.gone));
            if (!look.cell) return fail(errors_.unknown(Operation::RemoveModel, handle));
            if (deadline.passed()) {
                wake_up();
                return fail(errors_.held(handle, look.held));
            }
            look.cell->bell.wait(look.heard, deadline);
        }
    }
    Result<void> drain_all(const Deadline& deadline) {
        Result<void> all;
        for (const auto handle : handles(leaving_)) {
            const auto model = drain(handle, deadline);
            if (!model && model.error().detail == Detail::ModelHeld && all)
                all = fail(model.error());
        }
        return all;
    }

    /// Empty if there is none.
    [[nodiscard]] Ref hold_named(std::string_view name) {
        const std::lock_guard lock(mutex_);
        return hold(tables_.names.find(NodeKey(name)));
    }
    [[nodiscard]] Ref hold_uuid(const ModelUuid& uuid) {
        const std::lock_guard lock(mutex_);
        return hold(tables_.uuids.find(NodeKey(std::span<const std::byte>(uuid))));
    }

    [[nodiscard]] std::vector<ModelHandle> here() const { return handles(here_); }
    [[nodiscard]] std::vector<ModelHandle> leaving() const { return handles(leaving_); }
    [[nodiscard]] std::size_t size() const noexcept {
        if (!mark_.here()) return 0;
        const std::lock_guard lock(mutex_);
        return here_.size();
    }
    [[nodiscard]] Result<void> usable(Operation operation) const noexcept {
        if (mark_.here()) return {};
        return fail(errors_.forked(operation));
    }

private:
    using Record = RecordAccess;

    void put(T& model, CountCell& cell) noexcept {
        const std::uint32_t handle = model.handle().value();
        Record::cell(model) = &cell;
        cell.open(handle, &model);
        here_.push_back(model);
        tables_.names.enter(model);
        tables_.uuids.enter(model);
        tables_.directory.enter(handle, model, cell); // last: from here on it can be acquired
    }
    void unlink(T& model) noexcept {
        const std::uint32_t handle = model.handle().value();
        tables_.directory.unlink(handle);
        Record::cell(model)->shut(handle);
        tables_.names.leave(model);
        tables_.uuids.leave(model);
        here_.erase(here_.iterator_to(model));
        leaving_.push_back(model);
        Record::unlinked(model) = ++unlinked_;
    }

    [[nodiscard]] Ref hold(T* model) noexcept {
        if (!model) return {};
        auto& cell = *Record::cell(*model); // here, so its cell is open
        return RefAccess::hold<T, Counts>(cell, Counts::hold(cell, model->handle().value()));
    }

    struct Look {
        CountCell* cell = nullptr; ///< null: no such model is leaving
        std::uint32_t heard = 0;
        std::uint32_t held = 0;
        Owned gone{}; ///< the model, taken out
    };
    /// One look at a leaving model; unless it is gone, the caller counts as asleep afterwards.
    Look look_at(ModelHandle handle, bool slept) {
        const std::lock_guard lock(mutex_);
        if (slept) --sleeping_;
        T* model = tables_.directory.owner(handle.value());
        if (!model || Record::unlinked(*model) == 0) return {};
        Look look{.cell = Record::cell(*model)};
        look.heard = look.cell->bell.heard(); // before the count: what is given back later rings
        look.held = Counts::held(*look.cell);
        if (look.held != 0 || settled_ < Record::unlinked(*model)) {
            ++sleeping_;
            return look;
        }
        look.gone = take_out(*model);
        // Whoever gave back the last reference may not have rung yet, and then finds a cell that is
        // nobody's.
        if (sleeping_ != 0) look.cell->bell.ring();
        return look;
    }
    Owned take_out(T& model) noexcept {
        leaving_.erase(leaving_.iterator_to(model));
        tables_.directory.vacate(model.handle().value());
        Record::cell(model) = nullptr;
        Record::unlinked(model) = 0;
        return Owned(&model);
    }
    void wake_up() noexcept {
        const std::lock_guard lock(mutex_);
        --sleeping_;
    }
    Owned retire(CountCell& cell, Owned model) noexcept {
        cell.retire();
        process_.cells().give_back(cell);
        return model;
    }

    [[nodiscard]] std::vector<ModelHandle> handles(const List& list) const {
        std::vector<ModelHandle> found;
        if (!mark_.here()) return found;
        for (std::size_t room = 0;;) {
            found.reserve(room);
            const std::lock_guard lock(mutex_);
            room = list.size();
            if (room > found.capacity()) continue;
            for (const auto& model : list) found.push_back(model.handle());
            return found;
        }
    }

    /// At the end: nobody else has the database, so no lock, which a child of fork() could not take
    /// anyway.
    void abandon() noexcept {
        if (!mark_.here()) { // the parent's: its threads do not run here, and never give back
            here_.clear();
            leaving_.clear();
            return;
        }
        while (!here_.empty()) unlink(here_.front());
        if (!leaving_.empty()) Counts::settle();
        while (!leaving_.empty()) {
            T& model = leaving_.front();
            auto& cell = *Record::cell(model);
            if (const auto held = Counts::held(cell)) {
                log_left(model.handle(), held);
                leaving_.pop_front();
            } else {
                (void)retire(cell, take_out(model));
            }
        }
    }
    void log_left(ModelHandle handle, std::uint32_t held) const noexcept {
        Log::write(LogLevel::Error,
                   "the database of nd%u:nc%u ends while model %u is still held (references: %u): "
                   "it is left to its holders, and not freed",
                   errors_.core().device.value(), errors_.core().core.value(), handle.value(),
                   held);
    }

    ModelErrors errors_;
    ModelProcess& process_;
    ProcessMark mark_;
    mutable std::mutex mutex_;
    ModelTables<T> tables_;
    List here_;
    List leaving_;
    std::uint64_t unlinked_ = 0; ///< how many models ever were
    std::uint64_t settled_ = 0;  ///< up to which of those held() tells the truth
    int sleeping_ = 0;           ///< threads that wait for references
    bool closed_ = false;
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
