// SPDX-License-Identifier: Apache-2.0
//
// A memory fence in every running thread of the process at once.
// Owns: asking the kernel for it. Does not own: who needs it.
// Layer: base.
#pragma once

#include <atomic>
#include <cerrno>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "neuronbook/base/result.hpp"

#if defined(__SANITIZE_THREAD__)
#define NEURONBOOK_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define NEURONBOOK_THREAD_SANITIZER 1
#endif
#endif

namespace neuronbook {
inline namespace v0 {

/// The kernel's membarrier(PRIVATE_EXPEDITED), Linux 4.14: when pass() returns, every thread of the
/// process has run a full fence at some point since the call. So whoever calls it rarely can pay
/// for the fences of those who do something often, who then need to keep the compiler in order
/// only.
///
/// Thread safety: every member may be called from any thread.
class ProcessBarrier {
public:
    /// Whether pass() works; asks the kernel once.
    [[nodiscard]] static bool usable() noexcept { return registered() == kYes; }

    /// The same, with the reason. Errors: FAILURE with NotOnThisKernel, and the
    /// errno of the registration: a kernel before 4.14, or a filter of system calls (a container's)
    /// that refuses it. Also under ThreadSanitizer, which does not see such a fence and would
    /// report races that are none.
    [[nodiscard]] static Result<void> available() noexcept {
        const int answer = registered();
        if (answer == kYes) return {};
        return fail({.status = Status::Failure,
                     .operation = Operation::Query,
                     .detail = Detail::NotOnThisKernel,
                     .os_error = answer,
                     .text = kSanitized ? std::string_view("membarrier() under ThreadSanitizer")
                                        : std::string_view("membarrier(PRIVATE_EXPEDITED)")});
    }

    /// Requires: available().
    static void pass() noexcept { (void)call(MEMBARRIER_CMD_PRIVATE_EXPEDITED); }

private:
    static constexpr int kUnknown = -1;
    static constexpr int kYes = 0;
#ifdef NEURONBOOK_THREAD_SANITIZER
    static constexpr bool kSanitized = true;
#else
    static constexpr bool kSanitized = false;
#endif

    static int call(int command) noexcept {
        return ::syscall(SYS_membarrier, command, 0, 0) == 0 ? kYes : errno;
    }

    static int registered() noexcept {
        int answer = known_answer.load(std::memory_order_acquire);
        if (answer != kUnknown) return answer;
        // Two threads may both ask: the kernel does not mind, and both hear the same.
        answer = kSanitized ? ENOSYS : call(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
        known_answer.store(answer, std::memory_order_release);
        return answer;
    }

    static inline constinit std::atomic<int> known_answer{kUnknown};
};

} // namespace v0
} // namespace neuronbook

#undef NEURONBOOK_THREAD_SANITIZER
