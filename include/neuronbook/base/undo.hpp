// SPDX-License-Identifier: Apache-2.0
//
// Steps that unwind unless committed.
// Owns: the order of undoing. Does not own: what a step does.
// Layer: base.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

namespace neuronbook {
inline namespace v0 {

/// A list of undo steps, run last first when it goes out of scope without commit().
///
/// Add a step right after the thing it undoes has been done. Steps must not throw. One thread.
class UndoList {
public:
    UndoList() noexcept = default;
    UndoList(const UndoList&) = delete;
    UndoList& operator=(const UndoList&) = delete;
    ~UndoList() { run(); }

    /// Effects: `step()` will run on unwinding. If the list cannot grow, `step` runs at once and
    /// std::bad_alloc passes through, so that what was done never stays half done.
    template <std::invocable F>
    void add(F step) {
        struct Node final : Step {
            explicit Node(F f) : undo(std::move(f)) {}
            void undo_and_destroy() noexcept override {
                undo();
                delete this;
            }
            void drop() noexcept override { delete this; }
            F undo;
        };
        struct Guard {
            F* step;
            ~Guard() {
                if (step) (*step)();
            }
        } guard{&step};
        auto* node = new Node(step);
        guard.step = nullptr;
        node->next = last_;
        last_ = node;
    }

    /// Effects: forgets every step; nothing will be undone.
    void commit() noexcept {
        while (last_) std::exchange(last_, last_->next)->drop();
    }

    /// Effects: undoes every step now, last first.
    void run() noexcept {
        while (last_) std::exchange(last_, last_->next)->undo_and_destroy();
    }

private:
    struct Step {
        virtual void undo_and_destroy() noexcept = 0;
        virtual void drop() noexcept = 0;
        Step* next = nullptr;

    protected:
        ~Step() = default;
    };

    Step* last_ = nullptr;
};

} // namespace v0
} // namespace neuronbook
