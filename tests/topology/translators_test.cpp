// SPDX-License-Identifier: Apache-2.0
// Translating between the numbers of cores takes nothing from the heap.
#include <array>

#include "neuronbook/topology/core_map.hpp"
#include "neuronbook/topology/logical_cores.hpp"
#include "neuronbook/topology/present_cores.hpp"
#include "support/catch.hpp"
#include "support/heap.hpp"

using namespace neuronbook;

TEST_CASE("no translator allocates, misses included", "[topology][translators]") {
    const DeviceList devices{HostDeviceId{0}, HostDeviceId{2}};
    const LncSize lnc = *LncSize::make(2, 2, 8);
    const Geometry& geometry = *geometry_of(Architecture::Cayman);
    const PresentCores present(devices, geometry, lnc);
    const CoreMap map(geometry, std::nullopt);
    LogicalCores<8> cores;
    cores.start(lnc);
    const std::array pair{PhysicalCore{DeviceIndex{0}, CoreIndex{4}},
                          PhysicalCore{DeviceIndex{0}, CoreIndex{5}}};
    std::string grown(100, 'x'); // the counter does count
    CHECK(test::heap.allocations != 0);

    const auto before = test::heap.allocations.load();
    bool good = cores.add(LogicalCore{0}, FabricCore{0}, pair).has_value();
    good = good && *cores.logical_of(UserCore{5}) == LogicalCore{2};
    good = good && *cores.core_of(LogicalCore{2}, 1) == UserCore{5};
    good = good && *cores.logical_count(5) == 3 && *cores.physical_count(3) == 6;
    good = good && cores.at(LogicalIndex{0}) && !cores.at(LogicalIndex{1});
    good = good && cores.find(LogicalCore{0}) && !cores.find(LogicalCore{1});
    good = good && cores.find(FabricCore{0}) && cores.find(pair[1]);
    const auto& record = cores.owned()[0];
    good = good && *record.place_of(pair[1]) == 1 && !record.place_of({});
    good = good && *record.peer(1) == pair[1] && !record.peer(2);
    good = good && *record.drives_collectives(pair[0]);
    good = good && map.host_core(UserCore{17}) && !map.host_core(UserCore{512});
    good = good && map.user_core({HostDeviceId{2}, CoreIndex{1}});
    good = good && present.check({LogicalCore{0}, 4}, "0-3");
    good = good && !present.check({LogicalCore{0}, 6}, "0-5");
    good = good && present.lowest_run(CoreSet{}.set(), 4, 64) && present.total() == 8;
    good = good && parse_visible_cores("0,1,2-7") && !parse_visible_cores("7,3");
    CHECK(test::heap.allocations == before);
    CHECK(good);
}
