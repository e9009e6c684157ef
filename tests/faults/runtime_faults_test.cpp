// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "faults/sweep.hpp"
#include "neuronbook/neuronbook.hpp"
#include "support/book.hpp"

using namespace neuronbook;
using test::Book;
using test::kQuiet;
using test::SimMachine;

namespace {

bool bring_up(SimMachine& machine) {
    return Book::open(kQuiet, test::SimDriver(machine.port())).has_value();
}

/// Allocate, write, read back and free, on device and host, on a runtime that is up. True if every
/// step succeeded; whatever happens the ledger must be empty afterwards.
bool use_memory(SimMachine& machine, Book& runtime) {
    const PhysicalCore core = runtime.tree().core_at(1)->id();
    bool good = true;
    auto tier = runtime.model_allocator(core);
    if (!tier) return false;
    for (const auto location : {MemoryLocation::Device, MemoryLocation::Host}) {
        auto block = (*tier)->allocate(
            {.size = Bytes{10'000}, .usage = Usage::Weight, .location = location});
        if (!block) {
            good = false;
            continue;
        }
        std::array<std::byte, 100> out{};
        std::array<std::byte, 100> in{};
        out.fill(std::byte{7});
        good = (*tier)->write(*block, Bytes{9'900}, out) && good;
        good = (*tier)->read(*block, Bytes{9'900}, in) && good;
        const bool freed = (*tier)->free(*std::move(block)).has_value();
        if (good && freed) CHECK(in == out);
        good = good && freed;
    }
    CHECK((*tier)->outstanding().blocks == 0);
    // Before anything is closed: only what the driver refused to take back is still there.
    CHECK(machine.kernel->census().user_memory().chunks == (*tier)->lost().blocks);
    const auto ledger = runtime.ledger(core.device)->snapshot();
    CHECK(ledger.total(core.core) == Bytes{0});
    CHECK(ledger.host() == Bytes{0});
    return good;
}

bool whole_life(SimMachine& machine) {
    auto runtime = Book::open(kQuiet, test::SimDriver(machine.port()));
    return runtime && use_memory(machine, **runtime);
}

} // namespace

TEST_CASE("bring-up of one device leaves nothing when any call fails", "[faults]") {
    SimMachine machine("trn1.2xlarge", "2.24.7");
    test::sweep("bring-up, trn1.2xlarge", machine, 13, 50, bring_up);
}

TEST_CASE("bring-up with a reset of the cores leaves nothing when any call fails", "[faults]") {
    SimMachine machine("trn1.2xlarge", "2.24.7");
    test::sweep("bring-up and reset, trn1.2xlarge", machine, 15, 60, [](SimMachine& m) {
        RuntimeOptions options = kQuiet;
        options.reset_cores = true;
        return Book::open(options, test::SimDriver(m.port())).has_value();
    });
}

TEST_CASE("bring-up of sixteen devices leaves nothing when any call fails", "[faults]") {
    SimMachine machine("trn2.48xlarge", "2.26.5");
    test::sweep("bring-up, trn2.48xlarge", machine, 75, 280, bring_up);
}

TEST_CASE("a life of bring-up, allocate, copy, free and close leaves nothing when any call fails",
          "[faults]") {
    SimMachine old("trn1.2xlarge", "2.24.7");
    test::sweep("whole life, driver 2.24.7", old, 23, 100, whole_life);
    SimMachine recent("trn1.2xlarge", "2.30.2");
    test::sweep("whole life, driver 2.30.2", recent, 21, 90, whole_life);
}
