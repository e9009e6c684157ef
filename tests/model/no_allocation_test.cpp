// SPDX-License-Identifier: Apache-2.0
// What takes no memory. Replaces operator new, so it is a program of its own.
#include "support/catch.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#include "model/models.hpp"

using namespace neuronbook;
using test::kAtOnce;
using test::kCore;
using test::model;
using test::SmallModel;

namespace {
std::atomic<int> allocations{0};

void* allocate(std::size_t size, std::size_t alignment) {
    allocations.fetch_add(1);
    void* memory =
        alignment <= alignof(std::max_align_t)
            ? std::malloc(size)
            : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    if (!memory) std::abort();
    return memory;
}
} // namespace

void* operator new(std::size_t size) { return allocate(size, 1); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return operator new(size); // who asks so cannot be told; such tests do not run out
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { operator delete(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

TEMPLATE_TEST_CASE("finding, acquiring, releasing and removing take no memory", "[model][database]",
                   SharedCount, ThreadCounts) {
    ModelDatabase<SmallModel, TestType> models(kCore);
    std::vector<ModelHandle> handles;
    for (int i = 0; i < 100; ++i) handles.push_back(*models.add(model()));
    (void)models.acquire(handles[0]); // a thread's first may
    int wrong = 0;
    const int before = allocations.load();
    for (int round = 0; round < 100; ++round)
        for (const auto handle : handles) {
            auto held = models.acquire(handle);
            wrong += !held || models.find(handle) != held->get();
            wrong += models.acquire(ModelHandle{handle.value() + 1000}).has_value();
            wrong += !models.acquire("bert");
        }
    auto held = models.acquire(handles[7]);
    wrong += models.remove(handles[7], kAtOnce).has_value();
    held->release();
    auto removed = models.drain(handles[7], kAtOnce);
    const int after = allocations.load();
    CHECK(after - before == 0);
    CHECK(wrong == 0);
    CHECK(removed);
}

TEST_CASE("adding takes memory only when a table grows", "[model][database]") {
    ModelDatabase<SmallModel> models(kCore);
    std::vector<std::unique_ptr<SmallModel>> made;
    for (int i = 0; i < 1024; ++i) made.push_back(model());
    (void)models.add(std::move(made[0]));
    const int before = allocations.load();
    for (std::size_t i = 1; i < made.size(); ++i) (void)models.add(std::move(made[i]));
    // Places double from 16 (6 times or 7), two indexes from 64 (4 each), cells come by 64 (16).
    CHECK(allocations.load() - before <= 31);
    CHECK(models.size() == 1024);
}
