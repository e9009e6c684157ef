// SPDX-License-Identifier: Apache-2.0
//
// From an inner address to a handle, also while the last handle goes.
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "neuronbook/dmem/pool.hpp"
#include "support/catch.hpp"
#include "support/one_pool.hpp"

using namespace neuronbook;
using namespace neuronbook::literals;
using test::OnePool;

namespace {

/// Does what another thread would do right before this one gets the lock.
struct HookedMutex {
    static inline std::function<void()> meanwhile;

    void lock() {
        if (auto once = std::exchange(meanwhile, nullptr)) once();
        mutex_.lock();
    }
    void unlock() { mutex_.unlock(); }

private:
    std::mutex mutex_;
};

} // namespace

TEST_CASE("an inner address finds its block, a free byte finds none", "[dmem][pool]") {
    OnePool memory;
    auto a = memory.make(1000), b = memory.make(5000);
    const auto at = b.address().value();
    for (const std::uint64_t into : {0u, 1u, 4999u}) {
        const auto found = memory.pool.find(DeviceAddress{at + into});
        REQUIRE(found);
        CHECK(found->block == b);
        CHECK(found->offset == Bytes{into});
        CHECK(b.handles() == 2);
    }
    CHECK(b.handles() == 1);
    CHECK_FALSE(memory.pool.find(DeviceAddress{at + 5000})); // rounding, not the block
    CHECK_FALSE(memory.pool.find(DeviceAddress{0}));
    CHECK_FALSE(memory.pool.find(DeviceAddress{~std::uint64_t{0}}));
    auto found = memory.pool.find(DeviceAddress{at});
    (void)b.reset();
    CHECK(memory.pool.outstanding().blocks == 2); // the one that was found keeps it
    (void)found->block.reset();
    CHECK(memory.pool.outstanding().blocks == 1);
    CHECK_FALSE(memory.pool.find(DeviceAddress{at}));
}

TEST_CASE("a block that is looked up while its last handle goes stays", "[dmem][pool]") {
    OnePool<HookedMutex> memory;
    auto block = memory.make(512);
    const auto at = block.address();
    std::optional<FoundBlock> found;
    HookedMutex::meanwhile = [&] { found = memory.pool.find(at); };
    SECTION("it has one handle, the new one") {
        REQUIRE(block.reset());
        REQUIRE(found);
        CHECK(found->block);
        CHECK(found->block.handles() == 1);
        CHECK(memory.pool.outstanding().blocks == 1);
        REQUIRE(found->block.reset());
        CHECK(memory.pool.outstanding().blocks == 0);
    }
    SECTION("unless that goes, too, before the first is done") {
        HookedMutex::meanwhile = [&] {
            found = memory.pool.find(at);
            found.reset();
        };
        REQUIRE(block.reset());
        CHECK(memory.pool.outstanding().blocks == 0);
    }
    SECTION("a count that is 0 is not raised again") {
        // As when two handles go at once: the last one has counted down before it takes the lock.
        auto* record = detail::BlockAccess::record(block);
        detail::BlockAccess::forget(block);
        record->count.store(0);
        REQUIRE(record->owner->finish(*record));
        CHECK_FALSE(found);
        CHECK(record->count == 0);
        CHECK(memory.pool.outstanding().blocks == 0);
    }
    SECTION("and it is not freed behind a fence") {
        const WorkQueue queue;
        const auto refused = memory.pool.free_after(std::move(block), queue, 1);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().detail == Detail::StillShared);
        CHECK(refused.error().value == 2);
        CHECK(block);
    }
    HookedMutex::meanwhile = nullptr;
    CHECK(memory.balanced());
}
