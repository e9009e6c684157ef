// SPDX-License-Identifier: Apache-2.0
#include "neuronbook/backend/sim/device/datastore_counters.hpp"

#include <cstring>
#include <string_view>
#include <vector>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

std::size_t named(std::string_view directory) {
    for (std::size_t i = 0; i < sim::kDatastoreCounters.size(); ++i)
        if (sim::kDatastoreCounters[i].directory == directory) return i;
    FAIL("no such counter");
    return 0;
}

void put(std::byte* pages, std::size_t at, std::uint64_t value) {
    std::memcpy(pages + at, &value, sizeof value);
}

} // namespace

TEST_CASE("counters of a core are in two parts for the first four, in one for the rest",
          "[sim][datastore]") {
    std::vector<std::byte> pages(262144);
    put(pages.data(), 256 + 8, 3);                         // core 0, inferences completed
    put(pages.data(), 256 + 3 * 248 + 29 * 8, 50);         // core 3, multiplications
    put(pages.data(), 55936 + 2 * 512 + (40 - 31) * 8, 7); // core 2, last of the newer errors
    put(pages.data(), 57984 + 3 * 768 + 27 * 8, 9);        // core 7, loads
    sim::PublishedCounters counters;
    counters.add(pages.data());
    put(pages.data(), 256 + 8, 1);
    counters.add(pages.data());
    CHECK(counters.of(0, named("status/success")).total == 4);
    CHECK(counters.of(0, named("status/success")).present == 1);
    CHECK(counters.of(1, named("status/success")).total == 0);
    CHECK(counters.of(3, named("other_info/flop_count")).present == 100);
    CHECK(counters.of(2, named("status/hw_repairable_hbm_ue_error")).total == 14);
    CHECK(counters.of(7, named("other_info/model_load_count")).total == 18);
}

TEST_CASE("up to 2.28 counters are added when a datastore is given back, later while it is held",
          "[sim][datastore]") {
    const bool newest = GENERATE(false, true);
    SimOptions options;
    options.driver_version = newest ? "2.30.2" : "2.26.5";
    sim::State state(*sim::MachineSpec::make(options));
    auto& device = state.devices[0];
    const Caller caller{5, false};
    const auto file = sim::open_file(state, 0, 2, caller);
    auto* entry = device.datastores.take(5);
    REQUIRE(entry != nullptr);
    put(device.memory.at(entry->pa, 262144), 256 + 8, 3);
    const auto total = [&] {
        return sim::published(device, state.machine, 0, named("status/success")).total;
    };
    CHECK(total() == (newest ? 3 : 0));
    sim::flush_file(state, *state.files.find(file), caller);
    CHECK(total() == (newest ? 0 : 3));
}
