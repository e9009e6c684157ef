// SPDX-License-Identifier: Apache-2.0
//
// The process-global front of the original: one runtime, set once, for programs that want it so.
// Owns: that runtime. Does not own: anything the library itself relies on; it never looks here.
// Layer: runtime.   libnrt: tdrv_ctx_0, nrt_init, nrt_close. Source: tables.md 19 and 22
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "neuronbook/base/result.hpp"

namespace neuronbook {
inline namespace v0 {

/// The runtime of the process, per type of runtime and per shared object that uses this front.
///
/// Thread safety: every member may be called from any thread; a runtime that get() gave must not be
/// used once clear() was called. libnrt: db_tdrv_ctx_get
template <class R>
class ProcessRuntime {
public:
    /// Effects: keeps what `open()` makes, a Result<std::unique_ptr<R>>. Errors: FAILURE "already
    /// initialized" while there is one, and then `open` is not called; else those of `open`.
    /// A new init after clear() works. libnrt: nrt_init, db_tdrv_ctx_init
    template <class Open>
    static Result<R*> init(Open open) {
        auto& self = state();
        if (auto free = self.begin(); !free) return fail(free.error());
        struct Guard { // `open` may throw
            State& self;
            ~Guard() {
                const std::lock_guard lock(self.mutex);
                self.starting = false;
            }
        } guard{self};
        auto made = open();
        if (!made) return fail(made.error());
        const std::lock_guard lock(self.mutex);
        self.owner = *std::move(made);
        self.current.store(self.owner.get(), std::memory_order_release);
        return self.owner.get();
    }

    /// Errors: UNINITIALIZED before the first init, CLOSED after clear().
    static Result<R*> get() noexcept {
        auto& self = state();
        if (R* runtime = self.current.load(std::memory_order_acquire)) return runtime;
        const bool closed = self.was_up.load(std::memory_order_acquire);
        return fail({.status = closed ? Status::Closed : Status::Uninitialized,
                     .operation = Operation::Global,
                     .detail = closed ? Detail::Closed : Detail::NotUp});
    }

    /// Effects: closes the runtime. Without one, nothing. libnrt: nrt_close, db_tdrv_ctx_clear
    static void clear() {
        auto& self = state();
        const std::lock_guard lock(self.mutex);
        if (!self.owner) return;
        self.was_up.store(true, std::memory_order_release);
        self.current.store(nullptr, std::memory_order_release);
        self.owner.reset();
    }

private:
    struct State {
        /// Takes the place of whoever initialises; the lock is not held while that goes on.
        Result<void> begin() {
            const std::lock_guard lock(mutex);
            if (owner && owner->closed()) {
                was_up.store(true, std::memory_order_release);
                current.store(nullptr, std::memory_order_release);
                owner.reset();
            }
            // A runtime that is neither closed nor usable is the parent's, and this a child of it.
            if (owner && !owner->usable())
                return fail({.status = Status::Uninitialized,
                             .operation = Operation::Global,
                             .detail = Detail::Forked});
            if (owner || starting)
                return fail({.operation = Operation::Global, .detail = Detail::AlreadyUp});
            starting = true;
            return {};
        }

        std::mutex mutex;
        bool starting = false;
        std::unique_ptr<R> owner;
        std::atomic<R*> current{nullptr};
        std::atomic<bool> was_up{false};
    };

    static State& state() {
        static State instance;
        return instance;
    }
};

} // namespace v0
} // namespace neuronbook
