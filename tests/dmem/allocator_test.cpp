// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "neuronbook/base/describe.hpp"
#include "neuronbook/dmem/allocator.hpp"
#include "support/archetypes.hpp"
#include "support/catch.hpp"
#include "support/log_lines.hpp"
#include "support/one_core.hpp"

using namespace neuronbook;
using namespace neuronbook::literals;
using test::OneCore;

// A concept does not stop a body from using more than it lists: these do.
template class neuronbook::Allocator<GlobalTag, test::MemoryArchetype, test::LedgerArchetype>;
template class neuronbook::Allocator<ModelTag, test::CopyArchetype, NullLedger>;

static_assert(!std::is_copy_constructible_v<Allocator<GlobalTag>>);
static_assert(!std::is_move_constructible_v<Allocator<GlobalTag>>);

namespace {

const Error kNoMemory{
    .status = Status::Resource, .detail = Detail::OutOfDeviceMemory, .os_error = ENOMEM};

} // namespace

TEST_CASE("a request reaches the driver in the driver's terms", "[dmem][allocator]") {
    OneCore memory;
    SECTION("device memory, on the HBM next to the core") {
        const auto block = memory.global.allocate({.size = 100_B, .usage = Usage::Tensor});
        REQUIRE(block);
        const auto& asked = memory.driver.requests.at(0);
        CHECK(asked.size == 100_B);
        CHECK(asked.alignment == 0_B);
        CHECK(asked.location == MemoryLocation::Device);
        CHECK(asked.hbm == 2);
        CHECK(asked.core == CoreIndex{5});
        CHECK(asked.category == 9);
    }
    SECTION("another HBM, aligned") {
        const auto block = memory.global.allocate(
            {.size = 100_B, .usage = Usage::Scratchpad, .hbm = 0, .alignment = 4_MiB});
        REQUIRE(block);
        CHECK(memory.driver.requests.at(0).hbm == 0);
        CHECK(memory.driver.requests.at(0).alignment == 4_MiB);
        CHECK(memory.driver.requests.at(0).category == 11);
        CHECK(block->address().value() % 4194304 == 0);
    }
    SECTION("alignments up to a page are fine") {
        for (const std::uint64_t alignment : {0, 1, 2, 512, 4096}) {
            REQUIRE(memory.global.allocate({.size = 1_B, .alignment = Bytes{alignment}}));
            CHECK(memory.driver.requests.back().alignment == Bytes{alignment});
        }
    }
    SECTION("host memory names no HBM") {
        const auto block = memory.global.allocate({.size = 100_B,
                                                   .usage = Usage::Notification,
                                                   .location = MemoryLocation::Host,
                                                   .hbm = 3,
                                                   .alignment = 64_B});
        REQUIRE(block);
        CHECK(memory.driver.requests.at(0).hbm == 0);
        CHECK(memory.driver.requests.at(0).category == 6);
        CHECK(memory.ledger.snapshot().on_host[6] == 4096);
    }
    CHECK(memory.empty());
}

TEST_CASE("A23: requested and charged bytes are both kept, and charged ones are booked",
          "[dmem][allocator][A23]") {
    OneCore memory;
    const auto block = memory.model.allocate({.size = 4097_B, .usage = Usage::Weight});
    REQUIRE(block);
    CHECK(block->requested() == 4097_B);
    CHECK(block->charged() == 8192_B);
    CHECK(memory.ledger.used_by_core(CoreIndex{5}, Usage::Weight) == 8192_B);
    CHECK(memory.ledger.used_on_channel(2) == 8192_B);
    CHECK(memory.model.outstanding().requested == 4097_B);
    CHECK(memory.model.outstanding().charged == 8192_B);
    CHECK(memory.balanced());
}

TEST_CASE("a request that breaks a rule never reaches the driver", "[dmem][allocator]") {
    OneCore memory;
    const auto refused = [&](const AllocationRequest& request) {
        const auto said = memory.global.allocate(request);
        REQUIRE_FALSE(said);
        CHECK(said.error().operation == Operation::Allocate);
        CHECK(said.error().device == 3);
        CHECK(said.error().core == 5);
        return said.error();
    };
    SECTION("a size of zero") {
        const auto error = refused({.usage = Usage::Tensor});
        CHECK(error.status == Status::Invalid);
        CHECK(error.detail == Detail::ZeroSize);
    }
    SECTION("an alignment that is no power of two up to 1 GiB") {
        for (const std::uint64_t bad : {3ull, 4097ull, 0x3000ull, 1ull << 31, 1ull << 63}) {
            const auto error = refused({.size = 1_B, .alignment = Bytes{bad}});
            CHECK(error.status == Status::Invalid);
            CHECK(error.detail == Detail::BadAlignment);
            CHECK(error.value == bad);
            CHECK(error.limit == 1073741824);
        }
    }
    SECTION("an alignment above a page for host memory") {
        const auto error =
            refused({.size = 1_B, .location = MemoryLocation::Host, .alignment = 8_KiB});
        CHECK(error.detail == Detail::BadAlignment);
        CHECK(error.limit == 4096);
    }
    SECTION("an HBM the device does not have") {
        const auto error = refused({.size = 1_B, .hbm = 4});
        CHECK(error.status == Status::Invalid);
        CHECK(error.detail == Detail::HbmOutOfRange);
        CHECK(error.value == 4);
        CHECK(error.limit == 4);
    }
    SECTION("B06: more than the HBM has") {
        const auto error = refused({.size = Bytes{0x6'0000'0001u}});
        CHECK(error.status == Status::Resource);
        CHECK(error.detail == Detail::LargerThanHbm);
        CHECK(error.asked == 0x6'0000'0001u);
        CHECK(error.limit == 0x6'0000'0000u);
        CHECK(refused({.size = Bytes{~std::uint64_t{0}}}).detail == Detail::LargerThanHbm);
        const auto host =
            refused({.size = Bytes{~std::uint64_t{0}}, .location = MemoryLocation::Host});
        CHECK(host.status == Status::FailHostMemAlloc);
        CHECK(host.detail == Detail::OutOfHostMemory);
        CHECK(host.limit == 0x7FFF'FFFF'FFFF'FFFFu);
    }
    SECTION("no usage, and a usage of the other location") {
        CHECK(refused({.size = 1_B, .usage = Usage::Max}).detail == Detail::UsageInvalid);
        CHECK(refused({.size = 1_B, .usage = Usage::Cc, .location = MemoryLocation::Host}).detail ==
              Detail::UsageNotHere);
    }
    CHECK(memory.driver.calls == 0);
    CHECK(memory.empty());
}

TEST_CASE("A04: out of device memory comes with the numbers, as data and as text",
          "[dmem][allocator]") {
    OneCore memory;
    const auto held = memory.global.allocate({.size = 10_MiB, .usage = Usage::Tensor});
    REQUIRE(held);
    memory.driver.fail_nth(1, kNoMemory);
    const auto said = memory.model.allocate({.size = 13743184_B, .usage = Usage::DmaRingIo});
    REQUIRE_FALSE(said);
    const auto& error = said.error();
    CHECK(error.status == Status::Resource);
    CHECK(error.os_error == ENOMEM);
    CHECK(error.asked == 13743184);
    CHECK(error.value == 10485760);
    CHECK(error.limit == 0x6'0000'0000u);
    CHECK(error.device == 3);
    CHECK(error.core == 5);
    CHECK(error.hbm == 2);
    const auto text = describe(error);
    INFO(text);
    for (const char* part : {"13.107MB", "dma_rings_io", "10.000MB", "24.000GB", "ND 3 NC 5 HBM 2"})
        CHECK(text.find(part) != std::string::npos);
    CHECK(memory.balanced());
}

TEST_CASE("out of host memory keeps its own status", "[dmem][allocator]") {
    OneCore memory;
    memory.driver.fail_nth(1, {.status = Status::FailHostMemAlloc,
                               .detail = Detail::OutOfHostMemory,
                               .os_error = ENOMEM});
    const auto said = memory.global.allocate({.size = 1_MiB, .location = MemoryLocation::Host});
    REQUIRE_FALSE(said);
    CHECK(said.error().status == Status::FailHostMemAlloc);
    CHECK(said.error().asked == 1048576);
    CHECK(said.error().hbm == -1);
    CHECK(memory.empty());
}

TEST_CASE("a chunk that the ledger refuses is freed again", "[dmem][allocator]") {
    OneCore memory;
    const Charge full{Usage::Tensor,           MemoryLocation::Device, 2, CoreIndex{5}, 9,
                      Bytes{~std::uint64_t{0}}};
    REQUIRE(memory.ledger.add(full));
    SECTION("and nothing is left") {
        const auto said = memory.global.allocate({.size = 1_B, .usage = Usage::Tensor});
        REQUIRE_FALSE(said);
        CHECK(said.error().detail == Detail::CounterOverflow);
        CHECK(memory.driver.outstanding() == 0);
        CHECK(memory.global.lost().blocks == 0);
    }
    SECTION("or counts as lost, if the driver does not take it back") {
        test::LogLines log;
        memory.driver.fail_nth(2, {.os_error = EIO});
        CHECK_FALSE(memory.global.allocate({.size = 1_B, .usage = Usage::Tensor}));
        CHECK(memory.global.lost().charged == 4096_B);
        CHECK(memory.ledger.snapshot().lost_on_channel[2] == 4096);
        CHECK(log.lines.size() == 1);
    }
    REQUIRE(memory.ledger.remove(full));
    CHECK(memory.global.outstanding().blocks == 0);
}

TEST_CASE("a driver that answers with another chunk than was asked for is not believed",
          "[dmem][allocator]") {
    OneCore memory;
    SECTION("too small") {
        memory.driver.spoil = [](Chunk chunk) { return chunk.size = 1_B, chunk; };
    }
    SECTION("elsewhere") {
        memory.driver.spoil = [](Chunk chunk) { return chunk.hbm = 1, chunk; };
    }
    SECTION("on the host") {
        memory.driver.spoil = [](Chunk chunk) {
            return chunk.location = MemoryLocation::Host, chunk;
        };
    }
    const auto said = memory.global.allocate({.size = 100_B});
    REQUIRE_FALSE(said);
    CHECK(said.error().detail == Detail::SelfCheckFailed);
    CHECK(memory.empty());
}

TEST_CASE("E03: whichever call fails, the books balance", "[dmem][allocator]") {
    test::LogLines log;
    for (std::uint64_t nth = 1; nth <= 12; ++nth) {
        OneCore memory;
        memory.driver.fail_nth(nth, {.os_error = EIO});
        {
            std::vector<Block> blocks;
            for (int i = 0; i < 6; ++i)
                if (auto block = memory.model.allocate({.size = 5_KiB, .usage = Usage::Weight}))
                    blocks.push_back(*std::move(block));
        }
        INFO("call " << nth);
        CHECK(memory.model.outstanding().blocks == 0);
        CHECK(memory.ledger.used_by_core(CoreIndex{5}) == 0_B);
        // The six last calls are frees: what the driver kept is what is reported as lost.
        CHECK(memory.model.lost().blocks == memory.driver.outstanding());
        CHECK(memory.model.lost().blocks == (nth > 6 ? 1 : 0));
        CHECK(memory.ledger.snapshot().lost_on_channel[2] == (nth > 6 ? 8192 : 0));
    }
}

TEST_CASE("a null ledger costs nothing and stops nothing", "[dmem][allocator]") {
    test::FakeDriver driver;
    const auto ledger = std::make_shared<NullLedger>();
    Allocator<GlobalTag, test::FakeDriver, NullLedger> allocator(
        driver, HostDeviceId{0}, {}, *geometry_of(Architecture::Sunda), ledger);
    auto block = allocator.allocate({.size = 1_B});
    REQUIRE(block);
    CHECK(driver.outstanding() == 1);
    REQUIRE(allocator.free(*std::move(block)));
    CHECK(driver.outstanding() == 0);
}

TEST_CASE("driver, ledger and list agree after every one of many random operations",
          "[dmem][allocator]") {
    std::mt19937 random(GENERATE(1u, 2u, 3u));
    OneCore memory;
    std::vector<Block> held;
    for (int step = 0; step < 3000; ++step) {
        if (random() % 10 == 0) memory.driver.fail_nth(1, kNoMemory);
        if (held.empty() || random() % 2 == 0) {
            const AllocationRequest request{.size = Bytes{random() % 50000},
                                            .usage = static_cast<Usage>(random() % 23),
                                            .location = random() % 4 ? MemoryLocation::Device
                                                                     : MemoryLocation::Host,
                                            .hbm = random() % 5};
            auto block =
                random() % 2 ? memory.global.allocate(request) : memory.model.allocate(request);
            if (block) held.push_back(*std::move(block));
        } else {
            memory.driver.fail_nth(~std::uint64_t{0} / 2, {}); // frees succeed here
            std::swap(held[random() % held.size()], held.back());
            if (random() % 4 == 0)
                held.push_back(held.back());
            else
                held.pop_back();
        }
        REQUIRE(memory.balanced());
    }
    held.clear();
    CHECK(memory.empty());
}
