// SPDX-License-Identifier: Apache-2.0
// The pool fuzzer's corpus once more, and random inputs, without a fuzzer.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "fuzz/pool_run.hpp"
#include "support/catch.hpp"

TEST_CASE("no input of the pool corpus makes pool and reference differ", "[fuzz][dmem]") {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(POOL_CORPUS)) {
        std::ifstream stream(entry.path(), std::ios::binary);
        const std::vector<char> text{std::istreambuf_iterator<char>(stream), {}};
        const std::vector<std::uint8_t> bytes(text.begin(), text.end());
        INFO(entry.path().filename());
        CHECK_NOTHROW(fuzz::PoolRun(bytes).go());
        ++files;
    }
    CHECK(files > 20);
    CHECK(files < 100);
}

TEST_CASE("random operations of a pool agree with the reference after every step", "[fuzz][dmem]") {
    for (unsigned seed = 1; seed <= 30; ++seed) {
        std::mt19937 random(seed);
        std::vector<std::uint8_t> bytes(3000);
        for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
        INFO("seed " << seed);
        fuzz::PoolRun run(bytes);
        CHECK_NOTHROW(run.go());
        CHECK(run.made > 50);
    }
}
