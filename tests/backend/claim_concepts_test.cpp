// SPDX-License-Identifier: Apache-2.0
// The concepts that claiming cores needs, each requirement missed by a type with exactly that
// defect.
#include <cstdint>
#include <vector>

#include "neuronbook/backend/driver.hpp"
#include "support/archetypes.hpp"
#include "support/catch.hpp"

using namespace neuronbook;
using namespace neuronbook::test;

namespace {

// --- ClaimOps
struct NoClaim : ClaimArchetype {
    Result<void> claim(UserCore, std::uint32_t) = delete;
};
struct ClaimsPhysicalCores : ClaimArchetype {
    Result<void> claim(PhysicalCore, std::uint32_t);
};
struct ClaimIsABool : ClaimArchetype {
    bool claim(UserCore, std::uint32_t);
};
struct NoClaimFree : ClaimArchetype {
    Result<void> claim_free(UserCore, std::uint32_t) = delete;
};
struct ClaimFreeCounts : ClaimArchetype {
    Result<std::uint32_t> claim_free(UserCore, std::uint32_t);
};
struct NoRelease : ClaimArchetype {
    Result<void> release(UserCore, std::uint32_t) = delete;
};
struct ReleaseSaysNothing : ClaimArchetype {
    void release(UserCore, std::uint32_t);
};
struct NoFreeCores : ClaimArchetype {
    Result<CoreSet> free_cores(UserCore, std::uint32_t) = delete;
};
struct FreeCoresAreCounted : ClaimArchetype {
    Result<std::uint32_t> free_cores(UserCore, std::uint32_t);
};
struct FreeCoresNeverFail : ClaimArchetype {
    CoreSet free_cores(UserCore, std::uint32_t);
};
struct NoHeld : ClaimArchetype {
    Result<CoreSet> held(UserCore, std::uint32_t) = delete;
};
struct HeldAreCounted : ClaimArchetype {
    Result<std::uint32_t> held(UserCore, std::uint32_t);
};
static_assert(ClaimOps<ClaimArchetype>);
static_assert(!ClaimOps<NoHeld> && !ClaimOps<HeldAreCounted>);
static_assert(!ClaimOps<NoClaim> && !ClaimOps<ClaimsPhysicalCores> && !ClaimOps<ClaimIsABool>);
static_assert(!ClaimOps<NoClaimFree> && !ClaimOps<ClaimFreeCounts>);
static_assert(!ClaimOps<NoRelease> && !ClaimOps<ReleaseSaysNothing>);
static_assert(!ClaimOps<NoFreeCores> && !ClaimOps<FreeCoresAreCounted> &&
              !ClaimOps<FreeCoresNeverFail>);

// --- ClockOps
struct NoNow : ClockArchetype {
    Nanoseconds now() = delete;
};
struct NowIsANumber : ClockArchetype {
    std::uint64_t now();
};
struct NoSleep : ClockArchetype {
    void sleep(Nanoseconds) = delete;
};
struct SleepTellsTheRest : ClockArchetype {
    Nanoseconds sleep(Nanoseconds);
};
static_assert(ClockOps<ClockArchetype>);
static_assert(!ClockOps<NoNow> && !ClockOps<NowIsANumber>);
static_assert(!ClockOps<NoSleep> && !ClockOps<SleepTellsTheRest>);

// --- ProcessOps
struct NoAttached : ProcessArchetype {
    Result<std::vector<AttachedProcess>> attached(HostDeviceId) = delete;
};
struct AttachedAreNumbers : ProcessArchetype {
    Result<std::vector<std::int32_t>> attached(HostDeviceId);
};
struct AttachedToASlot : ProcessArchetype {
    Result<std::vector<AttachedProcess>> attached(DeviceIndex);
};
static_assert(ProcessOps<ProcessArchetype>);
static_assert(!ProcessOps<NoAttached> && !ProcessOps<AttachedAreNumbers> &&
              !ProcessOps<AttachedToASlot>);

} // namespace

TEST_CASE("the concepts of claims accept their archetypes and refuse every single defect",
          "[backend][concepts]") {
    SUCCEED("checked when this file was compiled");
}
