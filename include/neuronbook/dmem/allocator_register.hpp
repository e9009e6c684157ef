// SPDX-License-Identifier: Apache-2.0
//
// Allocators that others hold and one owner can end.
// Owns: the list of them. Does not own: the allocators (their holders do), or any memory.
// Layer: dmem.
#pragma once

#include <boost/intrusive/list.hpp>
#include <memory>
#include <mutex>
#include <utility>

namespace neuronbook {
inline namespace v0 {

/// Makes allocators of type `A` and closes the ones still alive when its owner ends: an allocator
/// that outlives its runtime is closed, not dangling.
///
/// Thread safety: make() and the destruction of what it made may run on any threads;
/// close_all() must not run beside the use of an allocator.
template <class A>
class AllocatorRegister {
    struct State;
    using Hook = boost::intrusive::list_base_hook<
        boost::intrusive::link_mode<boost::intrusive::normal_link>>;

public:
    /// An allocator that knows its register.
    class Registered : public A, public Hook {
    public:
        template <class... Arguments>
        explicit Registered(std::shared_ptr<State> state, Arguments&&... arguments)
            : A(std::forward<Arguments>(arguments)...), state_(std::move(state)) {
            const std::lock_guard lock(state_->mutex);
            state_->live.push_back(*this);
        }
        /// A closed one is in no list. In a forked child the list is left as it is: its lock may
        /// belong to a thread that is not there, and close_all() does not look at it either.
        ~Registered() { leave(); }

        /// Effects: as the allocator's own.
        void close() noexcept {
            leave();
            A::close();
        }

    private:
        void leave() noexcept {
            if (!this->usable()) return;
            const std::lock_guard lock(state_->mutex);
            state_->live.erase(state_->live.iterator_to(*this));
        }

        std::shared_ptr<State> state_;
    };

    AllocatorRegister() : state_(std::make_shared<State>()) {}
    AllocatorRegister(const AllocatorRegister&) = delete;
    AllocatorRegister& operator=(const AllocatorRegister&) = delete;

    template <class... Arguments>
    std::unique_ptr<Registered> make(Arguments&&... arguments) {
        return std::make_unique<Registered>(state_, std::forward<Arguments>(arguments)...);
    }

    /// Effects: closes every allocator that is still alive; their holders keep closed ones. Not in
    /// a forked child.
    void close_all() noexcept {
        const std::lock_guard lock(state_->mutex);
        while (!state_->live.empty()) {
            Registered& allocator = state_->live.front();
            state_->live.pop_front();
            allocator.A::close();
        }
    }

private:
    struct State {
        std::mutex mutex; ///< taken before an allocator's own
        boost::intrusive::list<Registered, boost::intrusive::constant_time_size<false>> live;
    };

    std::shared_ptr<State> state_;
};

} // namespace v0
} // namespace neuronbook
