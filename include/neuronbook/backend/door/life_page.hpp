// SPDX-License-Identifier: Apache-2.0
//
// A page that the kernel empties in a forked child: how the library knows that it is in one.
// Owns: the page. Does not own: what a child may not do (door.hpp).
// Layer: backend.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <sys/mman.h>

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// One page under MADV_WIPEONFORK (Linux 4.14). Unlike a pthread_atfork handler it also notices
/// children of _Fork() and of a bare clone, and unlike getpid() asking it costs one load.
class LifePage {
public:
    LifePage() noexcept {
        void* page =
            ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) {
            error_ = errno;
            return;
        }
        if (::madvise(page, kSize, MADV_WIPEONFORK) != 0) {
            error_ = errno;
            ::munmap(page, kSize);
            return;
        }
        word_ = ::new (page) std::atomic<std::uint32_t>(kAlive);
    }
    LifePage(const LifePage&) = delete;
    LifePage& operator=(const LifePage&) = delete;
    ~LifePage() {
        if (word_) ::munmap(word_, kSize);
    }

    /// 0, or the errno for which there is no page.
    [[nodiscard]] int error() const noexcept { return error_; }
    /// Whether this is still the process that made the page.
    [[nodiscard]] bool alive() const noexcept {
        return word_->load(std::memory_order_relaxed) == kAlive;
    }

private:
    static constexpr std::size_t kSize = 4096;
    static constexpr std::uint32_t kAlive = 0x4E42;

    std::atomic<std::uint32_t>* word_ = nullptr;
    int error_ = 0;
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
