// SPDX-License-Identifier: Apache-2.0
//
// What must not happen while a ledger's lock is held, and what an allocation may cost.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "neuronbook/dmem/allocator.hpp"
#include "neuronbook/dmem/weak_list.hpp"
#include "support/catch.hpp"
#include "support/heap.hpp"

namespace {

thread_local int locks = 0;     ///< of a ledger, held by this thread
std::atomic<int> under_lock{0}; ///< calls that must not be made there
void note() {
    if (locks != 0) ++under_lock;
}

const bool watched = (neuronbook::test::heap.watch = note, true);

using namespace neuronbook;
using namespace neuronbook::literals;

/// The ledger as it is, with a lock around its own that is counted.
class WatchedLedger {
public:
    class Lock {
    public:
        explicit Lock(Ledger& ledger, CoreIndex core, std::uint32_t channel)
            : held_(ledger.lock(core, channel)) {
            ++locks;
        }
        Lock(const Lock&) = delete;
        Lock& operator=(const Lock&) = delete;
        ~Lock() { unlock(); }
        void unlock() noexcept {
            held_.unlock();
            if (std::exchange(counted_, false)) --locks;
        }

    private:
        Ledger::Lock held_;
        bool counted_ = true;
    };

    explicit WatchedLedger(const MemoryOptions& options) : ledger_(HostDeviceId{3}, options, 2) {}
    Lock lock(CoreIndex core, std::uint32_t channel) noexcept {
        return Lock(ledger_, core, channel);
    }
    auto lock_all() const { return ledger_.lock_all(); }
    void prepare(std::uint32_t channel) { ledger_.prepare(channel); }
    Result<std::uint64_t> add(OwnerAccount& owner, const Booking& booking, std::uint64_t ticks,
                              Bytes reserved, MemoryEvent* told) noexcept {
        return ledger_.add(owner, booking, ticks, reserved, told);
    }
    Result<void> remove(OwnerAccount& owner, const Booking& booking, std::uint64_t ticks,
                        MemoryEvent* told) noexcept {
        return ledger_.remove(owner, booking, ticks, told);
    }
    Result<void> add(const Charge& charge) { return ledger_.add(charge); }
    Result<void> remove(const Charge& charge) { return ledger_.remove(charge); }
    void lose(const Charge& charge) noexcept { ledger_.lose(charge); }
    void enroll(OwnerAccount& owner) noexcept { ledger_.enroll(owner); }
    void dismiss(OwnerAccount& owner) noexcept { ledger_.dismiss(owner); }
    [[nodiscard]] bool limited(const OwnerAccount& owner) const noexcept {
        return ledger_.limited(owner);
    }
    Result<void> reserve(OwnerAccount& owner, Bytes bytes) { return ledger_.reserve(owner, bytes); }
    void unreserve(OwnerAccount& owner, Bytes bytes) noexcept { ledger_.unreserve(owner, bytes); }
    [[nodiscard]] Bytes used_on_channel(std::uint32_t hbm) const noexcept {
        return ledger_.used_on_channel(hbm);
    }
    [[nodiscard]] const MemoryOptions& options() const noexcept { return ledger_.options(); }
    [[nodiscard]] const detail::StampClock& clock() const noexcept {
        note(); // every reading goes through here
        return ledger_.clock();
    }
    [[nodiscard]] NullObserver& observer() noexcept { return ledger_.observer(); }

private:
    Ledger ledger_;
};

/// Does nothing, and says so when it is called under a lock.
struct WatchedDriver {
    Result<Chunk> allocate(HostDeviceId, const ChunkRequest& ask) {
        note();
        return Chunk{ChunkHandle{1}, DeviceAddress{4096}, *whole_pages(ask.size), ask.location,
                     ask.hbm};
    }
    Result<void> free(HostDeviceId, const Chunk&) {
        note();
        return {};
    }
    [[nodiscard]] bool usable() const noexcept { return true; }
};

using Watched = Allocator<GlobalTag, WatchedDriver, WatchedLedger>;

} // namespace

TEST_CASE("no clock, driver call or host allocation happens under a ledger's lock",
          "[dmem][front]") {
    WatchedDriver driver;
    const auto ledger = std::make_shared<WatchedLedger>(
        MemoryOptions{.events = 64, .core_budget = 1_MiB, .on_leak = OnLeak::Quiet});
    under_lock = 0;
    {
        Watched allocator(driver, HostDeviceId{3}, {DeviceIndex{0}, CoreIndex{5}},
                          *geometry_of(Architecture::Cayman), ledger);
        WeakList list;
        std::vector<Block> held;
        for (int i = 0; i < 100; ++i) { // several pages of records
            held.push_back(*allocator.allocate({.size = 1_B, .hint = "weights"}));
            REQUIRE(list.append(held.back()));
        }
        CHECK_FALSE(allocator.allocate({.size = 1_MiB})); // over the budget
        list.clear();
        REQUIRE(list.append(held.back()));
        CHECK(allocator.survivors().size() == 100);
        held.resize(50);
        CHECK(allocator.outstanding().blocks == 50);
        // the rest is freed by the allocator, whose handles go after it
    }
    CHECK(under_lock == 0);
}

TEST_CASE("in a steady state an allocation takes nothing of the host's memory", "[dmem][front]") {
    WatchedDriver driver;
    const auto ledger = std::make_shared<WatchedLedger>(MemoryOptions{.core_budget = 1_GiB});
    Watched allocator(driver, HostDeviceId{3}, {DeviceIndex{0}, CoreIndex{5}},
                      *geometry_of(Architecture::Cayman), ledger);
    std::vector<Block> held(40);
    const auto churn = [&](int rounds) {
        for (int i = 0; i < rounds; ++i)
            held[static_cast<std::size_t>(i) % held.size()] =
                *allocator.allocate({.size = 5000_B, .usage = Usage::Tensor, .hint = "layer.12"});
    };
    churn(100);
    const auto before = test::heap.allocations.load();
    churn(10'000);
    CHECK(test::heap.allocations.load() == before);
}
