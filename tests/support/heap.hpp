// SPDX-License-Identifier: Apache-2.0
//
// The heap, watched. Replaces operator new for the whole program that includes it, in one file of
// it. Every form is replaced: a sanitizer has those that are missing, and its own do not go with
// these.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace neuronbook::test {

struct Heap {
    std::atomic<std::uint64_t> allocations{0};
    std::atomic<std::uint64_t> held{0};     ///< bytes, as they were asked for
    std::atomic<std::uint64_t> failing{0};  ///< the number of the allocation that finds no memory
    std::atomic<void (*)()> watch{nullptr}; ///< called by every allocation and free

    /// Effects: the n-th allocation from now on finds no memory (1 is the next); 0: none does.
    void fail_nth(std::uint64_t n) { failing = n == 0 ? 0 : allocations + n; }
};
inline constinit Heap heap;

namespace detail {

struct alignas(16) HeapHead {
    std::size_t size;
    std::size_t offset;
};

inline void watch() {
    if (const auto call = heap.watch.load()) call();
}
inline void* take(std::size_t size, std::size_t align) noexcept {
    watch();
    if (++heap.allocations == heap.failing) return nullptr;
    const std::size_t offset = align < sizeof(HeapHead) ? sizeof(HeapHead) : align;
    auto* raw = static_cast<std::byte*>(
        std::aligned_alloc(offset, (size + 2 * offset - 1) / offset * offset));
    if (raw == nullptr) return nullptr;
    heap.held += size;
    new (raw + offset - sizeof(HeapHead)) HeapHead{size, offset};
    return raw + offset;
}
inline void* take_or_throw(std::size_t size, std::size_t align) {
    if (void* bytes = take(size, align)) return bytes;
    throw std::bad_alloc();
}
inline void give(void* bytes) noexcept {
    if (bytes == nullptr) return;
    watch();
    const auto* head =
        reinterpret_cast<HeapHead*>(static_cast<std::byte*>(bytes) - sizeof(HeapHead));
    heap.held -= head->size;
    std::free(static_cast<std::byte*>(bytes) - head->offset);
}

} // namespace detail
} // namespace neuronbook::test

void* operator new(std::size_t size) { return neuronbook::test::detail::take_or_throw(size, 16); }
void* operator new[](std::size_t size) { return neuronbook::test::detail::take_or_throw(size, 16); }
void* operator new(std::size_t size, std::align_val_t align) {
    return neuronbook::test::detail::take_or_throw(size, static_cast<std::size_t>(align));
}
void* operator new[](std::size_t size, std::align_val_t align) {
    return neuronbook::test::detail::take_or_throw(size, static_cast<std::size_t>(align));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return neuronbook::test::detail::take(size, 16);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
    return neuronbook::test::detail::take(size, 16);
}
void operator delete(void* bytes) noexcept { neuronbook::test::detail::give(bytes); }
void operator delete[](void* bytes) noexcept { neuronbook::test::detail::give(bytes); }
void operator delete(void* bytes, std::size_t) noexcept { neuronbook::test::detail::give(bytes); }
void operator delete[](void* bytes, std::size_t) noexcept { neuronbook::test::detail::give(bytes); }
void operator delete(void* bytes, std::align_val_t) noexcept {
    neuronbook::test::detail::give(bytes);
}
void operator delete[](void* bytes, std::align_val_t) noexcept {
    neuronbook::test::detail::give(bytes);
}
void operator delete(void* bytes, std::size_t, std::align_val_t) noexcept {
    neuronbook::test::detail::give(bytes);
}
void operator delete[](void* bytes, std::size_t, std::align_val_t) noexcept {
    neuronbook::test::detail::give(bytes);
}
void operator delete(void* bytes, const std::nothrow_t&) noexcept {
    neuronbook::test::detail::give(bytes);
}
void operator delete[](void* bytes, const std::nothrow_t&) noexcept {
    neuronbook::test::detail::give(bytes);
}
