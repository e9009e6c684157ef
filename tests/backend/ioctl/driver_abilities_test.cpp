// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include <memory>
#include <string>
#include <string_view>

#include "neuronbook/backend/ioctl/driver_abilities.hpp"
#include "support/old_driver_port.hpp"
#include "support/sim_machine.hpp"

using namespace neuronbook;
using test::OldDriver;
using test::OldDriverPort;

namespace {

/// d dma-buf, z zero-copy, 6 chunks above 4 GiB, a asynchronous copy, l aligned allocation,
/// s contiguous scratchpad, p allocation with address. An ability that is absent must say why.
std::string letters(const Abilities& can) {
    std::string text;
    const auto add = [&text](char letter, const Ability& ability) {
        CHECK(ability.reason.empty() == ability.available);
        text += ability.available ? letter : '-';
    };
    add('d', can.dmabuf);
    add('z', can.zero_copy);
    add('6', can.chunks_above_4gib);
    add('a', can.asynchronous_copy);
    add('l', can.aligned_allocation);
    add('s', can.contiguous_scratchpad);
    add('p', can.allocation_with_address);
    return text;
}

} // namespace

TEST_CASE("F09: one question tells what a driver can do, release by release and generation by "
          "generation",
          "[backend][driver][F09]") {
    const struct {
        const char* instance;
        const char* release;
        const char* can;
    } rows[] = {
        {"trn1.2xlarge", "2.24.7", "d-6als-"},  {"inf2.xlarge", "2.24.7", "d-6als-"},
        {"trn2.3xlarge", "2.24.7", "d-6als-"},  {"trn1.2xlarge", "2.26.5", "d-6als-"},
        {"trn2.48xlarge", "2.26.5", "dz6als-"}, {"trn1.2xlarge", "2.30.2", "d-6alsp"},
        {"inf2.xlarge", "2.30.2", "d-6alsp"},   {"trn2.3xlarge", "2.30.2", "dz6alsp"},
    };
    for (const auto& row : rows) {
        INFO(row.instance << " under " << row.release);
        test::SimMachine machine(row.instance, row.release);
        test::SimDriver driver(machine.port());
        CHECK(letters(driver.abilities()) == "-------");
        CHECK(driver.abilities().dmabuf.reason == "there is no connection to the driver");
        REQUIRE(driver.connect());
        const auto calls = machine.counts.total();
        CHECK(letters(driver.abilities()) == row.can);
        CHECK(machine.counts.total() == calls);
        driver.disconnect();
        CHECK(letters(driver.abilities()) == "-------");
    }
}

TEST_CASE("F09: older drivers can less, and each lack has its release", "[backend][driver][F09]") {
    const struct {
        const char* version;
        std::uint64_t features;
        const char* can;
    } rows[] = {
        {"2.2.13.0", 0, "-------"},     {"2.5.7.0", 0, "----l--"},
        {"2.12.11.0", 0x7, "d--al--"},  {"2.17.17.0", 0x1F, "d--al--"},
        {"2.20.28.0", 0x7F, "d-6al--"}, {"2.24.7.0", 0xFF, "d-6als-"},
    };
    for (const auto& row : rows) {
        INFO(row.version);
        SimOptions options{.instance = "trn1.2xlarge", .driver_version = "2.24.7"};
        options.without.features = 0xFF & ~row.features;
        const auto kernel = SimKernel::make(options);
        REQUIRE(kernel);
        auto old = std::make_shared<OldDriver>();
        old->version = row.version;
        IoctlDriver driver(OldDriverPort(**kernel, old));
        REQUIRE(driver.connect());
        CHECK(letters(driver.abilities()) == row.can);
    }
}

TEST_CASE("zero-copy is what the engines really do, not what the feature bit says",
          "[backend][driver][F09]") {
    const auto zero_copy = [](Architecture architecture, std::uint64_t features) {
        return detail::abilities_of(
                   {.version = {2, 29, 0}, .architecture = architecture, .features = features})
            .zero_copy;
    };
    CHECK(zero_copy(Architecture::Cayman, 0x1FF).available);
    CHECK(zero_copy(Architecture::Mariana, 0x1FF).available);
    CHECK_FALSE(zero_copy(Architecture::Mariana, 0xFF).available);
    const auto trn1 = zero_copy(Architecture::Sunda, 0x7FF);
    CHECK_FALSE(trn1.available);
    CHECK(trn1.reason.find("Trn1") != std::string_view::npos);
    // a module that was told to try: from 2.29 on bit 11 says so
    CHECK(zero_copy(Architecture::Sunda, 0xFFF).available);
    CHECK_FALSE(zero_copy(Architecture::Sunda, 0xEFF).available);
}

TEST_CASE("an ability that is absent is refused by its operation, too", "[backend][driver]") {
    SimOptions options{.instance = "trn1.2xlarge", .driver_version = "2.24.7"};
    options.without.features = 0xFF;
    const auto kernel = SimKernel::make(options);
    REQUIRE(kernel);
    auto old = std::make_shared<OldDriver>();
    old->version = "2.2.13.0";
    IoctlDriver driver(OldDriverPort(**kernel, old));
    REQUIRE(driver.connect());
    REQUIRE(driver.open_device(HostDeviceId{0}));
    old->asked.clear();
    alignas(4096) static char page[4096];
    const auto shared = driver.share(HostDeviceId{0}, page, Bytes{4096});
    REQUIRE_FALSE(shared);
    CHECK(shared.error().detail == Detail::NotOnThisDriver);
    const ChunkRequest asks[] = {{.size = Bytes{4096}, .alignment = Bytes{8192}, .category = 9},
                                 {.size = Bytes{4096}, .category = 19}};
    for (const auto& ask : asks) {
        const auto refused = driver.allocate(HostDeviceId{0}, ask);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().detail == Detail::NotOnThisDriver);
        CHECK(static_cast<int>(refused.error().status) == 1);
        CHECK(refused.error().asked == 4096);
    }
    CHECK(old->asked.empty());
}
