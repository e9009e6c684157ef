// SPDX-License-Identifier: Apache-2.0
#include "neuronbook/backend/sim/host/core_marks.hpp"

#include "support/catch.hpp"

using neuronbook::sim::CoreMarks;

TEST_CASE("the first run of free slots is marked", "[sim][marks]") {
    CoreMarks marks;
    CHECK(marks.mark(1, 1, 0, 1).first == 0);
    CHECK(marks.mark(1, 1, 0, 1).first == 1);
    CHECK_FALSE(marks.mark(1, 1, 0, 1).found);
    CHECK(marks.owner(0) == 1);
    CHECK(marks.held() == 2);
}

TEST_CASE("a run that begins right behind a taken slot is missed", "[sim][marks]") {
    CoreMarks marks;
    marks.mark(1, 1, 5, 5);
    const auto missed = marks.mark(1, 2, 4, 7); // 6 and 7 are free
    CHECK_FALSE(missed.found);
    CHECK(missed.longest == 1);
    const auto found = marks.mark(1, 2, 5, 7); // begins at the taken slot
    CHECK(found.found);
    CHECK(found.first == 6);
    CHECK(found.longest == 0);
    marks.unmark(1, 6);
    marks.unmark(1, 7);
    const auto later = marks.mark(1, 2, 4, 8);
    CHECK(later.found);
    CHECK(later.first == 7);
    CHECK(later.longest == 1);
}

TEST_CASE("a count of 0 needs one free slot and marks none", "[sim][marks]") {
    CoreMarks marks;
    CHECK(marks.mark(1, 0, 3, 3).found);
    CHECK(marks.held() == 0);
    marks.mark(1, 1, 3, 3);
    CHECK_FALSE(marks.mark(1, 0, 3, 3).found);
}

TEST_CASE("the longest run that was too short is said", "[sim][marks]") {
    CoreMarks marks;
    marks.mark(1, 1, 0, 0);
    marks.mark(1, 4, 2, 5);
    marks.mark(1, 1, 511, 511);
    const auto whole = marks.mark(1, 512, 0, 511);
    CHECK_FALSE(whole.found);
    CHECK(whole.longest == 505);
    const auto pair = marks.mark(1, 3, 0, 1);
    CHECK_FALSE(pair.found);
    CHECK(pair.longest == 1);
}

TEST_CASE("only the process that marked a slot frees it", "[sim][marks]") {
    CoreMarks marks;
    marks.mark(1, 2, 0, 511);
    marks.mark(2, 2, 0, 511);
    marks.unmark(2, 0);
    CHECK(marks.owner(0) == 1);
    marks.unmark_all(2);
    CHECK(marks.held() == 2);
    marks.unmark(1, 600); // no such slot
    marks.unmark_all(1);
    CHECK(marks.held() == 0);
}
