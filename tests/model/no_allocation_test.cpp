// SPDX-License-Identifier: Apache-2.0
// What takes no memory. Replaces operator new, so it is a program of its own.
#include "support/catch.hpp"

#include <vector>

#include "model/models.hpp"
#include "support/heap.hpp"

using namespace neuronbook;
using test::kAtOnce;
using test::kCore;
using test::model;
using test::SmallModel;

TEMPLATE_TEST_CASE("finding, acquiring, releasing and removing take no memory", "[model][database]",
                   SharedCount, ThreadCounts) {
    ModelDatabase<SmallModel, TestType> models(kCore);
    std::vector<ModelHandle> handles;
    for (int i = 0; i < 100; ++i) handles.push_back(*models.add(model()));
    (void)models.acquire(handles[0]); // a thread's first may
    int wrong = 0;
    const auto before = test::heap.allocations.load();
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
    const auto after = test::heap.allocations.load();
    CHECK(after - before == 0);
    CHECK(wrong == 0);
    CHECK(removed);
}

TEST_CASE("adding takes memory only when a table grows", "[model][database]") {
    ModelDatabase<SmallModel> models(kCore);
    std::vector<std::unique_ptr<SmallModel>> made;
    for (int i = 0; i < 1024; ++i) made.push_back(model());
    (void)models.add(std::move(made[0]));
    const auto before = test::heap.allocations.load();
    for (std::size_t i = 1; i < made.size(); ++i) (void)models.add(std::move(made[i]));
    // Places double from 16 (6 times or 7), two indexes from 64 (4 each), cells come by 64 (16).
    CHECK(test::heap.allocations - before <= 31);
    CHECK(models.size() == 1024);
}
