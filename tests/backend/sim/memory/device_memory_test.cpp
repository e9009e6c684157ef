// SPDX-License-Identifier: Apache-2.0
#include "neuronbook/backend/sim/memory/device_memory.hpp"

#include <sys/stat.h>

#include <cstring>
#include <utility>

#include "support/catch.hpp"

using neuronbook::sim::DeviceMemory;

namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

std::uint64_t bytes_in_use(int file) {
    struct stat info {};
    ::fstat(file, &info);
    return static_cast<std::uint64_t>(info.st_blocks) * 512;
}

} // namespace

TEST_CASE("a range is zeros until written and stays where it is", "[sim][device_memory]") {
    DeviceMemory memory;
    memory.add(0, 24 * kGiB);
    memory.add(std::uint64_t{1} << 38, 24 * kGiB);
    auto* bytes = memory.at((std::uint64_t{1} << 38) + 24 * kGiB - 8, 8);
    REQUIRE(bytes != nullptr);
    CHECK(bytes[7] == std::byte{0});
    std::memcpy(bytes, "12345678", 8);
    CHECK(memory.at((std::uint64_t{1} << 38) + 24 * kGiB - 8, 8) == bytes);
    CHECK(memory.at(24 * kGiB - 8, 8)[0] == std::byte{0});
}

TEST_CASE("what is not in one range is nowhere", "[sim][device_memory]") {
    DeviceMemory memory;
    memory.add(16, 100);
    memory.add(4096 * 16, 4096);
    CHECK(memory.at(0, 1) == nullptr);
    CHECK(memory.at(4096 * 16, 4097) == nullptr);
    CHECK(memory.at(4096 * 16 + 4095, 2) == nullptr);
    CHECK(memory.at(~std::uint64_t{0}, 1) == nullptr);
    CHECK(memory.at(4096 * 16, 4096) != nullptr);
}

TEST_CASE("sixteen devices of 144 GiB cost what is touched", "[sim][device_memory]") {
    std::vector<DeviceMemory> devices(16);
    for (auto& memory : devices) {
        for (std::uint64_t hbm = 0; hbm < 4; ++hbm) memory.add(hbm << 45, 36 * kGiB);
        for (std::uint64_t hbm = 0; hbm < 4; ++hbm) *memory.at((hbm << 45) + 5, 1) = std::byte{1};
        CHECK(bytes_in_use(memory.file()) <= 4 * 65536);
    }
}

TEST_CASE("a moved memory keeps its bytes", "[sim][device_memory]") {
    DeviceMemory memory;
    memory.add(0, kGiB);
    *memory.at(77, 1) = std::byte{9};
    DeviceMemory other = std::move(memory);
    CHECK(*other.at(77, 1) == std::byte{9});
}
