// SPDX-License-Identifier: Apache-2.0
//
// Fails each kernel call of an operation in turn and asks for the exact baseline.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstdio>

#include "support/sim_machine.hpp"

namespace neuronbook::test {

/// The ways a call can fail: the errnos the driver uses most, and bytes it could not copy.
inline constexpr std::int64_t kFaults[] = {-ENOMEM, -EINVAL, -EPERM, -EFAULT, 4096};

/// Runs `operation(machine)` cleanly, then once per call and fault. `expected_calls` is a literal
/// of the test: when it changes, somebody added a call to the sweep and should know. After each run
/// the simulated kernel's own state must equal what it was before.
template <class F>
void sweep(const char* name, SimMachine& machine, std::uint64_t expected_calls,
           std::uint64_t expected_failures, F operation) {
    const auto before = machine.counts.total();
    REQUIRE(operation(machine));
    const auto calls = machine.counts.total() - before;
    CHECK(calls == expected_calls);
    REQUIRE(machine.kernel->census() == machine.baseline);

    std::uint64_t failures = 0;
    for (std::uint64_t nth = 1; nth <= calls; ++nth)
        for (const std::int64_t fault : kFaults) {
            INFO(name << ": call " << nth << " of " << calls << " answers " << fault);
            machine.plan.fail_nth(nth, fault);
            if (!operation(machine)) ++failures;
            REQUIRE(machine.plan.struck());
            machine.plan.clear();
            REQUIRE(machine.kernel->census() == machine.baseline);
        }
    CHECK(failures == expected_failures);
    CHECK(machine.kernel->would_have_crashed().empty());
    std::printf("%s: %llu calls x 5 faults, %llu of them seen by the caller\n", name,
                static_cast<unsigned long long>(calls), static_cast<unsigned long long>(failures));
}

} // namespace neuronbook::test
