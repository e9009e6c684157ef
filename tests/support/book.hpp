// SPDX-License-Identifier: Apache-2.0
//
// A runtime over a simulated machine, and short words for what its tests say all the time.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "neuronbook/neuronbook.hpp"
#include "support/catch.hpp"
#include "support/sim_machine.hpp"

namespace neuronbook::test {

using Book = Runtime<SimDriver>;

/// Errors are expected where this is used.
inline const RuntimeOptions kQuiet{.log_level = LogLevel::Quiet};

/// The logical cores from `first` on.
inline RuntimeOptions quiet_cores(std::uint32_t first, std::uint32_t count) {
    RuntimeOptions options = kQuiet;
    options.visible = VisibleCores::of(LogicalCore{first}, count);
    return options;
}

/// Any free logical cores.
inline RuntimeOptions quiet_count(std::uint32_t count) {
    RuntimeOptions options = kQuiet;
    options.core_count = count;
    return options;
}

inline RuntimeOptions with_lnc(std::uint32_t size, RuntimeOptions options = kQuiet) {
    options.lnc_size = size;
    return options;
}

/// What the environment asks for.
inline RuntimeOptions environment() {
    auto options = RuntimeOptions::from_environment();
    REQUIRE(options);
    options->log_level = LogLevel::Quiet;
    return *options;
}

inline std::unique_ptr<Book> up(SimMachine& machine, const RuntimeOptions& options = kQuiet,
                                std::int32_t pid = 100) {
    auto book = Book::open(options, SimDriver(machine.port(pid)));
    INFO((book ? "" : describe(book.error())));
    REQUIRE(book);
    return *std::move(book);
}

inline PhysicalCore core(std::uint32_t device, std::uint32_t index) {
    return {DeviceIndex{device}, CoreIndex{index}};
}

} // namespace neuronbook::test
