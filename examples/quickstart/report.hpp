// SPDX-License-Identifier: Apache-2.0
// What the quickstart prints of a machine and of its memory.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "neuronbook/neuronbook.hpp"
#include "outstanding.hpp"

namespace quickstart {

namespace nb = neuronbook;

/// Devices with their place on the bus and the fabric, cores and HBMs.
template <class Runtime>
void print_machine(const Runtime& runtime) {
    const auto& facts = runtime.facts();
    const auto* geometry = nb::geometry_of(facts.architecture);
    std::printf("driver %u.%u.%u, %.*s, features 0x%llx: %u devices, %u cores\n",
                facts.version.major, facts.version.minor, facts.version.patch,
                static_cast<int>(geometry->name.size()), geometry->name.data(),
                static_cast<unsigned long long>(facts.features), runtime.tree().device_count(),
                runtime.tree().core_count());
    runtime.tree().for_each_device([&](const auto& device) {
        std::printf("  ND%2u  routing id %2u  bus %04x:%02x:%02x.%x  cores", device.host().value(),
                    device.routing().value(), device.bus().domain, device.bus().bus,
                    device.bus().slot, device.bus().function);
        for (std::uint32_t c = 0; c < geometry->cores; ++c)
            if (device.owns(nb::CoreIndex{c})) std::printf(" %u", c);
        std::printf("  HBM %u x %s\n", geometry->hbms, nb::human(geometry->hbm_size).c_str());
    });
}

/// The two lines of a column's heading: the words before the last, and the last.
inline std::array<std::string_view, 2> heading(std::string_view name) {
    const auto space = name.rfind(' ');
    if (space == std::string_view::npos) return {"", name};
    return {name.substr(0, space), name.substr(space + 1)};
}

/// Rows of the cores that hold anything, in the columns users of the runtime know.
template <class Runtime>
void print_usage(const Runtime& runtime) {
    const auto cell = [](std::string_view text) {
        std::printf(" %*.*s", 12, static_cast<int>(text.size()), text.data());
    };
    for (int line = 0; line < 2; ++line) {
        std::printf("%-10s", line == 0 ? "" : "Core");
        for (const char* name : {"TOTAL"}) cell(line == 0 ? "" : name);
        for (std::size_t i = 0; i < nb::kAggregates; ++i)
            cell(heading(nb::name_of(static_cast<nb::Aggregate>(i)))[line]);
        for (const char* name : {"Used", "Limit"}) cell(line == 0 ? "" : name);
        std::printf("\n");
    }
    runtime.tree().for_each_core([&](const auto& core) {
        const auto memory = runtime.memory(core.id());
        if (!memory || memory->used == nb::Bytes{0}) return;
        const auto* device = runtime.tree().find(core.id().device);
        std::printf("ND%2u NC%2u ", device->host().value(), core.id().core.value());
        const auto ledger = runtime.ledger(core.id().device)->snapshot();
        cell(nb::human(ledger.total(core.id().core)));
        for (const nb::Bytes bytes : ledger.aggregates(core.id().core)) cell(nb::human(bytes));
        cell(nb::human(memory->used));
        cell(nb::human(memory->limit));
        std::printf("\n");
    });
}

/// One model: where it lies, how large it is and whether its bytes came back.
template <class Model>
std::string describe_model(const Model& model, bool same) {
    char place[96];
    std::snprintf(place, sizeof place, "  ND%2u NC%2u  0x%-12llx %10s  checksum %016llx %s  ",
                  model.weights().device().value(), model.core().core.value(),
                  static_cast<unsigned long long>(model.weights().address().value()),
                  nb::human(nb::Bytes{model.size()}).c_str(),
                  static_cast<unsigned long long>(model.checksum()), same ? "same" : "DIFFERENT");
    return place + model.path();
}

inline void print_holding(const char* when, const Holding& holding) {
    std::printf("%s: %llu bytes in the ledger, %llu bytes in the driver's list\n", when,
                static_cast<unsigned long long>(holding.booked),
                static_cast<unsigned long long>(holding.listed));
}

} // namespace quickstart
