// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "neuronbook/model/descriptor_cache.hpp"
#include "support/catch.hpp"
#include "threaded/together.hpp"

using namespace neuronbook;
using test::kThreads;
using test::together;

TEST_CASE("a cache that is filled may be read by any number of threads", "[threaded][model]") {
    DescriptorCache filled;
    constexpr std::array<std::uint32_t, 6> kBlocks{0, 1, 2, 500, 70'000, 4'000'000'000};
    for (const char* name : {"in", "out"}) {
        auto& table = **filled.add_table(name, 16);
        for (int f = 0; f < 20; ++f)
            for (const auto block : kBlocks) {
                DescriptorCounts counts;
                counts.m2s.fill(block + static_cast<std::uint32_t>(f));
                REQUIRE(table.add("function " + std::to_string(f), DescriptorBlock{block}, counts));
            }
    }
    const DescriptorCache& cache = filled;
    std::atomic<int> wrong{0};
    together(kThreads, [&](int thread) {
        for (int round = 0; round < 50; ++round) {
            const auto* table = cache.find_table(round % 2 == 0 ? "in" : "out");
            const auto f = static_cast<std::uint32_t>((thread + round) % 20);
            const auto name = "function " + std::to_string(f);
            const auto id = cache.find_function(name);
            if (table == nullptr || !id || cache.name_of(*id) != name) {
                ++wrong;
                continue;
            }
            for (const auto block : kBlocks) {
                const auto* by_id = table->find(*id, DescriptorBlock{block});
                if (by_id == nullptr || by_id != table->find(name, DescriptorBlock{block}) ||
                    by_id->m2s[thread % 16] != block + f || table->find(*id, DescriptorBlock{77}))
                    ++wrong;
            }
            std::size_t seen = 0;
            cache.for_each([&](const DescriptorTable& each) {
                each.for_each([&](const DescriptorTable::Entry&) { ++seen; });
            });
            if (seen != 240) ++wrong;
        }
    });
    CHECK(wrong == 0);
}
