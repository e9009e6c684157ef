// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "neuronbook/dmem/copy/copy_plan.hpp"
#include "support/catch.hpp"

using namespace neuronbook;
using namespace neuronbook::literals;

namespace {

constexpr auto kOne = CopyMode::OneBuffer;
constexpr auto kTwo = CopyMode::DoubleBuffered;

struct Row {
    std::uint64_t total;
    CopyMode mode;
    std::uint64_t chunk;
    std::uint64_t chunks;
};

// tables.md 16, at every boundary
constexpr Row kDocumented[] = {
    {0, kOne, 0x4000, 0},
    {1, kOne, 0x4000, 1},
    {0x3FFF, kOne, 0x4000, 1},
    {0x4000, kTwo, 0x2000, 2},
    {0x4001, kTwo, 0x3000, 2},
    {0x5000, kTwo, 0x3000, 2},
    {0x6000, kTwo, 0x3000, 2},
    {0x6001, kTwo, 0x4000, 2},
    {0xFEFFF, kTwo, 0x80000, 2},
    {0xFE000, kTwo, 0x7F000, 2},
    {0xFE001, kTwo, 0x80000, 2},
    {0xFFFFF, kTwo, 0x80000, 2},
    {0x100000, kTwo, 0x80000, 2},
    {0x100001, kTwo, 0x100000, 2},
    {0x1FFFFF, kTwo, 0x100000, 2},
    {0x200000, kTwo, 0x100000, 2},
    {0x200001, kTwo, 0x100000, 3},
    {0x4000000, kTwo, 0x100000, 64},
    {0x4000003, kTwo, 0x100000, 65},
    {0xFFFFFFFFFFFFFFFF, kTwo, 0x100000, 0x100000000000},
};

template <class Plan>
constexpr bool fits(Plan plan, std::uint64_t total, Bytes room) {
    const auto s = plan.schedule(Bytes{total}, room, DriverCopies::Aside);
    if (total == 0) return s.chunks == 0;
    const auto most = room.count() / (s.mode == kTwo ? 2 : 1);
    const auto covered = (s.chunks - 1) * s.chunk.count();
    return s.chunk.count() <= most && covered < total && total - covered <= s.chunk.count();
}

} // namespace

TEST_CASE("the staged plan is the documented table", "[dmem][copy_plan]") {
    for (const auto& row : kDocumented) {
        INFO("total " << row.total);
        for (const auto driver :
             {DriverCopies::InTheCall, DriverCopies::Aside, DriverCopies::FromOwnPages}) {
            const auto said = StagedPlan{}.schedule(Bytes{row.total}, 2_MiB, driver);
            CHECK(said == CopySchedule{row.mode, Bytes{row.chunk}, row.chunks});
        }
    }
    for (std::uint64_t total = 0x4000; total <= 0x100000; ++total)
        if (StagedPlan{}.schedule(Bytes{total}, 2_MiB, DriverCopies::Aside).chunks != 2)
            FAIL("not two chunks at " << total);
}

TEST_CASE("whatever the room, chunks fit and cover the total", "[dmem][copy_plan]") {
    for (const Bytes room : {8_KiB, 256_KiB, 512_KiB, 1_MiB, 2_MiB})
        for (const auto& row : kDocumented) {
            INFO("total " << row.total << ", room " << room.count());
            CHECK(fits(StagedPlan{}, row.total, room));
            CHECK(fits(OneBufferPlan{}, row.total, room));
            CHECK(fits(PipelinedPlan{}, row.total, room));
        }
    static_assert(StagedPlan{}.schedule(64_MiB, 256_KiB, DriverCopies::Aside) ==
                  CopySchedule{CopyMode::DoubleBuffered, 128_KiB, 512});
    static_assert(OneBufferPlan{}.schedule(64_MiB, 2_MiB, DriverCopies::Aside) ==
                  CopySchedule{CopyMode::OneBuffer, 256_KiB, 256});
    static_assert(PipelinedPlan{}.schedule(64_MiB, 2_MiB, DriverCopies::Aside) ==
                  CopySchedule{CopyMode::DoubleBuffered, 256_KiB, 256});
    static_assert(PipelinedPlan{}.schedule(64_MiB, 256_KiB, DriverCopies::Aside) ==
                  CopySchedule{CopyMode::DoubleBuffered, 128_KiB, 512});
}

TEST_CASE("the driver decides between staging and its own copy", "[dmem][copy_plan]") {
    constexpr PlanByDriver plan;
    static_assert(plan.schedule(64_MiB, 2_MiB, DriverCopies::Aside) ==
                  StagedPlan{}.schedule(64_MiB, 2_MiB, DriverCopies::Aside));
    for (const auto driver : {DriverCopies::InTheCall, DriverCopies::FromOwnPages})
        CHECK(plan.schedule(64_MiB, 2_MiB, driver) == CopySchedule{CopyMode::Direct, 64_MiB, 1});
    CHECK(plan.schedule(0_B, 2_MiB, DriverCopies::InTheCall).chunks == 0);
}
