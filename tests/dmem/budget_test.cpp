// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "neuronbook/base/describe.hpp"
#include "neuronbook/dmem/allocator.hpp"
#include "support/catch.hpp"
#include "support/log_lines.hpp"
#include "support/one_core.hpp"

using namespace neuronbook;
using namespace neuronbook::literals;
using test::FakeAllocator;
using test::FakeDriver;

namespace {

/// A core with a budget, and a model with its own.
struct Limited {
    explicit Limited(Bytes core_budget, Bytes model_budget = {}, MemoryOptions options = {})
        : ledger([&] {
              options.core_budget = core_budget;
              options.report_out_of_memory = false;
              return std::make_shared<Ledger>(HostDeviceId{3}, options, 2);
          }()),
          global(driver, HostDeviceId{3}, core, geometry, ledger),
          model(driver, HostDeviceId{3}, core, geometry, ledger,
                {.name = {1001, "resnet50"}, .budget = model_budget}) {}

    FakeDriver driver;
    const Geometry& geometry = *geometry_of(Architecture::Cayman);
    PhysicalCore core{DeviceIndex{0}, CoreIndex{5}};
    std::shared_ptr<Ledger> ledger;
    FakeAllocator<GlobalTag> global;
    FakeAllocator<ModelTag> model;
};

} // namespace

TEST_CASE("A17: over a core's or a model's budget is status 4 and says so, while the HBM has room",
          "[dmem][budget][A17]") {
    SECTION("of the core") {
        Limited memory(Bytes{3 * 4096});
        const auto first = memory.model.allocate({.size = 8192_B, .usage = Usage::Weight});
        REQUIRE(first);
        const auto calls = memory.driver.calls;
        const auto refused = memory.global.allocate({.size = 4097_B, .usage = Usage::Tensor});
        REQUIRE_FALSE(refused);
        CHECK(static_cast<int>(refused.error().status) == 4);
        CHECK(refused.error().cause == FailureCause::CoreBudget);
        CHECK(refused.error().value == 8192);
        CHECK(refused.error().limit == 12288);
        CHECK(refused.error().asked == 4097);
        CHECK(refused.error().change == 4096); // the budget lacks one page
        CHECK(describe(refused.error()).find("budget") != std::string::npos);
        CHECK(memory.driver.calls == calls); // the driver was not asked
        CHECK(memory.global.allocate({.size = 4096_B, .usage = Usage::Tensor}));
    }
    SECTION("of the model") {
        Limited memory({}, 4096_B);
        CHECK(memory.global.allocate({.size = 1_MiB}));
        const auto first = memory.model.allocate({.size = 1_B, .usage = Usage::Weight});
        REQUIRE(first);
        const auto refused = memory.model.allocate({.size = 1_B, .usage = Usage::Weight});
        REQUIRE_FALSE(refused);
        CHECK(static_cast<int>(refused.error().status) == 4);
        CHECK(refused.error().cause == FailureCause::OwnerBudget);
        CHECK(describe(refused.error()).find("budget of the resnet50") != std::string::npos);
        memory.model.set_budget(8192_B);
        CHECK(memory.model.allocate({.size = 1_B, .usage = Usage::Weight}));
    }
    SECTION("without a budget everything goes, and host memory has none") {
        Limited memory({});
        CHECK(memory.model.allocate({.size = 1_GiB, .usage = Usage::Weight}));
        Limited small(4096_B);
        CHECK(small.global.allocate({.size = 1_MiB, .location = MemoryLocation::Host}));
    }
}

TEST_CASE("A17: of a model on two cores the budget that refused is told, not the other core's",
          "[dmem][budget][A17]") {
    Limited memory(Bytes{}, 4096_B);
    FakeAllocator<ModelTag> other(memory.driver, HostDeviceId{3},
                                  PhysicalCore{DeviceIndex{0}, CoreIndex{0}}, memory.geometry,
                                  memory.ledger, {.name = {1001, "resnet50"}, .budget = 1_GiB});
    FakeAllocator<GlobalTag> same(memory.driver, HostDeviceId{3}, memory.core, memory.geometry,
                                  memory.ledger, {.name = {1001, "a number"}, .budget = 1_GiB});
    const auto full = memory.model.allocate({.size = 1_B, .usage = Usage::Weight});
    REQUIRE(full);
    const auto refused = memory.model.allocate({.size = 1_B, .usage = Usage::Weight});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().cause == FailureCause::OwnerBudget);
    CHECK(refused.error().value == 4096);
    CHECK(refused.error().limit == 4096);
    CHECK(refused.error().change == 4096);
}

TEST_CASE("A17: what a failed allocation reserved is given back, at every step",
          "[dmem][budget][A17]") {
    test::LogLines log;
    Limited memory(8192_B, 8192_B);
    SECTION("the driver refuses") {
        memory.driver.fail_nth(
            1, {.status = Status::Resource, .detail = Detail::OutOfDeviceMemory, .os_error = 12});
    }
    SECTION("the driver's chunk is another one") {
        memory.driver.spoil = [](Chunk chunk) { return chunk.hbm = 1, chunk; };
    }
    CHECK_FALSE(memory.model.allocate({.size = 8192_B, .usage = Usage::Weight}));
    memory.driver.spoil = nullptr;
    const auto whole = memory.model.allocate({.size = 8192_B, .usage = Usage::Weight});
    REQUIRE(whole);
    CHECK_FALSE(memory.model.allocate({.size = 1_B, .usage = Usage::Weight}));
}

TEST_CASE("A17: threads that ask at once never get more than the budget", "[dmem][budget][A17]") {
    Limited memory(Bytes{64 * 4096});
    std::atomic<int> got{0};
    std::vector<std::vector<Block>> held(4);
    std::vector<std::thread> threads;
    for (auto& mine : held)
        threads.emplace_back([&] {
            for (int i = 0; i < 40; ++i)
                if (auto block = memory.global.allocate({.size = 1_B})) {
                    ++got;
                    mine.push_back(*std::move(block));
                }
        });
    for (auto& thread : threads) thread.join();
    CHECK(got == 64);
    CHECK(memory.ledger->used_by_core(CoreIndex{5}) == Bytes{64 * 4096});
    held.clear();
    CHECK(memory.ledger->used_by_core(CoreIndex{5}) == 0_B);
}

TEST_CASE("an out-of-memory function that frees something gets exactly one more try",
          "[dmem][budget]") {
    struct Helper {
        Block spare;
        int calls = 0;
        bool says = true;
        Error seen{};
    } helper;
    MemoryOptions options;
    options.context = &helper;
    options.on_out_of_memory = [](void* context, const Error& error) {
        auto& self = *static_cast<Helper*>(context);
        ++self.calls;
        self.seen = error;
        self.spare.reset();
        return self.says;
    };
    Limited memory(8192_B, {}, options);
    helper.spare = *memory.global.allocate({.size = 8192_B});
    SECTION("and has it") {
        CHECK(memory.global.allocate({.size = 4096_B}));
        CHECK(helper.calls == 1);
        CHECK(helper.seen.detail == Detail::OverBudget);
    }
    SECTION("and not a second one") {
        CHECK_FALSE(memory.global.allocate({.size = 12288_B}));
        CHECK(helper.calls == 1);
    }
    SECTION("and none when it says no") {
        helper.says = false;
        CHECK_FALSE(memory.global.allocate({.size = 4096_B}));
        CHECK(helper.calls == 1);
    }
    SECTION("and is not asked for what cannot be helped") {
        CHECK_FALSE(memory.global.allocate({.size = 0_B}));
        CHECK(helper.calls == 0);
    }
}
