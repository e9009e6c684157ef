// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include <memory>
#include <optional>

#include "neuronbook/dmem/allocator_register.hpp"
#include "support/one_core.hpp"

using namespace neuronbook;
using test::OneCore;

namespace {

using Register = AllocatorRegister<test::FakeAllocator<ModelTag>>;

auto make_in(Register& models, OneCore& memory) {
    return models.make(memory.driver, memory.global.device(), memory.global.core(),
                       *geometry_of(Architecture::Cayman), memory.shared);
}

} // namespace

TEST_CASE("closing a register closes the allocators that are still held, and only those",
          "[dmem]") {
    OneCore memory;
    std::optional<Register> models(std::in_place);
    auto kept = make_in(*models, memory);
    auto dropped = make_in(*models, memory);
    auto block = *kept->allocate({.size = Bytes{1}, .usage = Usage::Weight});
    CHECK(dropped->allocate({.size = Bytes{1}})); // the handle goes at once
    dropped.reset();
    CHECK(memory.driver.outstanding() == 1);

    models->end(true);
    CHECK(memory.driver.outstanding() == 0);
    CHECK_FALSE(kept->usable());
    CHECK_FALSE(static_cast<bool>(block));
    CHECK(kept->allocate({.size = Bytes{1}}).error().status == Status::Closed);
    CHECK(kept->free(std::move(block)).error().status == Status::Closed);
    CHECK(kept->outstanding().blocks == 0);
    models->end(true); // twice is once
    models.reset();
    kept.reset(); // the holder may come last
    CHECK(memory.balanced());
}

TEST_CASE("an allocator that was closed by hand is not closed again", "[dmem]") {
    OneCore memory;
    Register models;
    auto first = make_in(models, memory);
    const auto second = make_in(models, memory);
    const auto block = *first->allocate({.size = Bytes{1}});
    first->close();
    first->close();
    CHECK(memory.driver.frees == 1);
    first.reset(); // left the register when it was closed
    CHECK(second->allocate({.size = Bytes{1}}));
    models.end(true);
    CHECK(memory.driver.frees == 2);
}
