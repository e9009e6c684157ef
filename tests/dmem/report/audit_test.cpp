// SPDX-License-Identifier: Apache-2.0
#include "neuronbook/dmem/report/audit.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "neuronbook/dmem/allocator.hpp"
#include "neuronbook/dmem/report/audit_text.hpp"
#include "support/catch.hpp"
#include "support/fake_driver.hpp"
#include "support/sim_machine.hpp"

using namespace neuronbook;
using namespace neuronbook::literals;
using test::SimDriver;
using test::SimMachine;

namespace {

constexpr HostDeviceId kDevice{0};

/// Two cores of a device, with a ledger.
struct Memory {
    explicit Memory(const char* instance = "trn1.2xlarge", const char* version = "2.26.5",
                    Architecture architecture = Architecture::Sunda)
        : machine(instance, version), driver(test::open_driver(machine)),
          geometry(*geometry_of(architecture)),
          ledger(std::make_shared<Ledger>(kDevice, MemoryOptions{}, geometry.cores_per_hbm)),
          first(driver, kDevice, {DeviceIndex{0}, CoreIndex{0}}, geometry, ledger),
          last(driver, kDevice, {DeviceIndex{0}, CoreIndex{geometry.cores - 1}}, geometry, ledger) {
    }
    [[nodiscard]] Audit audited() { return audited(driver); }
    template <class D>
    [[nodiscard]] Audit audited(D& asked) {
        const std::vector ours{ledger->usage()};
        return audit(asked, ours, kDevice, geometry);
    }

    SimMachine machine;
    SimDriver driver;
    const Geometry& geometry;
    std::shared_ptr<Ledger> ledger;
    Allocator<GlobalTag, SimDriver> first;
    Allocator<ModelTag, SimDriver> last;
};

std::vector<Block> allocate_some(Memory& memory, int count) {
    std::mt19937 random(7);
    std::vector<Block> blocks;
    for (int i = 0; i < count; ++i) {
        const AllocationRequest ask{.size = Bytes{1 + random() % 3000000},
                                    .usage = static_cast<Usage>(random() % 22),
                                    .location = random() % 4 ? MemoryLocation::Device
                                                             : MemoryLocation::Host};
        auto block = random() % 2 ? memory.first.allocate(ask) : memory.last.allocate(ask);
        if (block) blocks.push_back(*std::move(block));
        if (!blocks.empty() && random() % 3 == 0) blocks.erase(blocks.begin());
    }
    return blocks;
}

std::string constants_file(std::uint32_t core) {
    return "/sys/devices/virtual/neuron_device/neuron0/neuron_core" + std::to_string(core) +
           "/stats/memory_usage/device_mem/constants/total";
}

/// A driver that keeps its books to itself.
struct Silent {
    int unused = 0;
};
static_assert(!AuditOps<Silent> && !CounterOps<Silent> && !ProcessOps<Silent>);

} // namespace

TEST_CASE("three books agree after any allocations, and the driver's own is named",
          "[dmem][audit]") {
    const auto [instance, architecture] = GENERATE(table<const char*, Architecture>(
        {{"trn1.2xlarge", Architecture::Sunda}, {"trn2.3xlarge", Architecture::Cayman}}));
    Memory memory(instance, GENERATE("2.24.7", "2.30.2"), architecture);
    const auto blocks = allocate_some(memory, 300);
    REQUIRE(blocks.size() > 50);
    std::vector<std::byte> bytes(100000);
    REQUIRE(memory.first.write(*memory.first.allocate({.size = 200000_B}), 0_B, bytes));
    const auto said = memory.audited();
    INFO(describe(said));
    CHECK(said.agrees());
    CHECK(said.unread.empty());
    CHECK(said.alone == true);
    CHECK(said.others == 0_B);
    CHECK(said.driver_own.carve_out->count() == 0x1000000 * memory.geometry.hbms);
    CHECK(said.driver_own.counted == said.driver_own.listed);
    REQUIRE(said.driver_own.on_host);
    CHECK(said.driver_own.on_host->count() > 4096); // rings: there before the first allocation
}

TEST_CASE("a chunk behind the runtime's back is named by HBM, core and category, and ours is wrong",
          "[dmem][audit]") {
    Memory memory;
    const auto kept = *memory.last.allocate({.size = 5000_B, .usage = Usage::Weight});
    const auto hidden = memory.driver.allocate(
        kDevice, {.size = 3_MiB, .hbm = 1, .core = CoreIndex{1}, .category = 10});
    REQUIRE(hidden);
    const auto said = memory.audited();
    REQUIRE(said.findings.size() == 3);
    const auto& [hbm, core, category] =
        std::tie(said.findings[0], said.findings[1], said.findings[2]);
    CHECK(hbm.place.hbm == 1u);
    CHECK(hbm.ours == 8192_B);
    CHECK(hbm.listed == Bytes{8192 + 3145728});
    CHECK_FALSE(hbm.counted);
    CHECK(hbm.suspect() == AuditedBook::Unknown);
    CHECK(core.place.core == CoreIndex{1});
    CHECK(core.place.category == 10u);
    CHECK(core.counted == Bytes{8192 + 3145728});
    CHECK(category.suspect() == AuditedBook::Ours);
    CHECK(describe(kDevice, category) ==
          "ND 0 category 10 (constants): 8192 bytes in our ledger, 3153920 in the driver's list, "
          "3153920 in the driver's counters; two disagree with our ledger");
    CHECK(describe(kDevice, core) == "ND 0 NC 1 category 10 (constants): 8192 bytes in our ledger, "
                                     "3153920 in the driver's counters");
    REQUIRE(memory.driver.free(kDevice, *hidden));
    CHECK(memory.audited().agrees());
}

TEST_CASE("a charge that no chunk stands behind is named, of device and of host memory",
          "[dmem][audit]") {
    Memory memory;
    REQUIRE(
        memory.ledger->add({.usage = Usage::Cc, .hbm = 0, .core = CoreIndex{0}, .bytes = 4_KiB}));
    const auto said = memory.audited();
    REQUIRE(said.findings.size() == 3);
    CHECK(said.findings[0].place.hbm == 0u);
    CHECK(said.findings[1].place.category == 14u);
    CHECK(said.findings[2].suspect() == AuditedBook::Ours);
    CHECK(said.findings[2].listed == 0_B);
    CHECK(describe(said).find("the books disagree") != std::string::npos);
    REQUIRE(memory.ledger->remove({.usage = Usage::Cc, .core = CoreIndex{0}, .bytes = 4_KiB}));
    REQUIRE(memory.ledger->add({.usage = Usage::DmaRing,
                                .location = MemoryLocation::Host,
                                .category = 17,
                                .bytes = 4_KiB}));
    const auto host = memory.audited();
    REQUIRE(host.findings.size() == 1);
    CHECK(
        describe(kDevice, host.findings[0]) ==
        "ND 0 host category 17 (dma_rings): 4096 bytes in our ledger, 0 in the driver's counters");
}

TEST_CASE(
    "G08: a counter that was written to is named; one that is no number is not read, not zero",
    "[dmem][audit][G08]") {
    Memory memory;
    auto block = *memory.last.allocate({.size = 1_MiB, .usage = Usage::Weight});
    REQUIRE(memory.machine.kernel->write_file(constants_file(1), "1") == 1);
    const auto zeroed = memory.audited();
    REQUIRE(zeroed.findings.size() == 2);
    CHECK(zeroed.findings[0].place.core == CoreIndex{1});
    CHECK(zeroed.findings[0].counted == 0_B);
    CHECK(zeroed.findings[1].suspect() == AuditedBook::Counters);
    REQUIRE(memory.last.free(std::move(block))); // now it is below zero
    const auto unread = memory.audited();
    CHECK(unread.agrees());
    REQUIRE(unread.unread.size() == 1);
    CHECK(unread.unread[0].category == 10u);
    CHECK(describe(unread).find("ND 0 NC 1 category 10 (constants): not read\n") !=
          std::string::npos);
}

TEST_CASE("beside other processes the driver may have more than we booked, but never less",
          "[dmem][audit]") {
    Memory memory;
    SimDriver other(memory.machine.port(200));
    REQUIRE(other.connect());
    REQUIRE(other.open_device(kDevice));
    const auto theirs = other.allocate(kDevice, {.size = 2_MiB, .hbm = 1, .category = 19});
    REQUIRE(theirs);
    const auto said = memory.audited();
    INFO(describe(said));
    CHECK(said.alone == false);
    CHECK(said.agrees());
    CHECK(said.others == 2_MiB);
    REQUIRE(memory.ledger->add({.usage = Usage::Cc, .hbm = 1, .bytes = 4_MiB}));
    const auto wrong = memory.audited();
    REQUIRE(wrong.findings.size() == 3);
    CHECK(wrong.findings[0].place.hbm == 1u);
    other.disconnect();
}

TEST_CASE("bytes lost to a refused free are still the driver's, and no disagreement",
          "[dmem][audit]") {
    Memory memory;
    const auto gone = memory.driver.allocate(kDevice, {.size = 1_MiB, .hbm = 0, .category = 9});
    REQUIRE(gone);
    memory.ledger->lose({.usage = Usage::Tensor, .hbm = 0, .bytes = 1_MiB});
    INFO(describe(memory.audited()));
    CHECK(memory.audited().agrees());
}

TEST_CASE("what a driver cannot tell is listed as not read, and never compared", "[dmem][audit]") {
    Memory memory;
    const auto block = *memory.last.allocate({.size = 1_MiB, .usage = Usage::Weight});
    Silent silent;
    const auto said = memory.audited(silent);
    CHECK(said.agrees());
    CHECK(said.unread.size() == 2 + 2 * 11 + 7);
    CHECK_FALSE(said.alone);
    CHECK_FALSE(said.driver_own.counted);
    CHECK(describe(said).find("counted unknown") != std::string::npos);
}

TEST_CASE("where requests have no category, the sums of all are compared", "[dmem][audit]") {
    DeviceUsage usage{.device = kDevice};
    REQUIRE(usage.counters.on_channel.size() == 4);
    usage.counters.on_channel[0] = usage.counters.by_core[0][6] = 8192;
    usage.counters.by_core[0][12] = usage.counters.on_host[2] = 0;
    const Geometry& geometry = *geometry_of(Architecture::Sunda);
    AuditEvidence evidence{.device = kDevice, .alone = true};
    evidence.lists[0] = {{DeviceAddress{0}, 16_MiB, 13}, {DeviceAddress{0x1000000}, 8192_B, 7}};
    evidence.lists[1].emplace();
    CHECK(compare_books({&usage, 1}, evidence, geometry).agrees());
    evidence.lists[0]->push_back({DeviceAddress{0x1002000}, 4096_B, 7});
    const auto said = compare_books({&usage, 1}, evidence, geometry);
    REQUIRE(said.findings.size() == 2);
    CHECK(said.findings[1].place.category == 7u);
    CHECK(said.findings[1].listed == 12288_B);
}
