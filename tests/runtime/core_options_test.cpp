// SPDX-License-Identifier: Apache-2.0
// What users write about cores, from the environment to the cores of a runtime.
#include "support/catch.hpp"

#include <string>

#include "neuronbook/neuronbook.hpp"
#include "support/book.hpp"
#include "support/log_lines.hpp"
#include "support/variable.hpp"

using namespace neuronbook;
using test::Book;
using test::core;
using test::environment;
using test::kQuiet;
using test::SimMachine;
using test::up;
using test::Variable;
using test::with_lnc;

namespace {

Error refused(SimMachine& machine, const RuntimeOptions& options, std::int32_t pid = 100) {
    const auto book = Book::open(options, test::SimDriver(machine.port(pid)));
    REQUIRE_FALSE(book);
    return book.error();
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("C01: ids past the end and over a missing device are refused with text and rule",
          "[runtime][C01]") {
    SimMachine machine("trn2.3xlarge", "2.26.5");
    for (const char* text : {"4", "3-4", "0-127"}) {
        const Variable visible("NEURON_RT_VISIBLE_CORES", text);
        const auto error = refused(machine, environment());
        CHECK(static_cast<int>(error.status) == 2);
        CHECK(has(describe(error), "'" + std::string(text) + "' goes up to logical core"));
        CHECK(has(describe(error), "must be below 4 here (logical core size 2)"));
        CHECK(machine.kernel->census() == machine.baseline);
    }
    {
        const Variable visible("NEURON_RT_VISIBLE_CORES", "0-7");
        const Variable size("NEURON_LOGICAL_NC_CONFIG", "1");
        CHECK(up(machine, environment())->logical_cores().owned().size() == 8);
    }
    for (const char* text : {"3,5,6", "5-3", "", "3,"}) {
        const Variable visible("NEURON_RT_VISIBLE_CORES", text);
        const auto options = RuntimeOptions::from_environment();
        REQUIRE_FALSE(options);
        CHECK(has(describe(options.error()), "'" + std::string(text) + "'"));
    }
    const Variable count("NEURON_RT_NUM_CORES", "-1");
    CHECK(RuntimeOptions::from_environment().error().detail == Detail::CoreCountSyntax);
}

TEST_CASE("C02: single ids bring up as many cores, 32 or 128 of them", "[runtime][C02]") {
    SimMachine machine("trn2.48xlarge", "2.26.5");
    const Variable size("NEURON_RT_VIRTUAL_CORE_SIZE", "1");
    std::string list = "0";
    for (std::uint32_t i = 1; i < 128; ++i) {
        list += "," + std::to_string(i);
        if (i != 31 && i != 127) continue;
        const Variable visible("NEURON_RT_VISIBLE_CORES", list.c_str());
        CHECK(up(machine, environment())->logical_cores().owned().size() == i + 1);
    }
}

TEST_CASE("C05: a count takes that many and leaves the rest; chosen cores win over a count",
          "[runtime][C05]") {
    SimMachine machine("trn2.3xlarge", "2.26.5");
    const Variable count("NEURON_RT_NUM_CORES", "1");
    auto first = up(machine, environment(), 100);
    auto second = up(machine, environment(), 200);
    CHECK(first->logical_cores().owned()[0].id == LogicalCore{0});
    CHECK(second->logical_cores().owned()[0].id == LogicalCore{1});
    CHECK(machine.kernel->census().marks == 4);

    const Variable visible("NEURON_RT_VISIBLE_CORES", "3");
    const test::LogLines log(LogLevel::Warn);
    auto options = environment();
    options.log_level.reset();
    const auto third = up(machine, options, 300);
    CHECK(third->logical_cores().owned().size() == 1);
    CHECK(third->logical_cores().owned()[0].id == LogicalCore{3});
    REQUIRE(log.lines.size() == 1);
    CHECK(log.lines[0].second == "cores 3 were chosen, so a number of cores (1) is ignored");
}

TEST_CASE("the size of a logical core is one variable of two names", "[runtime][cores]") {
    SimMachine machine("trn2.3xlarge", "2.26.5");
    {
        const Variable old("NEURON_RT_VIRTUAL_CORE_SIZE", "1");
        CHECK(environment().lnc_size == 1u);
        const Variable other("NEURON_LOGICAL_NC_CONFIG", "1");
        CHECK(up(machine, environment())->logical_cores().owned().size() == 8);
    }
    {
        const Variable other("NEURON_LOGICAL_NC_CONFIG", "2");
        CHECK(up(machine, environment())->logical_cores().owned().size() == 4);
        const Variable old("NEURON_RT_VIRTUAL_CORE_SIZE", "1");
        const auto options = RuntimeOptions::from_environment();
        REQUIRE_FALSE(options);
        CHECK(options.error().detail == Detail::LncConflict);
        const auto text = describe(options.error());
        CHECK(has(text, "NEURON_RT_VIRTUAL_CORE_SIZE=1, NEURON_LOGICAL_NC_CONFIG=2"));
    }
    CHECK_FALSE(environment().lnc_size);
    const auto four = refused(machine, with_lnc(4));
    CHECK(four.detail == Detail::LncSizeInvalid);
    CHECK(four.limit == 2);
    SimMachine trn1("trn1.2xlarge", "2.26.5");
    CHECK(up(trn1, with_lnc(1))->logical_cores().owned().size() == 2);
    const auto two = refused(trn1, with_lnc(2));
    CHECK(static_cast<int>(two.status) == 2);
    CHECK(two.limit == 1);
    CHECK(trn1.kernel->census() == trn1.baseline);
}
