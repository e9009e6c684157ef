// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>
#include <vector>

#include "neuronbook/dmem/allocator.hpp"
#include "neuronbook/dmem/memory_observer.hpp"
#include "support/catch.hpp"
#include "support/fake_driver.hpp"

using namespace neuronbook;
using namespace neuronbook::literals;

namespace {

struct Seen {
    std::vector<MemoryEvent> allocated, freed;
    std::vector<Error> refused;
    void (*inside)() = nullptr;
};

/// Writes down what it is told, and uses the allocator while it is told.
struct Watcher {
    Seen* seen = nullptr;
    void allocated(const MemoryEvent& event) noexcept {
        if (seen->inside) seen->inside();
        seen->allocated.push_back(event);
    }
    void freed(const MemoryEvent& event) noexcept {
        if (seen->inside) seen->inside();
        seen->freed.push_back(event);
    }
    void refused(const Error& error) noexcept { seen->refused.push_back(error); }
};

struct Throws : Watcher {
    void freed(const MemoryEvent&);
};
struct Deaf {
    void allocated(const MemoryEvent&) noexcept;
    void freed(const MemoryEvent&) noexcept;
};

static_assert(MemoryObserver<Watcher> && MemoryObserver<NullObserver>);
static_assert(!MemoryObserver<Throws> && !MemoryObserver<Deaf>);
static_assert(detail::kObserves<Watcher> && !detail::kObserves<NullObserver>);

using Watched = BasicLedger<Watcher>;
Watched* the_ledger = nullptr;

} // namespace

TEST_CASE("an observer is told of every block once, with no lock held, and of every refusal",
          "[dmem][observer]") {
    test::FakeDriver driver;
    Seen seen;
    const auto ledger =
        std::make_shared<Watched>(HostDeviceId{3}, MemoryOptions{}, 2, Watcher{&seen});
    the_ledger = ledger.get();
    seen.inside = [] { (void)the_ledger->snapshot(); }; // would wait for ever under a lock
    {
        Allocator<GlobalTag, test::FakeDriver, Watched> allocator(
            driver, HostDeviceId{3}, {DeviceIndex{0}, CoreIndex{5}},
            *geometry_of(Architecture::Cayman), ledger);
        auto kept = *allocator.allocate({.size = 5000_B, .usage = Usage::Tensor, .hint = "kv"});
        REQUIRE(allocator.allocate({.size = 1_B}));
        CHECK_FALSE(allocator.allocate({.size = 0_B}));
        driver.fail_nth(1, {.os_error = 5});
        CHECK_FALSE(allocator.allocate({.size = 1_B}));
    }
    REQUIRE(seen.allocated.size() == 2);
    REQUIRE(seen.freed.size() == 2);
    REQUIRE(seen.refused.size() == 2);
    CHECK(seen.allocated[0].number == 1);
    CHECK(seen.allocated[0].requested == 5000);
    CHECK(seen.allocated[0].size == 8192);
    CHECK(seen.allocated[0].channel_total == 8192);
    CHECK(seen.allocated[0].hint.view() == "kv");
    CHECK(seen.freed[0].number == 3);
    CHECK(seen.freed[0].channel_total == 8192);
    CHECK(seen.freed[1].hint.view() == "kv");
    CHECK(seen.freed[1].channel_total == 0);
    CHECK(seen.refused[0].detail == Detail::ZeroSize);
    CHECK(seen.refused[1].os_error == 5);
}
