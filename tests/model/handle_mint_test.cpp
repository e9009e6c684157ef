// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "neuronbook/model/detail/model_process.hpp"
#include "neuronbook/model/handle_mint.hpp"

using namespace neuronbook;

static_assert(sizeof(ModelHandle) == 4);
static_assert(!std::is_copy_constructible_v<MintedHandle>);

TEST_CASE("handles are counted up from 1", "[model][mint]") {
    HandleMint mint;
    std::vector<MintedHandle> kept;
    for (std::uint32_t i = 1; i <= 1000; ++i) {
        kept.push_back(*mint.mint());
        REQUIRE(kept.back().value() == ModelHandle{i});
    }
    CHECK(mint.live() == 1000);
    kept.clear();
    CHECK(mint.live() == 0);
    CHECK(mint.mint()->value() == ModelHandle{1001}); // not those that are free again
}

TEST_CASE("after the last number comes 1, never 0", "[model][mint]") {
    HandleMint mint(0xFFFF'FFFDu);
    const auto before = *mint.mint();
    const auto last = *mint.mint();
    const auto first = *mint.mint();
    CHECK(before.value() == ModelHandle{0xFFFF'FFFEu});
    CHECK(last.value() == ModelHandle{0xFFFF'FFFFu});
    CHECK(first.value() == ModelHandle{1});
}

TEST_CASE("a number in use is passed over, and so is one that shares its place", "[model][mint]") {
    HandleMint mint(0xFFFF'FFF0u);
    const auto old = *mint.mint(); // ...F1, place 0x31 of 64
    std::uint32_t last = old.value().value();
    for (int i = 0; i < 300; ++i) {
        const auto next = *mint.mint(); // given back at once
        const std::uint32_t number = next.value().value();
        CHECK(number % 64 != 0x31);
        std::uint32_t expected = last + 1;
        if (expected == 0) ++expected;
        if (expected % 64 == 0x31) ++expected;
        REQUIRE(number == expected);
        last = number;
    }
}

TEST_CASE("numbers in use differ in their low bits", "[model][mint]") {
    HandleMint mint;
    std::vector<MintedHandle> kept;
    for (int i = 0; i < 5000; ++i) {
        auto minted = *mint.mint();
        if (i % 7 == 0) kept.push_back(std::move(minted));
    }
    std::vector<bool> seen(2048); // 715 live: the array has more than twice as many places
    for (const auto& each : kept) {
        REQUIRE(!seen[each.value().value() % seen.size()]);
        seen[each.value().value() % seen.size()] = true;
    }
}

TEST_CASE("when too many numbers are in use the next is refused, and comes when one is free",
          "[model][mint]") {
    HandleMint mint;
    std::vector<MintedHandle> kept;
    for (std::uint32_t i = 0; i < 524'288; ++i) kept.push_back(*mint.mint());
    const auto refused = mint.mint();
    REQUIRE(!refused);
    CHECK(refused.error().status == Status::Resource);
    CHECK(refused.error().detail == Detail::OutOfModelHandles);
    CHECK(refused.error().limit == 524'288);
    kept.pop_back();
    CHECK(mint.mint());
}

TEST_CASE("a minted handle moves with its number", "[model][mint]") {
    HandleMint mint;
    auto a = *mint.mint();
    auto b = std::move(a);
    CHECK(a.value() == ModelHandle{}); // NOLINT: that is what is asked
    CHECK(b.value() == ModelHandle{1});
    {
        auto c = *mint.mint();
        c = std::move(b);
        CHECK(c.value() == ModelHandle{1});
    }
    b = MintedHandle{}; // gives back what the assignment swapped in
    CHECK(mint.live() == 0);
}

TEST_CASE("the process has one mint", "[model][mint]") {
    auto& mint = process_handles();
    CHECK(&mint == &process_handles());
    const auto before = mint.live();
    const auto one = *mint.mint();
    const auto two = *mint.mint();
    CHECK(one.value() != two.value());
    CHECK(mint.live() == before + 2);
}
