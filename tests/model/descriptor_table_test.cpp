// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "neuronbook/base/describe.hpp"
#include "neuronbook/model/descriptor_cache.hpp"
#include "support/catch.hpp"

namespace {

using namespace neuronbook;

constexpr std::uint32_t kMost = 4'294'967'295;

/// Every counter different.
DescriptorCounts ramp(std::uint32_t first) {
    DescriptorCounts made;
    for (auto* array : {&made.m2s, &made.s2m, &made.packets})
        for (auto& counter : *array) counter = first++;
    return made;
}

std::uint32_t& counter(DescriptorCounts& counts, std::size_t array, std::size_t ring) {
    return (array == 0 ? counts.m2s : array == 1 ? counts.s2m : counts.packets)[ring];
}

/// A cache with one table.
struct OneTable {
    DescriptorCache cache;
    DescriptorTable& table;
    FunctionId main;

    explicit OneTable(std::uint64_t planned = 0)
        : table(**cache.add_table("ring", planned)), main(*cache.intern("main")) {}
    DescriptorCounts at(std::uint32_t block) const {
        const auto* found = table.find(main, DescriptorBlock{block});
        REQUIRE(found != nullptr);
        return *found;
    }
};

} // namespace

TEST_CASE("counts begin as what is added first, and then add up one by one",
          "[model][descriptors]") {
    OneTable one;
    CHECK(one.table.find(one.main, DescriptorBlock{3}) == nullptr);
    REQUIRE(one.table.add(one.main, DescriptorBlock{3}, ramp(100)));
    CHECK(one.at(3) == ramp(100));
    CHECK(one.table.size() == 1);
    REQUIRE(one.table.add(one.main, DescriptorBlock{3}, ramp(1000)));
    CHECK(one.table.size() == 1);
    const auto sums = one.at(3);
    std::uint32_t i = 0;
    for (const auto* array : {&sums.m2s, &sums.s2m, &sums.packets})
        for (const auto sum : *array) {
            CHECK(sum == 1100 + 2 * i);
            ++i;
        }
    CHECK(i == 48);
}

TEST_CASE("a block is one of its function, and every number is a block", "[model][descriptors]") {
    OneTable one;
    const std::vector<std::uint32_t> blocks{0,     1,          15,         16,        17,   63,
                                            65536, 2147483647, 2147483648, kMost - 1, kMost};
    for (const char* function : {"main", "tail", "", "mai"})
        for (const auto block : blocks)
            REQUIRE(one.table.add(function, DescriptorBlock{block},
                                  ramp(block ^ static_cast<std::uint32_t>(function[0]) << 8)));
    CHECK(one.table.size() == 44);
    for (const char* function : {"main", "tail", "", "mai"})
        for (const auto block : blocks) {
            const auto* found = one.table.find(function, DescriptorBlock{block});
            REQUIRE(found != nullptr);
            CHECK(*found == ramp(block ^ static_cast<std::uint32_t>(function[0]) << 8));
        }
    CHECK(one.table.find("main", DescriptorBlock{2}) == nullptr);
    CHECK(one.table.find("main", DescriptorBlock{2147483649}) == nullptr);
    CHECK(one.table.find("head", DescriptorBlock{0}) == nullptr);
}

TEST_CASE("a function's name with more than 256 bytes is refused, and is found nowhere",
          "[model][descriptors]") {
    OneTable one;
    const std::string longest(256, 'f');
    REQUIRE(one.table.add(longest, DescriptorBlock{0}, ramp(1)));
    const auto refused = one.table.add(longest + "g", DescriptorBlock{0}, ramp(1));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().status == Status::Invalid);
    CHECK(refused.error().detail == Detail::NameTooLong);
    CHECK(refused.error().value == 257);
    CHECK(one.table.find(longest + "g", DescriptorBlock{0}) == nullptr);
    CHECK(*one.table.find(longest, DescriptorBlock{0}) == ramp(1));
    CHECK(one.table.size() == 1);
}

TEST_CASE("an id that the cache never gave is refused", "[model][descriptors]") {
    OneTable one;
    for (const std::uint32_t number : {1u, 2u, kMost}) {
        INFO(number);
        CHECK(one.table.find(FunctionId{number}, DescriptorBlock{0}) == nullptr);
        const auto refused = one.table.add(FunctionId{number}, DescriptorBlock{0}, ramp(1));
        REQUIRE_FALSE(refused);
        CHECK(refused.error().status == Status::Invalid);
        CHECK(refused.error().detail == Detail::UnknownFunction);
        CHECK(refused.error().value == number);
        CHECK(refused.error().limit == 1);
    }
    CHECK(one.table.size() == 0);
}

TEST_CASE("a counter that would wrap refuses the whole update, whichever of the 48 it is",
          "[model][descriptors]") {
    for (std::size_t array = 0; array < 3; ++array)
        for (std::size_t ring = 0; ring < 16; ++ring) {
            OneTable one;
            auto full = ramp(1);
            counter(full, array, ring) = kMost - 5;
            REQUIRE(one.table.add(one.main, DescriptorBlock{7}, full));
            auto more = ramp(1);
            counter(more, array, ring) = 6;
            const auto refused = one.table.add(one.main, DescriptorBlock{7}, more);
            REQUIRE_FALSE(refused);
            CHECK(refused.error().status == Status::Resource);
            CHECK(refused.error().detail == Detail::DescriptorOverflow);
            CHECK(refused.error().value == kMost - 5);
            CHECK(refused.error().asked == 6);
            CHECK(refused.error().limit == kMost);
            CHECK(one.at(7) == full);

            counter(more, array, ring) = 5; // up to the brim is no overflow
            REQUIRE(one.table.add(one.main, DescriptorBlock{7}, more));
            counter(full, array, ring) = kMost;
            auto sums = one.at(7);
            CHECK(counter(sums, array, ring) == kMost);
            CHECK(counter(sums, (array + 1) % 3, ring) == 2 * counter(full, (array + 1) % 3, ring));
            REQUIRE(one.table.add(one.main, DescriptorBlock{7}, DescriptorCounts{}));
            CHECK(one.at(7) == sums);
        }
}

TEST_CASE("the refusal of an overflow names counter, block and function", "[model][descriptors]") {
    OneTable one;
    DescriptorCounts full;
    full.s2m[12] = kMost;
    REQUIRE(one.table.add(one.main, DescriptorBlock{40}, full));
    DescriptorCounts more;
    more.s2m[12] = 3;
    const auto refused = one.table.add(one.main, DescriptorBlock{40}, more);
    REQUIRE_FALSE(refused);
    CHECK(describe(refused.error()) ==
          "count descriptors: s2m[12] of block 40 in main cannot pass 4294967295: it is at "
          "4294967295, 3 more were to be added (RESOURCE, 4)");

    const std::string name(200, 'f'); // too long for the text, which then says so
    REQUIRE(one.table.add(name, DescriptorBlock{40}, full));
    const auto cut = one.table.add(name, DescriptorBlock{40}, more);
    REQUIRE_FALSE(cut);
    CHECK(describe(cut.error()).find("fff... cannot pass") != std::string::npos);
}

TEST_CASE("large counts of one block do not make another's small ones overflow",
          "[model][descriptors]") {
    OneTable one;
    DescriptorCounts large;
    large.m2s.fill(kMost);
    REQUIRE(one.table.add(one.main, DescriptorBlock{0}, large));
    REQUIRE(one.table.add(one.main, DescriptorBlock{1}, ramp(1)));
    for (int i = 0; i < 3; ++i) REQUIRE(one.table.add(one.main, DescriptorBlock{1}, ramp(1)));
    CHECK(one.at(0) == large);
    CHECK(one.at(1).m2s[0] == 4);
    CHECK(one.at(1).packets[15] == 4 * 48);
    // Nor do many additions, whose sum over all blocks passes 2^32.
    OneTable many;
    DescriptorCounts half;
    half.packets.fill(3'000'000'000);
    for (std::uint32_t block = 0; block < 20; ++block) {
        REQUIRE(many.table.add(many.main, DescriptorBlock{block}, ramp(0)));
        REQUIRE(many.table.add(many.main, DescriptorBlock{block}, half));
        REQUIRE_FALSE(many.table.add(many.main, DescriptorBlock{block}, half));
        CHECK(many.at(block).packets[1] == 3'000'000'033);
    }
}

TEST_CASE("an addition next to the brim does not hide the overflow of the next",
          "[model][descriptors]") {
    OneTable one;
    DescriptorCounts counts;
    counts.m2s[15] = kMost - 200;
    REQUIRE(one.table.add(one.main, DescriptorBlock{0}, counts));
    DescriptorCounts more;
    more.m2s[15] = 150;
    more.s2m[0] = 1000; // more than that one counter has left, in another
    REQUIRE(one.table.add(one.main, DescriptorBlock{0}, more));
    CHECK(one.at(0).m2s[15] == kMost - 50);
    DescriptorCounts last;
    last.m2s[15] = 51;
    CHECK_FALSE(one.table.add(one.main, DescriptorBlock{0}, last));
    CHECK(one.at(0).m2s[15] == kMost - 50);
    last.m2s[15] = 50;
    REQUIRE(one.table.add(one.main, DescriptorBlock{0}, last));
    CHECK(one.at(0).m2s[15] == kMost);
}

TEST_CASE("counts of the table itself may be added to it", "[model][descriptors]") {
    OneTable one;
    REQUIRE(one.table.add(one.main, DescriptorBlock{0}, ramp(10)));
    const auto& stored = *one.table.find(one.main, DescriptorBlock{0});
    REQUIRE(one.table.add(one.main, DescriptorBlock{0}, stored)); // to themselves
    CHECK(one.at(0).m2s[0] == 20);
    CHECK(one.at(0).packets[15] == 114);
    REQUIRE(one.table.add(one.main, DescriptorBlock{900}, stored)); // and to a new block
    CHECK(one.at(900) == one.at(0));
    DescriptorCounts large;
    large.m2s.fill(2'147'483'648);
    REQUIRE(one.table.add(one.main, DescriptorBlock{1}, large));
    const auto& half = *one.table.find(one.main, DescriptorBlock{1});
    CHECK_FALSE(one.table.add(one.main, DescriptorBlock{1}, half));
    CHECK(one.at(1) == large);
    large.m2s.fill(2'147'483'647);
    REQUIRE(one.table.add(one.main, DescriptorBlock{2}, large));
    REQUIRE(
        one.table.add(one.main, DescriptorBlock{2}, *one.table.find(one.main, DescriptorBlock{2})));
    CHECK(one.at(2).m2s[9] == 4'294'967'294);
}

TEST_CASE("adding is what a plain loop does, bit by bit", "[model][descriptors]") {
    OneTable one;
    std::mt19937 random(14);
    DescriptorCounts sums;
    REQUIRE(one.table.add(one.main, DescriptorBlock{0}, sums));
    for (int round = 0; round < 2000; ++round) {
        DescriptorCounts more;
        for (std::size_t array = 0; array < 3; ++array)
            for (std::size_t ring = 0; ring < 16; ++ring) {
                counter(more, array, ring) =
                    static_cast<std::uint32_t>(random()) >> (11 + round % 20);
                counter(sums, array, ring) += counter(more, array, ring);
            }
        REQUIRE(one.table.add(one.main, DescriptorBlock{0}, more));
    }
    CHECK(one.at(0) == sums);
}

TEST_CASE("entries stay where they are while a table grows", "[model][descriptors]") {
    OneTable one;
    REQUIRE(one.table.add(one.main, DescriptorBlock{0}, ramp(0)));
    const auto* const first = one.table.find(one.main, DescriptorBlock{0});
    for (std::uint32_t i = 1; i < 5000; ++i)
        REQUIRE(one.table.add(one.main, DescriptorBlock{i * 3}, ramp(i)));
    CHECK(one.table.find(one.main, DescriptorBlock{0}) == first);
    CHECK(*first == ramp(0));
}

TEST_CASE("blocks are found however they are numbered and in whatever order they come",
          "[model][descriptors]") {
    std::vector<std::uint32_t> blocks(3000);
    const std::uint32_t step = GENERATE(1u, 2u, 5u, 64u, 65536u, 1u << 20);
    for (std::size_t i = 0; i < blocks.size(); ++i)
        blocks[i] = static_cast<std::uint32_t>(i) * step;
    std::mt19937 random(step);
    switch (GENERATE(0, 1, 2)) {
    case 0: break;
    case 1: std::reverse(blocks.begin(), blocks.end()); break;
    default: std::shuffle(blocks.begin(), blocks.end(), random);
    }
    OneTable one(GENERATE(0u, 4000u));
    for (const auto block : blocks) {
        REQUIRE(one.table.find(one.main, DescriptorBlock{block}) == nullptr);
        REQUIRE(one.table.add(one.main, DescriptorBlock{block}, ramp(block)));
        REQUIRE(one.at(block) == ramp(block));
    }
    CHECK(one.table.size() == 3000);
    bool all = true;
    for (const auto block : blocks) all = all && one.at(block) == ramp(block);
    CHECK(all);
}

TEST_CASE("blocks and names whose hashes are the same are told apart", "[model][descriptors]") {
    std::unordered_map<std::uint32_t, std::uint32_t> seen;
    std::uint32_t a = 0;
    std::uint32_t b = 1u << 20; // none is near
    for (;; ++b) {
        const auto [at, fresh] = seen.emplace(detail::hash_of(0, b), b);
        if (fresh) continue;
        a = at->second;
        break;
    }
    OneTable one;
    REQUIRE(one.table.add(one.main, DescriptorBlock{a}, ramp(1)));
    CHECK(one.table.find(one.main, DescriptorBlock{b}) == nullptr);
    REQUIRE(one.table.add(one.main, DescriptorBlock{b}, ramp(2)));
    CHECK(one.at(a) == ramp(1));
    CHECK(one.at(b) == ramp(2));

    const auto name = [](std::uint32_t i) { return "layer " + std::to_string(i); };
    seen.clear();
    for (b = 0;; ++b) {
        const auto [at, fresh] = seen.emplace(detail::hash_of(name(b)), b);
        if (fresh) continue;
        a = at->second;
        break;
    }
    const auto id = *one.cache.intern(name(a));
    CHECK_FALSE(one.cache.find_function(name(b)));
    CHECK(*one.cache.intern(name(b)) != id);
    auto* const table = *one.cache.add_table(name(a));
    CHECK(one.cache.find_table(name(b)) == nullptr);
    CHECK(one.cache.find_table(name(a)) == table);
}

TEST_CASE("entries are visited once each, in the order in which they came",
          "[model][descriptors]") {
    OneTable one;
    std::vector<std::pair<std::string, std::uint32_t>> made;
    for (const std::uint32_t block : {70'000u, 3u, 0u, 69'999u, 16u, 1u})
        for (const char* function : {"tail", "main"}) {
            REQUIRE(one.table.add(function, DescriptorBlock{block}, ramp(block)));
            made.emplace_back(function, block);
        }
    std::vector<std::pair<std::string, std::uint32_t>> seen;
    one.table.for_each([&](const DescriptorTable::Entry& entry) {
        seen.emplace_back(entry.function, entry.block.value());
        CHECK(entry.counts == ramp(entry.block.value()));
        CHECK(one.cache.name_of(entry.id) == entry.function);
        CHECK(one.table.find(entry.id, entry.block) == &entry.counts);
    });
    CHECK(seen == made);
}
