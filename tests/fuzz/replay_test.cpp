// SPDX-License-Identifier: Apache-2.0
// The fuzzer's corpus once more, without a fuzzer.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "fuzz/run.hpp"
#include "support/catch.hpp"

TEST_CASE("no input of the corpus breaks a rule, and every request comes in every size",
          "[fuzz][corpus]") {
    std::vector<std::uint8_t> pairs(fuzz::kPairs);
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(FUZZ_CORPUS)) {
        std::ifstream stream(entry.path(), std::ios::binary);
        const std::vector<char> text{std::istreambuf_iterator<char>(stream), {}};
        const std::vector<std::uint8_t> bytes(text.begin(), text.end());
        INFO(entry.path().filename());
        CHECK_NOTHROW(fuzz::Run(bytes, pairs).go());
        ++files;
    }
    const auto reached = std::count(pairs.begin(), pairs.end(), std::uint8_t{1});
    std::printf("%zu inputs reached %td of %zu pairs of a request and a size\n", files, reached,
                pairs.size());
    CHECK(reached == static_cast<std::ptrdiff_t>(fuzz::kPairs));
    CHECK(files < 200);
}
