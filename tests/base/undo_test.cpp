// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <type_traits>

#include "neuronbook/base/undo.hpp"
#include "support/catch.hpp"

using namespace neuronbook;

static_assert(!std::is_copy_constructible_v<UndoList> && !std::is_move_constructible_v<UndoList>);

TEST_CASE("steps are undone last first when the list goes out of scope", "[base][undo]") {
    std::string order;
    {
        UndoList undo;
        undo.add([&] { order += 'a'; });
        undo.add([&] { order += 'b'; });
        undo.add([&] { order += 'c'; });
        CHECK(order.empty());
    }
    CHECK(order == "cba");
}

TEST_CASE("a committed list undoes nothing and frees its steps", "[base][undo]") {
    bool undone = false;
    auto held = std::make_shared<int>(1);
    {
        UndoList undo;
        undo.add([&undone, held] { undone = true; });
        undo.commit();
        CHECK(held.use_count() == 1);
    }
    CHECK_FALSE(undone);
}

TEST_CASE("running undoes now, and only once", "[base][undo]") {
    int count = 0;
    {
        UndoList undo;
        undo.add([&] { ++count; });
        undo.run();
        CHECK(count == 1);
        undo.add([&] { count += 10; });
    }
    CHECK(count == 11);
}

TEST_CASE("a committed list can be used again", "[base][undo]") {
    std::string order;
    {
        UndoList undo;
        undo.add([&] { order += 'a'; });
        undo.commit();
        undo.add([&] { order += 'b'; });
    }
    CHECK(order == "b");
}

TEST_CASE("steps that only move are accepted", "[base][undo]") {
    int seen = 0;
    {
        UndoList undo;
        undo.add([&seen, held = std::make_shared<int>(5)] { seen = *held; });
    }
    CHECK(seen == 5);
}
