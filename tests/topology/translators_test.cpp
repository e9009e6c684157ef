// SPDX-License-Identifier: Apache-2.0
// Translating between the numbers of cores takes nothing from the heap.
#include <array>
#include <atomic>
#include <cstdlib>
#include <new>

#include "neuronbook/topology/core_map.hpp"
#include "neuronbook/topology/logical_cores.hpp"
#include "neuronbook/topology/present_cores.hpp"
#include "support/catch.hpp"

using namespace neuronbook;

namespace {

std::atomic<int> allocations{0};

void* counted(std::size_t size) {
    allocations.fetch_add(1, std::memory_order_relaxed);
    if (void* bytes = std::malloc(size != 0 ? size : 1)) return bytes;
    std::abort(); // tests of this executable never run out of memory
}

} // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return counted(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return counted(size); }
void operator delete(void* bytes, const std::nothrow_t&) noexcept { std::free(bytes); }
void operator delete[](void* bytes, const std::nothrow_t&) noexcept { std::free(bytes); }
void operator delete(void* bytes) noexcept { std::free(bytes); }
void operator delete(void* bytes, std::size_t) noexcept { std::free(bytes); }
void operator delete[](void* bytes) noexcept { std::free(bytes); }
void operator delete[](void* bytes, std::size_t) noexcept { std::free(bytes); }

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
    CHECK(allocations != 0);

    const int before = allocations;
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
    CHECK(allocations == before);
    CHECK(good);
}
