// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "neuronbook/base/describe.hpp"
#include "neuronbook/model/descriptor_cache.hpp"
#include "support/catch.hpp"

namespace {

using namespace neuronbook;

static_assert(std::is_nothrow_move_constructible_v<DescriptorCache> &&
              std::is_nothrow_move_assignable_v<DescriptorCache> &&
              std::is_nothrow_default_constructible_v<DescriptorCache>);
static_assert(!std::is_copy_constructible_v<DescriptorCache> &&
              !std::is_copy_assignable_v<DescriptorCache>);
static_assert(!std::is_move_constructible_v<DescriptorTable> &&
              !std::is_copy_constructible_v<DescriptorTable>);

DescriptorCounts counts(std::uint32_t value) {
    DescriptorCounts made;
    made.m2s.fill(value);
    made.packets[15] = 1;
    return made;
}

} // namespace

TEST_CASE("a cache that nothing was put into has nothing", "[model][descriptors]") {
    DescriptorCache cache;
    CHECK(cache.size() == 0);
    CHECK(cache.find_table("") == nullptr);
    CHECK_FALSE(cache.find_function("main"));
    CHECK(cache.name_of(FunctionId{0}).empty());
    cache.for_each([](DescriptorTable&) { FAIL("there is no table"); });
    cache.clear();
    CHECK(cache.size() == 0);
}

TEST_CASE("a table is found by its name, and only by it", "[model][descriptors]") {
    DescriptorCache cache;
    auto* const input = *cache.add_table("input ring");
    auto* const unnamed = *cache.add_table("");
    CHECK(cache.size() == 2);
    CHECK(input->name() == "input ring");
    CHECK(cache.find_table("input ring") == input);
    CHECK(cache.find_table("") == unnamed);
    CHECK(cache.find_table("input rin") == nullptr);
    CHECK(cache.find_table("input rings") == nullptr);
    const auto& fixed = cache;
    CHECK(fixed.find_table("input ring") == input);
    CHECK(fixed.find_table("output ring") == nullptr);
}

TEST_CASE("a name that a table has already is refused, and its counts stay",
          "[model][descriptors]") {
    DescriptorCache cache;
    auto* const table = *cache.add_table("ring", 8);
    REQUIRE(table->add("main", DescriptorBlock{0}, counts(5)));
    const auto again = cache.add_table("ring");
    REQUIRE_FALSE(again);
    CHECK(again.error().status == Status::Invalid);
    CHECK(again.error().detail == Detail::NameTaken);
    CHECK(describe(again.error()) ==
          "count descriptors: the name 'ring' is taken already (INVALID, 2)");
    CHECK(cache.size() == 1);
    CHECK(*cache.find_table("ring")->find("main", DescriptorBlock{0}) == counts(5));
}

TEST_CASE("names of 256 bytes are kept whole, longer ones are refused", "[model][descriptors]") {
    DescriptorCache cache;
    const std::string longest(256, 'n');
    const std::string longer = longest + "x";
    std::string other = longest;
    other.back() = 'm';

    SECTION("of tables") {
        auto* const table = *cache.add_table(longest);
        CHECK(table->name() == longest);
        REQUIRE(cache.add_table(other));
        CHECK(cache.find_table(longest) == table);
        CHECK(cache.find_table(longer) == nullptr); // the original finds the first here
        const auto refused = cache.add_table(longer);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().status == Status::Invalid);
        CHECK(refused.error().detail == Detail::NameTooLong);
        CHECK(refused.error().value == 257);
        CHECK(refused.error().limit == 256);
        CHECK(describe(refused.error()).find("a name of 257 bytes is too long, 256 are allowed") !=
              std::string::npos);
        CHECK(cache.size() == 2);
    }
    SECTION("of functions") {
        const auto id = *cache.intern(longest);
        CHECK(cache.name_of(id) == longest);
        CHECK(*cache.intern(other) != id);
        CHECK_FALSE(cache.find_function(longer));
        const auto refused = cache.intern(longer);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().detail == Detail::NameTooLong);
        CHECK(refused.error().value == 257);
    }
    SECTION("of nothing else") {
        CHECK_FALSE(cache.add_table(longer));
        CHECK_FALSE(cache.intern(longer));
        CHECK(cache.size() == 0);
        CHECK(cache.name_of(FunctionId{0}).empty());
    }
}

TEST_CASE("a name ends at its first NUL, as in a key that is padded with them",
          "[model][descriptors]") {
    using namespace std::literals;
    DescriptorCache cache;
    auto* const table = *cache.add_table("ring\0one"sv);
    CHECK(table->name() == "ring");
    CHECK(cache.find_table("ring\0two"sv) == table);
    CHECK_FALSE(cache.add_table("ring"));
    CHECK(*cache.intern("main\0"sv) == *cache.intern("main"));
    CHECK(*cache.intern(std::string_view("\0main", 5)) == *cache.intern(""));
    std::string field(300, '\0'); // longer than a name may be, but the name in it is not
    field.replace(0, 4, "main");
    CHECK(*cache.intern(field) == *cache.intern("main"));
    CHECK(cache.find_function(field) == cache.find_function("main"));
}

TEST_CASE("a function has one id in all tables of a cache", "[model][descriptors]") {
    DescriptorCache cache;
    auto* const in = *cache.add_table("in");
    auto* const out = *cache.add_table("out");
    const auto main = *cache.intern("main");
    const auto tail = *cache.intern("tail");
    CHECK(main != tail);
    CHECK(*cache.intern("main") == main);
    CHECK(cache.find_function("tail") == tail);
    CHECK_FALSE(cache.find_function("head"));
    CHECK(cache.name_of(main) == "main");
    CHECK(cache.name_of(FunctionId{2}).empty());

    REQUIRE(in->add(main, DescriptorBlock{7}, counts(1)));
    REQUIRE(out->add("main", DescriptorBlock{7}, counts(2)));
    CHECK(*in->find("main", DescriptorBlock{7}) == counts(1));
    CHECK(*out->find(main, DescriptorBlock{7}) == counts(2));
    CHECK(in->find(tail, DescriptorBlock{7}) == nullptr);
    REQUIRE(in->add("head", DescriptorBlock{0}, counts(3))); // a name joins by being used
    CHECK(cache.find_function("head") == FunctionId{2});
}

TEST_CASE("the number of entries a table is planned for is a power of two up to 65 536",
          "[model][descriptors]") {
    struct Row {
        std::uint64_t asked;
        std::uint32_t planned;
    };
    for (const Row row : {Row{0, 1}, Row{1, 1}, Row{2, 2}, Row{3, 4}, Row{1000, 1024},
                          Row{32'769, 65'536}, Row{65'535, 65'536}, Row{65'536, 65'536},
                          Row{65'537, 65'536}, Row{1ull << 32, 65'536}, Row{~0ull, 65'536}}) {
        INFO(row.asked);
        DescriptorCache cache;
        auto* const table = *cache.add_table("ring", row.asked);
        CHECK(table->planned() == row.planned);
        for (std::uint32_t i = 0; i < 100; ++i) // no limit
            REQUIRE(table->add("main", DescriptorBlock{i * 1000}, counts(i)));
        CHECK(table->size() == 100);
        CHECK(table->planned() == row.planned);
    }
}

TEST_CASE("tables are visited in the order in which they came", "[model][descriptors]") {
    DescriptorCache cache;
    for (int i = 0; i < 50; ++i) REQUIRE(cache.add_table("table " + std::to_string(i)));
    int next = 0;
    std::as_const(cache).for_each([&](const DescriptorTable& table) {
        CHECK(table.name() == "table " + std::to_string(next));
        ++next;
    });
    CHECK(next == 50);
    int seen = 0;
    cache.for_each([&](DescriptorTable& table) { // those that come meanwhile too
        if (++seen <= 50) REQUIRE(cache.add_table("late " + std::string(table.name())));
    });
    CHECK(seen == 100);
}

TEST_CASE("a cache moves with everything in it, and leaves an empty one that works",
          "[model][descriptors]") {
    DescriptorCache from;
    auto* const table = *from.add_table("ring");
    REQUIRE(table->add("main", DescriptorBlock{1}, counts(1)));
    const auto* const entry = table->find("main", DescriptorBlock{1});

    DescriptorCache to(std::move(from));
    CHECK(to.find_table("ring") == table);
    CHECK(table->find("main", DescriptorBlock{1}) == entry);
    REQUIRE(table->add("tail", DescriptorBlock{1}, counts(2))); // into the names that moved
    CHECK(to.find_function("tail") == FunctionId{1});

    CHECK(from.size() == 0); // NOLINT(bugprone-use-after-move): that is what is promised
    CHECK(from.find_table("ring") == nullptr);
    CHECK_FALSE(from.find_function("main"));
    auto* const fresh = *from.add_table("ring");
    REQUIRE(fresh->add("other", DescriptorBlock{1}, counts(3)));
    CHECK(*from.find_function("other") == FunctionId{0});

    from = std::move(to); // what it had goes
    CHECK(from.size() == 1);
    CHECK(from.find_table("ring") == table);
    CHECK(*table->find("main", DescriptorBlock{1}) == counts(1));
}

TEST_CASE("clearing frees tables and names, and the cache can be filled again",
          "[model][descriptors]") {
    DescriptorCache cache;
    const auto main = *cache.intern("main");
    for (const char* name : {"in", "out"}) {
        auto* const table = *cache.add_table(name);
        for (std::uint32_t i = 0; i < 300; ++i)
            REQUIRE(table->add(main, DescriptorBlock{i * i}, counts(i)));
    }
    cache.clear();
    CHECK(cache.size() == 0);
    CHECK(cache.find_table("in") == nullptr);
    CHECK_FALSE(cache.find_function("main"));
    CHECK(*cache.intern("tail") == FunctionId{0});
    auto* const table = *cache.add_table("in");
    CHECK(table->size() == 0);
    CHECK(table->find("main", DescriptorBlock{0}) == nullptr);
}
