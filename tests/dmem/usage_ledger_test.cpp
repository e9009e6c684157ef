// SPDX-License-Identifier: Apache-2.0
#include "neuronbook/dmem/usage_ledger.hpp"
#include "support/archetypes.hpp"
#include "support/catch.hpp"

using namespace neuronbook;
using test::LedgerArchetype;

namespace {

struct NoLock : LedgerArchetype {
    Lock lock(CoreIndex, std::uint32_t) = delete;
};
struct NoPrepare : LedgerArchetype {
    void prepare(std::uint32_t) = delete;
};
struct AddThrows : LedgerArchetype {
    Result<std::uint64_t> add(OwnerAccount&, const Booking&, std::uint64_t, Bytes, MemoryEvent*);
    Result<void> add(const Charge&);
};
struct NoCharge : LedgerArchetype {
    Result<std::uint64_t> add(OwnerAccount&, const Booking&, std::uint64_t, Bytes,
                              MemoryEvent*) noexcept;
};
struct RemoveThrows : LedgerArchetype {
    Result<void> remove(OwnerAccount&, const Booking&, std::uint64_t, MemoryEvent*);
    Result<void> remove(const Charge&);
};
struct LoseThrows : LedgerArchetype {
    void lose(const Charge&);
};
struct NoReserve : LedgerArchetype {
    Result<void> reserve(OwnerAccount&, Bytes) = delete;
};
struct UsedIsANumber : LedgerArchetype {
    std::uint64_t used_on_channel(std::uint32_t) const noexcept;
};
struct NoObserver : LedgerArchetype {
    int& observer() noexcept;
};

static_assert(UsageLedger<LedgerArchetype>);
static_assert(!UsageLedger<NoLock>);
static_assert(!UsageLedger<NoPrepare>);
static_assert(!UsageLedger<AddThrows>);
static_assert(!UsageLedger<NoCharge>);
static_assert(!UsageLedger<RemoveThrows>);
static_assert(!UsageLedger<LoseThrows>);
static_assert(!UsageLedger<NoReserve>);
static_assert(!UsageLedger<UsedIsANumber>);
static_assert(!UsageLedger<NoObserver>);

} // namespace

TEST_CASE("a null ledger counts nothing and refuses nothing", "[dmem][ledger]") {
    NullLedger ledger;
    const Charge impossible{Usage::Max, MemoryLocation::Device, 9, CoreIndex{9}, 0, Bytes{1}};
    CHECK(ledger.remove(impossible));
    CHECK(ledger.add(impossible));
    CHECK(ledger.used_on_channel(0) == Bytes{0});
    OwnerAccount owner(CoreIndex{0}, "GLOBAL", {}, Bytes{1});
    CHECK_FALSE(ledger.limited(owner));
    CHECK(ledger.reserve(owner, Bytes{2}));
}
