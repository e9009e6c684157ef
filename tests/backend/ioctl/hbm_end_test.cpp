// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include "neuronbook/backend/ioctl/driver_rules.hpp"
#include "support/sim_machine.hpp"

using namespace neuronbook;

TEST_CASE("B09: a mapping may end with its HBM from 2.29 on, before it ends a page earlier, on "
          "every architecture and HBM",
          "[backend][driver][B09]") {
    const struct {
        Architecture architecture;
        std::uint32_t hbm;
        std::uint64_t end;
    } rows[] = {
        {Architecture::Sunda, 0, 0x4'0000'0000},     {Architecture::Sunda, 1, 0x14'0000'0000},
        {Architecture::Cayman, 0, 0x6'0000'0000},    {Architecture::Cayman, 1, 0x46'0000'0000},
        {Architecture::Cayman, 2, 0x8006'0000'0000}, {Architecture::Cayman, 3, 0x8046'0000'0000},
        {Architecture::Mariana, 0, 0x9'0000'0000},   {Architecture::Mariana, 3, 0x8049'0000'0000},
    };
    for (const auto& row : rows) {
        const auto& geometry = *geometry_of(row.architecture);
        const auto check = [&](DriverVersion version, std::uint64_t start, std::uint64_t size) {
            const Chunk chunk{.address = DeviceAddress{start}, .size = Bytes{size}, .hbm = row.hbm};
            return detail::check_mappable(geometry, version, chunk);
        };
        INFO("end " << row.end);
        for (const DriverVersion old : {DriverVersion{2, 24, 7}, {2, 26, 5}, {2, 28, 0}}) {
            CHECK(check(old, row.end - 8192, 4096));
            for (const std::uint64_t size : {4096u, 1u << 20}) {
                const auto refused = check(old, row.end - size, size);
                REQUIRE_FALSE(refused);
                CHECK(static_cast<int>(refused.error().status) == 2);
                CHECK(refused.error().detail == Detail::TopOfHbmNotMappable);
                CHECK(refused.error().value == row.end - size);
                CHECK(refused.error().limit == row.end);
            }
            CHECK_FALSE(check(old, row.end - 4096, 8192));
        }
        for (const DriverVersion fixed : {DriverVersion{2, 29, 0}, {2, 30, 2}})
            CHECK(check(fixed, row.end - 4096, 4096));
    }
}

TEST_CASE("B09: 2.30 maps up to the last byte and not one more", "[backend][driver][B09]") {
    test::SimMachine machine("trn2.3xlarge", "2.30.2");
    auto driver = test::open_driver(machine);
    Chunk last;
    while (last.address.value() + last.size.count() != 0x6'0000'0000) {
        const auto next =
            driver.allocate(HostDeviceId{0}, {.size = Bytes{512 << 10}, .category = 9});
        REQUIRE(next);
        last = *next;
    }
    const auto mapped = driver.map(HostDeviceId{0}, last);
    REQUIRE(mapped);
    CHECK(driver.unmap(*mapped, last));
    auto longer = last;
    longer.size = Bytes{last.size.count() + 1};
    CHECK_FALSE(driver.map(HostDeviceId{0}, longer));
}
