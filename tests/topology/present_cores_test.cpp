// SPDX-License-Identifier: Apache-2.0
#include "neuronbook/topology/present_cores.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "neuronbook/base/describe.hpp"
#include "support/catch.hpp"

using namespace neuronbook;

namespace {

PresentCores present(const std::vector<std::uint32_t>& devices, std::uint32_t lnc = 2) {
    DeviceList list;
    for (const auto device : devices) list.push_back(HostDeviceId{device});
    return {list, *geometry_of(Architecture::Cayman), *LncSize::make(lnc, 2, 8)};
}

constexpr LogicalRange range(std::uint32_t first, std::uint32_t count) {
    return {LogicalCore{first}, count};
}

/// Users [first, end).
CoreSet users(std::uint32_t first, std::uint32_t end) {
    CoreSet set;
    for (auto u = first; u < end; ++u) set.set(u);
    return set;
}

std::vector<LogicalRange> segments(const PresentCores& cores) {
    std::vector<LogicalRange> found;
    cores.for_each_segment([&](const LogicalRange& segment) { found.push_back(segment); });
    return found;
}

} // namespace

TEST_CASE("cores keep the numbers of their host devices, whichever are missing",
          "[topology][present]") {
    const auto cores = present({1, 2, 5});
    CHECK(cores.total() == 12);
    CHECK(cores.begin() == 4);
    CHECK(cores.end() == 24);
    CHECK(cores.per_device() == 4);
    CHECK(cores.device_of(LogicalCore{23}) == HostDeviceId{5});
    CHECK(cores.place_of(LogicalCore{23}) == 3);
    CHECK_FALSE(cores.has(LogicalCore{3}));
    CHECK(cores.has(LogicalCore{4}));
    CHECK_FALSE(cores.has(LogicalCore{12}));
    CHECK_FALSE(cores.has(LogicalCore{24}));
    CHECK(segments(cores) == std::vector{range(4, 8), range(20, 4)});
    CHECK(present({1, 2, 5}, 1).total() == 24);
    CHECK(segments(present({})).empty());
    CHECK(present({}).total() == 0);
    CHECK(present({}).end() == 0);
    CHECK(segments(present({0, 63})) == std::vector{range(0, 4), range(252, 4)});
}

TEST_CASE("a run over a missing device is refused naming it, one past the end with the bound",
          "[topology][present]") {
    const auto cores = present({1, 2, 5});
    CHECK(cores.check(range(4, 8), "4-11"));
    CHECK(cores.check(range(20, 4), "20-23"));
    const auto gap = cores.check(range(10, 11), "10-20");
    REQUIRE_FALSE(gap);
    CHECK(gap.error().detail == Detail::MissingDevice);
    CHECK(gap.error().device == 3);
    CHECK(
        describe(gap.error()) ==
        "choose cores: '10-20' names cores of device 3, which is not here: the cores of a process "
        "must be on devices that it sees (INVALID, 2)");
    CHECK(cores.check(range(0, 5), "0-4").error().device == 0);
    const auto past = cores.check(range(23, 2), "23,24");
    REQUIRE_FALSE(past);
    CHECK(describe(past.error()) == "choose cores: '23,24' goes up to logical core 24: ids must be "
                                    "below 24 here (logical core size 2) (INVALID, 2)");
    CHECK(cores.check(range(999'999'999, 999'999'999), "").error().detail == Detail::CoresPastEnd);
    CHECK(cores.check(range(4, 0), "").error().detail == Detail::CoreRangeInvalid);
    CHECK(present({}).check(range(0, 1), "0").error().limit == 0);
}

TEST_CASE("a run of any cores is the lowest of whole logical cores on present devices",
          "[topology][present]") {
    const auto cores = present({0, 1, 3});
    const auto lowest = [&](const CoreSet& free, std::uint32_t count, std::uint32_t most = 64) {
        return cores.lowest_run(free, count, most).value_or(range(999, 0));
    };
    const auto all = users(0, 512);
    CHECK(lowest(all, 1) == range(0, 1));
    CHECK(lowest(all, 8) == range(0, 8));
    CHECK(lowest(all, 9) == range(999, 0)); // device 2 is missing
    CHECK(lowest(users(1, 8), 1) == range(1, 1));
    CHECK(lowest(users(1, 8), 3) == range(1, 3));
    CHECK(lowest(users(1, 2) | users(6, 16), 2) == range(3, 2));
    CHECK(lowest(users(8, 64), 4, 1) == range(4, 4));
    CHECK(lowest(users(6, 64), 4, 1) == range(4, 4)); // 3-6 would be on two devices
    CHECK(lowest(users(6, 64), 4, 2) == range(3, 4));
    CHECK(lowest(users(16, 24), 1) == range(999, 0));
    CHECK(lowest(CoreSet{}, 1) == range(999, 0));
    CHECK(cores.longest_run(all, 64) == 8);
    CHECK(cores.longest_run(users(2, 9), 64) == 3);
    CHECK(cores.longest_run(all, 1) == 4);
    CHECK(cores.longest_run(users(2, 9), 1) == 3);
    CHECK(cores.longest_run(users(6, 64), 1) == 4); // 3-7: one of them is alone on its device
    CHECK(cores.longest_run(all, 0) == 0);
    CHECK(cores.count_in(users(1, 32), range(0, 16)) == 15);
    CHECK(cores.devices_of(range(3, 2)) == 2);
    CHECK(cores.devices_of(range(3, 0)) == 0);
}
