// SPDX-License-Identifier: Apache-2.0
// The descriptor fuzzer's corpus once more, and random inputs, without a fuzzer.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "fuzz/descriptor_run.hpp"
#include "support/catch.hpp"

TEST_CASE("no input of the descriptor corpus makes cache and reference differ", "[fuzz][model]") {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(DESCRIPTOR_CORPUS)) {
        std::ifstream stream(entry.path(), std::ios::binary);
        const std::vector<char> text{std::istreambuf_iterator<char>(stream), {}};
        const std::vector<std::uint8_t> bytes(text.begin(), text.end());
        INFO(entry.path().filename());
        CHECK_NOTHROW(fuzz::DescriptorRun(bytes).go());
        ++files;
    }
    CHECK(files > 10);
    CHECK(files < 60);
}

TEST_CASE("random descriptor counts agree with the reference after every step", "[fuzz][model]") {
    for (unsigned seed = 1; seed <= 40; ++seed) {
        std::mt19937 random(seed);
        std::vector<std::uint8_t> bytes(8000);
        for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
        INFO("seed " << seed);
        fuzz::DescriptorRun run(bytes);
        CHECK_NOTHROW(run.go());
        CHECK(run.added > 300);
        CHECK(run.refused > 10);
    }
}
