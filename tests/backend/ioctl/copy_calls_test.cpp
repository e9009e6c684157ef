// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include <sys/mman.h>

#include <cstring>
#include <vector>

#include "support/sim_machine.hpp"

using namespace neuronbook;
using test::open_driver;
using test::SimDriver;
using test::SimMachine;

static_assert(ChunkCopyOps<SimDriver> && FillOps<SimDriver> && AsyncCopyOps<SimDriver> &&
              BatchCopyOps<SimDriver>);

namespace {

constexpr HostDeviceId kDevice{0};
const struct {
    const char *instance, *release;
} kMachines[] = {{"trn1.2xlarge", "2.24.7"},
                 {"trn1.2xlarge", "2.26.5"},
                 {"trn2.3xlarge", "2.26.5"},
                 {"trn2.3xlarge", "2.30.2"},
                 {"trn1.2xlarge", "2.30.2"}};

Chunk chunk(SimDriver& driver, std::uint64_t size,
            MemoryLocation location = MemoryLocation::Device) {
    const bool host = location == MemoryLocation::Host;
    auto made = driver.allocate(
        kDevice, {.size = Bytes{size}, .location = location, .category = host ? 2u : 9u});
    REQUIRE(made);
    return *made;
}

std::vector<std::byte> pattern(std::size_t size, unsigned seed = 0) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<std::byte>(i * 7 + (i >> 8) + seed);
    return bytes;
}

std::vector<std::byte> content(SimDriver& driver, const Chunk& of, std::uint64_t offset,
                               std::size_t size) {
    std::vector<std::byte> bytes(size);
    REQUIRE(driver.read(kDevice, of, Bytes{offset}, bytes));
    return bytes;
}

Error copied(SimDriver& driver, const Chunk& from, std::uint64_t at, const Chunk& to,
             std::uint64_t to_at, std::uint64_t size) {
    const auto done = driver.copy(kDevice, from, Bytes{at}, to, Bytes{to_at}, Bytes{size});
    return done ? Error{.status = Status::Success} : done.error();
}

} // namespace

TEST_CASE("bytes move between chunks and are filled, with every driver", "[backend][copy]") {
    for (const auto& [instance, release] : kMachines) {
        INFO(instance << " " << release);
        SimMachine machine(instance, release);
        auto driver = open_driver(machine);
        const auto a = chunk(driver, 1 << 20);
        const auto b = chunk(driver, 1 << 20);
        const auto host = chunk(driver, 1 << 20, MemoryLocation::Host);
        const auto bytes = pattern(300001);
        REQUIRE(driver.write(kDevice, a, Bytes{3}, bytes));
        REQUIRE(driver.copy(kDevice, a, Bytes{3}, host, Bytes{5}, Bytes{300001}));
        REQUIRE(driver.copy(kDevice, host, Bytes{5}, b, Bytes{7}, Bytes{300001}));
        CHECK(content(driver, b, 7, 300001) == bytes);
        REQUIRE(driver.fill(kDevice, b, Bytes{8}, Bytes{200000}, std::byte{0x5C}));
        const auto after = content(driver, b, 7, 300001);
        CHECK(after[0] == bytes[0]);
        CHECK(after[1] == std::byte{0x5C});
        CHECK(after[200000] == std::byte{0x5C});
        CHECK(after[200001] == bytes[200001]);
        const auto calls = machine.counts.total();
        CHECK(driver.copy(kDevice, a, Bytes{1 << 20}, b, Bytes{0}, Bytes{0}));
        CHECK(driver.fill(kDevice, b, Bytes{0}, Bytes{0}, std::byte{1}));
        CHECK(driver.write(kDevice, b, Bytes{0}, {}));
        CHECK(machine.counts.total() == calls);
        CHECK(machine.kernel->would_have_crashed().empty());
    }
}

TEST_CASE("F07: a range whose end wraps is refused by value before any call",
          "[backend][copy][F07]") {
    SimMachine machine("trn1.2xlarge", "2.24.7");
    auto driver = open_driver(machine);
    const auto a = chunk(driver, 4096);
    const auto b = chunk(driver, 8192);
    constexpr std::uint64_t kWraps = ~std::uint64_t{0} - 15;
    const auto calls = machine.counts.total();
    CHECK(copied(driver, a, kWraps, b, 0, 32).detail == Detail::OutOfBounds);
    const auto target = copied(driver, b, 0, a, kWraps, 32);
    CHECK(target.detail == Detail::OutOfBounds);
    CHECK(target.value == kWraps);
    CHECK(target.limit == 4096);
    CHECK(target.asked == 32);
    CHECK(copied(driver, b, 0, a, 0, 4097).detail == Detail::OutOfBounds);
    CHECK_FALSE(driver.fill(kDevice, a, Bytes{kWraps}, Bytes{32}, std::byte{0}));
    CHECK_FALSE(driver.fill(kDevice, a, Bytes{1}, Bytes{4096}, std::byte{0}));
    const auto bytes = pattern(32);
    CHECK_FALSE(driver.write(kDevice, a, Bytes{kWraps}, bytes));
    const WritePiece pieces[] = {{b, Bytes{0}, bytes}, {a, Bytes{kWraps}, bytes}};
    const auto batch = driver.write_batch(kDevice, CoreIndex{0}, pieces);
    REQUIRE_FALSE(batch);
    CHECK(batch.error().detail == Detail::PieceOutOfBounds);
    CHECK(batch.error().value == 1);
    CHECK(machine.counts.total() == calls);
}

TEST_CASE("copies and fills around 4 GiB are split and reach their end", "[backend][copy]") {
    SimMachine machine("trn1.2xlarge", "2.26.5");
    auto driver = open_driver(machine);
    constexpr std::uint64_t kOver = (std::uint64_t{1} << 32) + 4096;
    const auto a = chunk(driver, kOver);
    const auto calls = machine.counts.of(PortCall::Ioctl);
    // a real move of that much would cost the host its memory: the splitting shows in the calls
    const auto bytes = pattern(4096);
    REQUIRE(driver.write(kDevice, a, Bytes{kOver - 4096}, bytes));
    CHECK(machine.counts.of(PortCall::Ioctl) == calls + 1);
    REQUIRE(driver.copy(kDevice, a, Bytes{kOver - 4096}, a, Bytes{0}, Bytes{4096}));
    CHECK(content(driver, a, 0, 4096) == bytes);
    REQUIRE(driver.fill(kDevice, a, Bytes{kOver - 5}, Bytes{5}, std::byte{9}));
    CHECK(content(driver, a, kOver - 6, 6)[5] == std::byte{9});
}

TEST_CASE("large writes and reads use pinned pages where they can, and never need them",
          "[backend][copy]") {
    for (const auto& [instance, release] : kMachines) {
        INFO(instance << " " << release);
        SimMachine machine(instance, release);
        auto driver = open_driver(machine);
        const auto a = chunk(driver, 1 << 20);
        const auto host = chunk(driver, 1 << 20, MemoryLocation::Host);
        const auto bytes = pattern(1 << 20);
        REQUIRE(driver.write(kDevice, a, Bytes{0}, bytes));
        CHECK(content(driver, a, 1, (1 << 20) - 1) ==
              std::vector<std::byte>(bytes.begin() + 1, bytes.end()));
        // a mapping of the driver's cannot be pinned: those bytes go through the bounce buffer
        const auto mapped = driver.map(kDevice, host);
        REQUIRE(mapped);
        std::memcpy(*mapped, bytes.data(), bytes.size());
        const std::span<std::byte> view{static_cast<std::byte*>(*mapped), 1 << 20};
        REQUIRE(driver.fill(kDevice, a, Bytes{0}, Bytes{1 << 20}, std::byte{0}));
        const auto calls = machine.counts.of(PortCall::Ioctl);
        REQUIRE(driver.write(kDevice, a, Bytes{0}, view));
        const bool pins = std::string_view(instance) == "trn2.3xlarge";
        CHECK(machine.counts.of(PortCall::Ioctl) == calls + (pins ? 2 : 1));
        CHECK(content(driver, a, 0, 1 << 20) == bytes);
        REQUIRE(driver.unmap(*mapped, host));
        CHECK(machine.kernel->unknown().empty());
        CHECK(machine.kernel->would_have_crashed().empty());
    }
}

TEST_CASE("a batch moves its pieces in order, whatever the driver has for it", "[backend][copy]") {
    for (const auto& [instance, release] : kMachines) {
        INFO(instance << " " << release);
        SimMachine machine(instance, release);
        auto driver = open_driver(machine);
        const auto a = chunk(driver, 1 << 20);
        const auto b = chunk(driver, 1 << 20);
        const auto host = chunk(driver, 4096, MemoryLocation::Host);
        const auto bytes = pattern(300 * 64);
        std::vector<WritePiece> writes;
        for (std::uint64_t i = 0; i < 300; ++i)
            writes.push_back({i % 3 == 0 ? a : b, Bytes{i * 100},
                              std::span(bytes).subspan(i * 64, i == 7 ? 0 : 64)});
        writes.push_back({host, Bytes{1}, std::span(bytes).first(64)});
        writes.push_back({a, Bytes{0}, std::span(bytes).last(64)}); // over the first
        const auto calls = machine.counts.of(PortCall::Ioctl);
        REQUIRE(driver.write_batch(kDevice, CoreIndex{0}, writes));
        const bool batches = std::string_view(instance) == "trn2.3xlarge";
        CHECK(machine.counts.of(PortCall::Ioctl) == calls + (batches ? 3 + 1 + 1 : 301));
        std::vector<std::byte> back(300 * 64);
        std::vector<ReadPiece> reads;
        for (std::uint64_t i = 0; i < 300; ++i)
            reads.push_back({i % 3 == 0 ? a : b, Bytes{i * 100},
                             std::span(back).subspan(i * 64, i == 7 ? 0 : 64)});
        REQUIRE(driver.read_batch(kDevice, CoreIndex{0}, reads));
        auto expected = bytes;
        std::memcpy(expected.data(), bytes.data() + 299 * 64, 64);
        std::memset(expected.data() + 7 * 64, 0, 64);
        CHECK(back == expected);
        CHECK(content(driver, host, 1, 64) ==
              std::vector<std::byte>(bytes.begin(), bytes.begin() + 64));
        const auto before = machine.counts.total();
        CHECK(driver.write_batch(kDevice, CoreIndex{0}, {}));
        CHECK_FALSE(driver.write_batch(kDevice, CoreIndex{8}, writes));
        CHECK(machine.counts.total() == before);
        CHECK(machine.kernel->would_have_crashed().empty());
    }
}

TEST_CASE("a piece the driver refuses is named by its number", "[backend][copy]") {
    SimMachine machine("trn1.2xlarge", "2.26.5");
    auto driver = open_driver(machine);
    const auto a = chunk(driver, 4096);
    auto freed = chunk(driver, 4096);
    REQUIRE(driver.free(kDevice, freed));
    const auto bytes = pattern(64);
    const WritePiece pieces[] = {
        {a, Bytes{0}, bytes}, {freed, Bytes{0}, {}}, {freed, Bytes{0}, bytes}};
    const auto refused = driver.write_batch(kDevice, CoreIndex{0}, pieces);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().detail == Detail::PieceRefused);
    CHECK(refused.error().value == 2);
    CHECK(static_cast<int>(refused.error().status) == 3);
}
