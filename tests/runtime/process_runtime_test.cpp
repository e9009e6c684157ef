// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include <string>

#include "neuronbook/neuronbook.hpp"
#include "support/book.hpp"
#include "support/variable.hpp"

using namespace neuronbook;
using test::Book;
using test::SimMachine;
using test::Variable;

namespace {

using Front = ProcessRuntime<Book>;

} // namespace

TEST_CASE("E16: the process front is set once, a second init fails and the first stays intact",
          "[runtime][E16]") {
    SimMachine machine;
    int opened = 0;
    const auto open = [&] {
        ++opened;
        return Book::open({.log_level = LogLevel::Quiet}, test::SimDriver(machine.port()));
    };
    CHECK(static_cast<int>(Front::get().error().status) == 13);
    Front::clear(); // before the first init: nothing
    CHECK(static_cast<int>(Front::get().error().status) == 13);

    const auto first = Front::init(open);
    REQUIRE(first);
    CHECK(*Front::get() == *first);
    const auto second = Front::init(open);
    REQUIRE_FALSE(second);
    CHECK(static_cast<int>(second.error().status) == 1);
    CHECK(describe(second.error()).find("already initialized") != std::string::npos);
    CHECK(opened == 1);
    CHECK((*Front::get())->usable());

    Front::clear();
    CHECK(machine.kernel->census() == machine.baseline);
    CHECK(static_cast<int>(Front::get().error().status) == 14);
    REQUIRE(Front::init(open));
    CHECK((*Front::get())->usable());
    (*Front::get())->close(); // by hand: the place is free again
    REQUIRE(Front::init(open));
    CHECK((*Front::get())->usable());
    Front::clear();
    CHECK(machine.kernel->census() == machine.baseline);
}

TEST_CASE("after a runtime that was closed by hand the front was up, whatever the next init does",
          "[runtime]") {
    SimMachine machine;
    struct Shape : RuntimeShape {};
    using Third = ProcessRuntime<Runtime<SimDriver, Shape>>;
    const auto open = [&](std::uint32_t core) {
        return Runtime<SimDriver, Shape>::open(
            {.visible = VisibleCores::of(LogicalCore{core}, 1), .log_level = LogLevel::Quiet},
            SimDriver(SimPort(*machine.kernel)));
    };
    REQUIRE(Third::init([&] { return open(0); }));
    (*Third::get())->close();
    REQUIRE_FALSE(Third::init([&] { return open(99); })); // takes the closed one away
    CHECK(static_cast<int>(Third::get().error().status) == 14);
}

TEST_CASE("a failed init leaves the front as it was", "[runtime]") {
    SimMachine machine;
    using Other = ProcessRuntime<Runtime<SimDriver>>;
    const auto failed = Other::init([&] {
        return Runtime<SimDriver>::open(
            {.visible = VisibleCores::of(LogicalCore{99}, 1), .log_level = LogLevel::Quiet},
            SimDriver(SimPort(*machine.kernel)));
    });
    REQUIRE_FALSE(failed);
    CHECK(failed.error().detail == Detail::CoresPastEnd);
    CHECK(static_cast<int>(Other::get().error().status) == 13);
}

TEST_CASE(
    "options come from the environment, and what is not understood is refused with both words",
    "[runtime]") {
    auto plain = RuntimeOptions::from_environment();
    REQUIRE(plain);
    CHECK_FALSE(plain->reset_cores);
    CHECK_FALSE(plain->log_level);
    {
        const Variable level("NEURON_RT_LOG_LEVEL", "WARNING");
        const Variable reset("NEURON_RT_RESET_CORES", "1");
        const Variable events("NEURON_RT_DEBUG_MEMLOG_MAX_SIZE", "1000");
        const Variable report("NEURON_RT_ENABLE_DEVICE_MEMORY_OOM_LOG", "0");
        const auto options = RuntimeOptions::from_environment();
        REQUIRE(options);
        CHECK(options->reset_cores);
        CHECK(options->log_level == LogLevel::Warn);
        CHECK(options->memory.events == 1000);
        CHECK_FALSE(options->memory.report_out_of_memory);
        CHECK(plain->memory.events == 65536);
        CHECK(plain->memory.report_out_of_memory);
    }
    const struct {
        const char* name;
        const char* value;
        const char* rule;
    } rows[] = {{"NEURON_RT_LOG_LEVEL", "loud", "(takes ERROR, WARN, INFO, DEBUG, TRACE or QUIET)"},
                {"NEURON_RT_RESET_CORES", "yes", "(takes 0 or 1)"},
                {"NEURON_RT_DEBUG_MEMLOG_MAX_SIZE", "16777217", "(takes 0 to 16777216)"},
                {"NEURON_RT_DEBUG_MEMLOG_MAX_SIZE", "-1", "(takes 0 to 16777216)"},
                {"NEURON_RT_DEBUG_MEMLOG_MAX_SIZE", "9x", "(takes 0 to 16777216)"},
                {"NEURON_RT_ENABLE_DEVICE_MEMORY_OOM_LOG", "on", "(takes 0 or 1)"},
                {"NEURON_RT_VIRTUAL_CORE_SIZE", "4", "(takes 1 or 2)"},
                {"NEURON_RT_VIRTUAL_CORE_SIZE", "", "(takes 1 or 2)"},
                {"NEURON_LOGICAL_NC_CONFIG", "0", "(takes 1 or 2)"},
                {"NEURON_LOGICAL_NC_CONFIG", "2 ", "(takes 1 or 2)"}};
    for (const auto& row : rows) {
        const Variable variable(row.name, row.value);
        const auto refused = RuntimeOptions::from_environment();
        REQUIRE_FALSE(refused);
        CHECK(static_cast<int>(refused.error().status) == 2);
        CHECK(refused.error().detail == Detail::BadOption);
        const std::string text = describe(refused.error());
        INFO(text);
        CHECK(text.find(row.name) != std::string::npos);
        CHECK(text.find(row.value) != std::string::npos);
        CHECK(text.find(row.rule) != std::string::npos);
    }
}
