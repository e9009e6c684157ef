// SPDX-License-Identifier: Apache-2.0
//
// What the descriptor counts take of the host's memory, and what happens when there is none.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "neuronbook/model/descriptor_cache.hpp"
#include "support/catch.hpp"
#include "support/heap.hpp"

namespace {

using namespace neuronbook;

DescriptorCounts counts(std::uint32_t value) {
    DescriptorCounts made;
    made.s2m.fill(value);
    return made;
}

constexpr std::uint32_t kFunctions = 64;

std::array<FunctionId, kFunctions> functions(DescriptorCache& cache) {
    std::array<FunctionId, kFunctions> ids;
    for (std::uint32_t i = 0; i < kFunctions; ++i)
        ids[i] = *cache.intern("sg00/layer_" + std::to_string(i) + "/attention/query/matmul");
    return ids;
}

} // namespace

TEST_CASE("an empty cache takes no memory", "[model][descriptors]") {
    const auto before = test::heap.allocations.load();
    {
        DescriptorCache cache;
        DescriptorCache other(std::move(cache));
        cache = std::move(other);
        CHECK(cache.find_table("ring") == nullptr);
    }
    CHECK(test::heap.allocations == before);
}

TEST_CASE("finding and adding to what is there takes no memory", "[model][descriptors]") {
    DescriptorCache cache;
    auto& table = **cache.add_table("ring", 100);
    const auto ids = functions(cache);
    const std::vector<std::uint32_t> blocks{0, 1, 2, 3, 40, 65536, 4'000'000'000};
    for (const auto id : ids)
        for (const auto block : blocks) REQUIRE(table.add(id, DescriptorBlock{block}, counts(1)));
    const std::string name(cache.name_of(ids[3]));
    const auto one = counts(1);
    const auto large = counts(4'000'000'000);

    const auto before = test::heap.allocations.load();
    bool good = true;
    for (const auto id : ids)
        for (const auto block : blocks) {
            good = good && table.add(id, DescriptorBlock{block}, one).has_value();
            good = good && table.find(id, DescriptorBlock{block}) != nullptr;
            good = good && table.find(id, DescriptorBlock{block + 7}) == nullptr;
        }
    good = good && table.add(name, DescriptorBlock{0}, one).has_value();
    good = good && table.find(name, DescriptorBlock{65536}) != nullptr;
    good = good && table.add(ids[0], DescriptorBlock{0}, large).has_value(); // compared exactly
    good = good && !table.add(ids[0], DescriptorBlock{0}, large).has_value();
    good = good && cache.find_table("ring") == &table && *cache.intern(name) == ids[3];
    std::size_t seen = 0;
    table.for_each([&](const DescriptorTable::Entry&) { ++seen; });
    CHECK(test::heap.allocations == before);
    CHECK(good);
    CHECK(seen == 7 * kFunctions);
}

TEST_CASE("an entry takes at most a quarter more than its counters", "[model][descriptors]") {
    // Every 64th block, every block, and every block from the last to the first.
    const auto block_of = [](int form, std::uint32_t i, std::uint32_t n) {
        return form == 0 ? i : form == 1 ? i / kFunctions : (n - 1 - i) / kFunctions;
    };
    const auto n = GENERATE(70'000u, 100'000u, 132'000u);
    const int form = GENERATE(0, 1, 2);
    const auto before = test::heap.held.load();
    std::uint64_t taken = 0;
    std::size_t size = 0;
    {
        DescriptorCache cache;
        const auto ids = functions(cache);
        auto& table = **cache.add_table("ring", n);
        for (std::uint32_t i = 0; i < n; ++i)
            (void)table.add(ids[i % kFunctions], DescriptorBlock{block_of(form, i, n)}, counts(i));
        size = table.size();
        taken = test::heap.held - before;
    }
    const auto left = test::heap.held - before;
    INFO("form " << form << ", bytes each " << static_cast<double>(taken) / n);
    CHECK(size == n);
    CHECK(taken <= std::uint64_t{n} * 240);
    CHECK(left == 0);
}

TEST_CASE("what blocks out of order took is given back when they are all there",
          "[model][descriptors]") {
    constexpr std::uint32_t kEntries = 100'000;
    std::vector<std::uint32_t> blocks(kEntries);
    for (std::uint32_t i = 0; i < kEntries; ++i) blocks[i] = i;
    std::mt19937 random(3);
    std::shuffle(blocks.begin(), blocks.end(), random);
    DescriptorCache cache;
    auto& table = **cache.add_table("ring", kEntries);
    const auto main = *cache.intern("main");
    const auto before = test::heap.held.load();
    for (const auto block : blocks) (void)table.add(main, DescriptorBlock{block}, counts(block));
    const auto taken = test::heap.held - before;
    // Counters and key, 4 bytes for each of 131 072 blocks, a page that is not full.
    CHECK(taken <= kEntries * 200 + 131'072 * 4 + 256 * 200 + 8 * 512);
}

namespace {

constexpr std::uint32_t kAdded = 400;

/// A cache with two tables and kAdded entries, of which the n-th allocation fails.
struct Interrupted {
    DescriptorCache cache;
    std::array<DescriptorTable*, 2> tables{};
    std::uint32_t tabled = 0;
    std::uint32_t added = 0;
    bool failed = false;

    explicit Interrupted(std::uint64_t nth) {
        test::heap.fail_nth(nth);
        try {
            fill();
        } catch (const std::bad_alloc&) {
            failed = true;
        }
        test::heap.fail_nth(0);
    }
    static std::string table_name(std::uint32_t i) { return std::string(100 + 156 * i, 'a'); }
    static std::string function(std::uint32_t i) { return "function " + std::to_string(i / 24); }
    /// Near, far, and near by then: 40 comes before the blocks below it.
    static DescriptorBlock block(std::uint32_t i) {
        constexpr std::array<std::uint32_t, 12> kBlocks{0, 40, 90'000, 1,  2,  3,
                                                        4, 17, 16,     18, 19, 20};
        return DescriptorBlock{kBlocks[i / 2 % 12]};
    }
    /// What is not there yet.
    void fill() {
        for (; tabled < 2; ++tabled) tables[tabled] = *cache.add_table(table_name(tabled), 1);
        for (; added < kAdded; ++added)
            (void)tables[added % 2]->add(function(added), block(added), counts(added + 1));
    }
    /// Whether all that was added is there, and nothing else.
    [[nodiscard]] bool whole() const {
        if (cache.size() != tabled) return false;
        for (std::uint32_t i = 0; i < 2; ++i)
            if (cache.find_table(table_name(i)) != (i < tabled ? tables[i] : nullptr)) return false;
        if (tabled < 2) return added == 0;
        for (std::uint32_t i = 0; i < kAdded; ++i) {
            const auto* found = tables[i % 2]->find(function(i), block(i));
            if ((found != nullptr) != (i < added)) return false;
            if (found != nullptr && *found != counts(i + 1)) return false;
            if (cache.find_function(function(i)).has_value() != (i / 24 * 24 < added)) return false;
        }
        return tables[0]->size() + tables[1]->size() == added;
    }
};

} // namespace

TEST_CASE("when the host has no memory, nothing has changed and all is given back",
          "[model][descriptors]") {
    std::uint64_t failures = 0;
    for (bool failed = true; failed;) {
        const auto before = test::heap.held.load();
        bool whole = false;
        bool whole_again = false;
        {
            Interrupted made(failures + 1);
            failed = made.failed;
            whole = made.whole();
            made.fill(); // what failed works when there is memory again
            whole_again = made.whole() && made.added == kAdded;
        }
        const auto left = test::heap.held - before;
        INFO("allocation " << failures + 1);
        CHECK(whole);
        CHECK(whole_again);
        CHECK(left == 0);
        failures += failed ? 1 : 0;
    }
    CHECK(failures > 60);
}
