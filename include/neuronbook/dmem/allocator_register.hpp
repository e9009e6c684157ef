// SPDX-License-Identifier: Apache-2.0
//
// Allocators that others hold and one owner can end.
// Owns: the list of them. Does not own: the allocators (their holders do), or any memory.
// Layer: dmem.
#pragma once

#include <atomic>
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
/// end() must not run beside the use of an allocator.
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
        ~Registered() { leave(); }

        /// Effects: as the allocator's own.
        void close() noexcept {
            leave();
            A::close();
        }

    private:
        friend class AllocatorRegister;

        /// After the register's end the driver may be gone: nothing may be asked of it.
        void leave() noexcept {
            if (state_->ended) return this->abandon();
            const auto lock = state_->lock(this->usable());
            if (!lock || !listed_) return;
            state_->live.erase(state_->live.iterator_to(*this));
            listed_ = false;
        }

        std::shared_ptr<State> state_;
        bool listed_ = true; ///< guarded by the register
    };

    AllocatorRegister() : state_(std::make_shared<State>()) {}
    AllocatorRegister(const AllocatorRegister&) = delete;
    AllocatorRegister& operator=(const AllocatorRegister&) = delete;

    template <class... Arguments>
    std::unique_ptr<Registered> make(Arguments&&... arguments) {
        return std::make_unique<Registered>(state_, std::forward<Arguments>(arguments)...);
    }

    /// Effects: calls `see` for each allocator that is alive. None begins or ends meanwhile.
    template <class F>
    void for_each(F see) const {
        const std::lock_guard lock(state_->mutex);
        for (const Registered& allocator : state_->live) see(static_cast<const A&>(allocator));
    }

    /// Effects: closes every allocator that is still alive; their holders keep closed ones. With a
    /// driver that may not be spoken to (`usable` false) they are closed without a call. Twice is
    /// once.
    void end(bool usable) noexcept {
        if (state_->ended) return;
        if (const auto lock = state_->lock(usable))
            while (!state_->live.empty()) {
                Registered& allocator = state_->live.front();
                state_->live.pop_front();
                allocator.listed_ = false;
                allocator.A::close();
            }
        state_->ended = true;
    }

private:
    struct State {
        /// In a forked child the lock may belong to a thread that is not there.
        std::unique_lock<std::mutex> lock(bool usable) noexcept {
            if (usable) return std::unique_lock(mutex);
            return {mutex, std::try_to_lock};
        }

        std::mutex mutex; ///< taken before an allocator's own
        std::atomic<bool> ended{false};
        boost::intrusive::list<Registered, boost::intrusive::constant_time_size<false>> live;
    };

    std::shared_ptr<State> state_;
};

} // namespace v0
} // namespace neuronbook
