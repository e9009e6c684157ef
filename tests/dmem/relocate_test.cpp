// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "neuronbook/dmem/allocator.hpp"
#include "neuronbook/dmem/weak_list.hpp"
#include "support/catch.hpp"
#include "support/log_lines.hpp"
#include "support/one_core.hpp"
#include "threaded/together.hpp"

using namespace neuronbook;
using namespace neuronbook::literals;
using test::OneCore;

TEST_CASE("A16: a block moved to the host and back takes its bytes with it, in the books too",
          "[dmem][relocate][A16]") {
    OneCore memory;
    auto block = *memory.global.allocate({.size = 5000_B, .usage = Usage::Tensor, .hint = "kv"});
    std::vector<std::byte> pattern(5000);
    for (std::size_t i = 0; i < pattern.size(); ++i) pattern[i] = static_cast<std::byte>(i * 7);
    REQUIRE(memory.global.write(block, 0_B, pattern));
    const auto before = memory.ledger.snapshot();
    for (const auto to : {MemoryLocation::Host, MemoryLocation::Device}) {
        auto moved = memory.global.relocate(std::move(block), to);
        REQUIRE(moved);
        block = *std::move(moved);
        CHECK(block.location() == to);
        CHECK(block.requested() == 5000_B);
        CHECK(block.usage() == Usage::Tensor);
        CHECK(block.hint() == "kv");
        const auto now = memory.ledger.snapshot();
        const bool host = to == MemoryLocation::Host;
        CHECK(now.on_host[2] == (host ? 8192u : 0u)); // tensors on the host
        CHECK(now.by_core[5][12] == (host ? 0u : 8192u));
        CHECK(memory.global.outstanding().requested == 5000_B);
        CHECK(memory.driver.outstanding() == 1);
        std::vector<std::byte> back(5000);
        REQUIRE(memory.global.read(block, 0_B, back));
        CHECK(back == pattern);
        CHECK(memory.balanced());
    }
    CHECK(memory.ledger.snapshot().by_core == before.by_core);
    block.reset();
    CHECK(memory.empty());
}

TEST_CASE("A16: nobody who reads the books sees the block twice, or not at all",
          "[dmem][relocate][A16]") {
    OneCore memory;
    auto block = *memory.global.allocate({.size = 4096_B, .usage = Usage::Tensor});
    std::atomic<bool> stop{false};
    std::atomic<int> wrong{0};
    std::thread reader([&] {
        while (!stop) {
            const auto now = memory.ledger.snapshot();
            if (now.host().count() + now.on_channel[2] != 4096) ++wrong;
        }
    });
    for (int i = 0; i < 300; ++i) {
        const auto to = i % 2 ? MemoryLocation::Device : MemoryLocation::Host;
        auto moved = memory.global.relocate(std::move(block), to);
        REQUIRE(moved);
        block = *std::move(moved);
    }
    stop = true;
    reader.join();
    CHECK(wrong == 0);
}

TEST_CASE("E14: a move leaves the budget as it was, also one that fails at any step",
          "[dmem][relocate][E14]") {
    test::LogLines log;
    OneCore memory;
    memory.ledger.set_core_budget(CoreIndex{5}, 8192_B);
    auto block = *memory.global.allocate({.size = 8192_B, .usage = Usage::Tensor});
    for (const auto to : {MemoryLocation::Host, MemoryLocation::Device, MemoryLocation::Host}) {
        const auto from = block.location();
        for (std::uint64_t nth = 1; nth <= 2; ++nth) { // the new chunk, the copy
            memory.driver.fail_nth(nth, {.os_error = EIO});
            CHECK_FALSE(memory.global.relocate(std::move(block), to));
            REQUIRE(block); // NOLINT: a move that failed leaves it
            CHECK(block.location() == from);
            CHECK(memory.balanced());
            // Of the budget nothing is left while it is on the device, and all while it is not.
            CHECK(memory.global.allocate({.size = 1_B}).has_value() ==
                  (from == MemoryLocation::Host));
            CHECK(memory.global.allocate({.size = 8192_B}).has_value() ==
                  (from == MemoryLocation::Host));
        }
        auto moved = memory.global.relocate(std::move(block), to);
        REQUIRE(moved);
        block = *std::move(moved);
    }
    auto other = memory.global.allocate({.size = 4096_B});
    REQUIRE(other);
    const auto refused = memory.global.relocate(std::move(block), MemoryLocation::Device);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().detail == Detail::OverBudget);
    other->reset();
    CHECK(memory.global.relocate(std::move(block), MemoryLocation::Device)); // NOLINT
    CHECK(memory.empty());
}

TEST_CASE("E14: a block moves while others allocate, and the budget holds before and after",
          "[dmem][relocate][E14]") {
    test::LogLines log(LogLevel::Quiet);
    OneCore memory;
    memory.ledger.set_core_budget(CoreIndex{5}, 65536_B);
    std::atomic<int> wrong{0};
    std::atomic<int> moves{0};
    const auto expected = [](const Error& error) { return error.detail == Detail::OverBudget; };
    test::together(4, [&](int thread) {
        std::vector<Block> held;
        for (std::uint64_t i = 0; i < 400; ++i) {
            // Four times six pages are more than the sixteen of the budget.
            if (held.size() == 3) held.clear();
            auto block = memory.global.allocate({.size = 8192_B, .usage = Usage::Tensor});
            if (!block && !expected(block.error())) ++wrong;
            if (block) held.push_back(*std::move(block));
            if (memory.ledger.used_by_core(CoreIndex{5}) > 65536_B) ++wrong;
            if (held.empty() || thread > 1) continue;
            const auto to = i % 2 == 0 ? MemoryLocation::Host : MemoryLocation::Device;
            auto moved = memory.global.relocate(std::move(held.back()), to);
            if (!moved && !expected(moved.error())) ++wrong;
            if (!moved) continue; // still where it was
            held.back() = *std::move(moved);
            ++moves;
        }
    });
    CHECK(wrong == 0);
    CHECK(moves > 0);
    CHECK(memory.empty());
    const auto all = memory.global.allocate({.size = 65536_B, .usage = Usage::Tensor});
    REQUIRE(all);
    CHECK_FALSE(memory.global.allocate({.size = 1_B}));
}

TEST_CASE("a block that others hold, another's, and an empty one are not moved",
          "[dmem][relocate]") {
    OneCore memory;
    auto block = *memory.global.allocate({.size = 1_B, .usage = Usage::Tensor});
    const Block second = block;
    const auto shared = memory.global.relocate(std::move(block), MemoryLocation::Host);
    REQUIRE_FALSE(shared);
    CHECK(shared.error().detail == Detail::StillShared);
    CHECK(shared.error().value == 2);
    CHECK(memory.model
              .relocate(std::move(block), MemoryLocation::Host) // NOLINT
              .error()
              .detail == Detail::Unmatched);
    CHECK(memory.global.relocate(Block{}, MemoryLocation::Host).error().detail ==
          Detail::UnknownHandle);
    auto ring = *memory.global.allocate({.size = 1_B, .usage = Usage::Scratchpad});
    CHECK(memory.global.relocate(std::move(ring), MemoryLocation::Host).error().detail ==
          Detail::UsageNotHere);
}
