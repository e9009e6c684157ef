// SPDX-License-Identifier: Apache-2.0
#include "neuronbook/backend/sim/memory/handle_table.hpp"

#include "support/catch.hpp"

using neuronbook::sim::HandleTable;

TEST_CASE("handles are integers from 1 and the one freed last is given first", "[sim][handles]") {
    HandleTable table;
    CHECK(table.add(10) == 1);
    CHECK(table.add(11) == 2);
    CHECK(table.add(12) == 3);
    table.remove(1);
    table.remove(3);
    CHECK(table.live() == 1);
    CHECK(table.add(20) == 3);
    CHECK(table.add(21) == 1);
    CHECK(table.add(22) == 4);
    CHECK(table.find(3) == 20);
}

TEST_CASE("a number that names nothing is not found", "[sim][handles]") {
    HandleTable table;
    table.add(10);
    table.remove(1);
    for (const auto handle : {0ull, 1ull, 2ull, 8192ull, 4194304ull, ~0ull})
        CHECK(table.find(handle) == HandleTable::kNothing);
}

TEST_CASE("a table that ran out stays down", "[sim][handles]") {
    HandleTable table;
    for (std::uint32_t i = 1; i < 4194302; ++i) table.add(i);
    CHECK(table.add(0) == 4194302);
    CHECK(table.find(5) == 5);
    CHECK(table.add(0) == 0);
    CHECK(table.find(5) == HandleTable::kNothing);
    table.remove(5);
    CHECK(table.add(0) == 0);
}
