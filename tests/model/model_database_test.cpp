// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "model/models.hpp"
#include "neuronbook/base/describe.hpp"
#include "support/log_lines.hpp"

using namespace neuronbook;
using test::kAtOnce;
using test::kCore;
using test::kLong;
using test::kMillisecond;
using test::model;
using test::SmallModel;

namespace {

template <class Counts>
using Database = ModelDatabase<SmallModel, Counts>;
using Shared = Database<SharedCount>;

static_assert(!std::is_copy_constructible_v<Shared> && !std::is_move_constructible_v<Shared>);
static_assert(!std::is_copy_constructible_v<Shared::Ref>);
static_assert(std::is_nothrow_move_constructible_v<Shared::Ref>);
static_assert(!std::is_copy_constructible_v<SmallModel>);
static_assert(!std::is_move_constructible_v<SmallModel>);

ModelUuid uuid(unsigned char last) {
    ModelUuid id{};
    id[15] = std::byte{last};
    return id;
}

} // namespace

TEMPLATE_TEST_CASE("a model is had by its handle until it is removed", "[model][database]",
                   SharedCount, ThreadCounts) {
    {
        Database<TestType> models(kCore);
        auto made = model();
        auto* const address = made.get();
        const auto handle = made->handle();
        REQUIRE(models.add(std::move(made)) == handle);
        CHECK(models.size() == 1);
        {
            const auto held = models.acquire(handle);
            REQUIRE(held);
            CHECK(held->get() == address);
            CHECK(models.find(handle) == address);
        }
        auto removed = models.remove(handle, kLong);
        REQUIRE(removed);
        CHECK(removed->get() == address);
        CHECK((*removed)->alive == SmallModel::kAlive);
        CHECK(models.size() == 0);
        CHECK(models.find(handle) == nullptr);
        REQUIRE(models.add(*std::move(removed)) == handle); // once more, by the same number
        CHECK(models.acquire(handle));
    }
    CHECK(SmallModel::count == 0);
}

TEMPLATE_TEST_CASE("an unknown model is a failure that names it", "[model][database]", SharedCount,
                   ThreadCounts) {
    Database<TestType> models(kCore);
    const auto known = *models.add(model());
    for (const std::uint32_t number :
         {0u, known.value() + 1, known.value() + 16, known.value() ^ 0x8000'0000u, 0xFFFF'FFFFu}) {
        const auto held = models.acquire(ModelHandle{number});
        REQUIRE(!held);
        CHECK(held.error().status == Status::Failure);
        CHECK(held.error().detail == Detail::UnknownModel);
        CHECK(held.error().value == number);
        CHECK(models.find(ModelHandle{number}) == nullptr);
        CHECK(models.remove(ModelHandle{number}, kAtOnce).error().detail == Detail::UnknownModel);
    }
    CHECK(describe(models.acquire(ModelHandle{4711}).error()) ==
          "use a model on ND 3 NC 1: Unknown model 4711 (FAILURE, 1)");
    CHECK(describe(models.acquire(ModelHandle{}).error()) ==
          "use a model on ND 3 NC 1: Unknown model 0 (FAILURE, 1)");
    CHECK(models.size() == 1);
}

TEST_CASE("a second model of one handle is refused and stays with the caller",
          "[model][database]") {
    HandleMint one(6), other(6); // two mints, or there would be no second
    Shared models(kCore);
    REQUIRE(models.add(std::make_unique<SmallModel>(*one.mint(), "first")) == ModelHandle{7});
    auto second = std::make_unique<SmallModel>(*other.mint(), "second");
    const auto refused = models.add(std::move(second));
    REQUIRE(!refused);
    CHECK(refused.error().status == Status::InvalidHandle);
    CHECK(describe(refused.error()) ==
          "load a model: Model: 7 already in the DB of nd3:nc1 (INVALID_HANDLE, 3)");
    REQUIRE(second); // NOLINT: a refused model is not moved from
    CHECK(models.acquire(std::string_view("second")).error().detail == Detail::UnknownModelName);

    // Also while the first is leaving: its references are still counted under that number.
    auto held = *models.acquire(ModelHandle{7});
    REQUIRE(models.remove(ModelHandle{7}, kAtOnce).error().detail == Detail::ModelHeld);
    CHECK(models.add(std::move(second)).error().detail == Detail::ModelPresent);
    held.release();
    REQUIRE(models.drain(ModelHandle{7}, kLong));
    CHECK(models.add(std::move(second)) == ModelHandle{7});
    REQUIRE(models.remove(ModelHandle{7}, kLong)); // before its mint goes
}

TEST_CASE("what cannot be a model is refused", "[model][database]") {
    Shared models(kCore);
    const auto none = models.add(nullptr);
    CHECK(none.error().status == Status::Invalid);
    CHECK(none.error().detail == Detail::NullPointer);
    const auto unminted = models.add(std::make_unique<SmallModel>(MintedHandle{}, "zero"));
    CHECK(unminted.error().status == Status::InvalidHandle);

    REQUIRE(models.add(model(std::string(255, 'n'))));
    const auto longer = models.add(model(std::string(256, 'n')));
    REQUIRE(!longer);
    CHECK(longer.error().status == Status::Invalid);
    CHECK(longer.error().detail == Detail::ModelNameTooLong);
    CHECK(longer.error().value == 256);
    CHECK(longer.error().limit == 255);
    CHECK(models.size() == 1);
}

TEMPLATE_TEST_CASE("a removal that times out leaves the model removed, to be waited for again",
                   "[model][database]", SharedCount, ThreadCounts) {
    Database<TestType> models(kCore);
    const auto handle = *models.add(model());
    auto first = *models.acquire(handle);
    auto second = *models.acquire(handle);

    const auto start = Deadline::now();
    const auto late = models.remove(handle, kMillisecond);
    CHECK(Deadline::now().count - start.count >= 1'000'000);
    REQUIRE(!late);
    CHECK(late.error().status == Status::Timeout);
    CHECK(late.error().detail == Detail::ModelHeld);
    CHECK(late.error().value == handle.value());
    CHECK(late.error().asked == 2);

    CHECK(models.acquire(handle).error().detail == Detail::UnknownModel);
    CHECK(models.acquire("bert").error().detail == Detail::UnknownModelName);
    CHECK(models.find(handle) == nullptr);
    CHECK(models.remove(handle, kAtOnce).error().detail == Detail::UnknownModel);
    CHECK(models.leaving() == std::vector<ModelHandle>{handle});
    CHECK(models.handles().empty());
    CHECK(first->alive == SmallModel::kAlive);

    first.release();
    CHECK(models.drain(handle, kAtOnce).error().asked == 1);
    second.release();
    CHECK(models.drain(handle, kAtOnce));
    CHECK(models.drain(handle, kAtOnce).error().detail == Detail::UnknownModel);
    CHECK(models.leaving().empty());
}

TEST_CASE("a model that was not removed is not waited for", "[model][database]") {
    Shared models(kCore);
    const auto handle = *models.add(model());
    CHECK(models.drain(handle, kAtOnce).error().detail == Detail::UnknownModel);
    CHECK(models.acquire(handle));
}

TEMPLATE_TEST_CASE("models are found by name and uuid, the oldest of several first",
                   "[model][database]", SharedCount, ThreadCounts) {
    Database<TestType> models(kCore);
    std::vector<ModelHandle> alike;
    for (int i = 0; i < 4; ++i) alike.push_back(*models.add(model("alike", uuid(1))));
    const auto other = *models.add(model("other", uuid(2)));
    CHECK((*models.acquire("other"))->handle() == other);
    CHECK((*models.acquire(uuid(2)))->handle() == other);
    CHECK(models.acquire(uuid(3)).error().detail == Detail::UnknownModelName);
    CHECK(describe(models.acquire("resnet").error()) ==
          "use a model on ND 3 NC 1: Unknown model 'resnet' (FAILURE, 1)");

    // In the middle, at the head, at the end: the others stay, in their order.
    for (const std::size_t gone : {1u, 0u, 3u, 2u}) {
        REQUIRE(models.remove(alike[gone], kLong));
        alike[gone] = ModelHandle{};
        const auto oldest = std::find_if(alike.begin(), alike.end(),
                                         [](ModelHandle h) { return h != ModelHandle{}; });
        const auto by_name = models.acquire("alike");
        const auto by_uuid = models.acquire(uuid(1));
        REQUIRE(by_name.has_value() == (oldest != alike.end()));
        REQUIRE(by_uuid.has_value() == by_name.has_value());
        if (by_name) {
            CHECK((*by_name)->handle() == *oldest);
            CHECK(by_uuid->get() == by_name->get());
        }
    }
    CHECK(models.handles() == std::vector<ModelHandle>{other});
}

TEST_CASE("a walk gives each model once, oldest first, and holds the one it is at",
          "[model][database]") {
    Shared models(kCore);
    std::vector<ModelHandle> handles;
    for (int i = 0; i < 100; ++i) handles.push_back(*models.add(model()));
    std::vector<ModelHandle> seen;
    models.for_each([&](SmallModel& each) {
        CHECK(models.remove(each.handle(), kAtOnce).error().asked == 1);
        seen.push_back(each.handle());
    });
    CHECK(seen == handles);
    CHECK(models.leaving() == handles);
}

TEST_CASE("E17: a walk over models survives the removal of the one it is at and of the next",
          "[model][database][E17]") {
    Shared models(kCore);
    std::vector<ModelHandle> handles;
    for (int i = 0; i < 6; ++i) handles.push_back(*models.add(model("alike")));
    std::vector<ModelHandle> seen;
    models.for_each([&](SmallModel& each) {
        seen.push_back(each.handle());
        (void)models.remove(each.handle(), kAtOnce); // leaves when the walk lets it go
        const auto next = std::find(handles.begin(), handles.end(), each.handle()) + 1;
        if (next != handles.end()) CHECK(models.remove(*next, kLong)); // and is destroyed
    });
    CHECK(seen == std::vector<ModelHandle>{handles[0], handles[2], handles[4]});
    CHECK(models.handles().empty());
    for (const auto handle : seen) CHECK(models.drain(handle, kAtOnce)); // unlinked, not lost
}

TEST_CASE("D09: a callback that throws leaves neither lock nor reference behind",
          "[model][database][D09]") {
    Shared models(kCore);
    const auto handle = *models.add(model());
    CHECK_THROWS_AS(models.for_each([](SmallModel&) { throw 1; }), int);
    std::thread other([&] {
        CHECK(models.acquire("bert"));       // takes the lock
        CHECK(models.remove(handle, kLong)); // and waits for every reference
    });
    other.join();
}

TEST_CASE("a database that is closed empties itself, also step by step", "[model][database]") {
    {
        Shared models(kCore);
        std::array<ModelHandle, 4> handles;
        for (auto& handle : handles) handle = *models.add(model());
        auto held = *models.acquire(handles[2]);
        const auto late = models.close(kAtOnce);
        REQUIRE(!late);
        CHECK(late.error().status == Status::Timeout);
        CHECK(late.error().value == handles[2].value());
        CHECK(late.error().asked == 1);
        CHECK(SmallModel::count == 1); // all the others are gone
        CHECK(models.size() == 0);

        auto another = model();
        const auto refused = models.add(std::move(another));
        CHECK(refused.error().status == Status::Closed);
        CHECK(another);

        held.release();
        CHECK(models.close(kLong));
        CHECK(models.close(kLong)); // again is nothing
        CHECK(SmallModel::count == 1);
    }
    CHECK(SmallModel::count == 0);
}

TEMPLATE_TEST_CASE("a model that is held at the database's end is left to its holder, and logged",
                   "[model][database]", SharedCount, ThreadCounts) {
    test::LogLines lines(LogLevel::Error);
    auto models = std::make_unique<Database<TestType>>(kCore);
    const auto handle = *models->add(model());
    REQUIRE(models->add(model()));
    auto held = *models->acquire(handle);
    auto* const left = held.get();
    models.reset();
    CHECK(SmallModel::count == 1);
    CHECK(held->alive == SmallModel::kAlive);
    REQUIRE(lines.lines.size() == 1);
    CHECK(lines.lines[0].second.find("nd3:nc1 ends while model " + std::to_string(handle.value()) +
                                     " is still held (references: 1)") != std::string::npos);
    held.release();
    delete left; // this test knows that nobody else has it
    CHECK(SmallModel::count == 0);
}

TEST_CASE("a reference moves, and is given back once", "[model][ref]") {
    Shared models(kCore);
    const auto one = *models.add(model("one"));
    const auto two = *models.add(model("two"));
    auto a = *models.acquire(one);
    auto b = *models.acquire(two);
    Shared::Ref empty;
    CHECK(!empty);
    CHECK(empty.get() == nullptr);
    auto c = std::move(a);
    CHECK(!a); // NOLINT: that is what is asked
    CHECK(c->name() == "one");
    b = std::move(c); // gives `two` back
    CHECK(b->name() == "one");
    REQUIRE(models.remove(two, kAtOnce));
    auto& self = b;
    b = std::move(self);
    CHECK(models.remove(one, kAtOnce).error().asked == 1);
    b.release();
    b.release();
    CHECK(!b);
    CHECK(models.drain(one, kAtOnce));
}

TEST_CASE("handles that share their low bits live together, and growing loses none",
          "[model][database]") {
    // Numbers of one mint never collide for long; these come from many, to make the array grow.
    std::vector<std::unique_ptr<HandleMint>> mints;
    Shared models(kCore);
    std::vector<ModelHandle> handles;
    for (std::uint32_t i = 0; i < 600; ++i) {
        const std::uint32_t number = i % 3 == 0 ? 5 + i * 16 : 5 + i * 64 + (i << 20);
        mints.push_back(std::make_unique<HandleMint>(number - 1));
        auto added = models.add(std::make_unique<SmallModel>(*mints.back()->mint(), "grown"));
        if (!added) continue; // the array has its bounds, below
        CHECK(*added == ModelHandle{number});
        handles.push_back(*added);
    }
    CHECK(handles.size() > 300);
    for (const auto handle : handles) CHECK((*models.acquire(handle))->handle() == handle);
    for (const auto handle : handles) REQUIRE(models.remove(handle, kLong));

    // Beyond the array's last size two numbers cannot live together: refused, nothing lost.
    HandleMint low(8), high(0x8000'0008);
    REQUIRE(models.add(std::make_unique<SmallModel>(*low.mint(), "low")));
    auto second = std::make_unique<SmallModel>(*high.mint(), "high");
    const auto refused = models.add(std::move(second));
    CHECK(refused.error().status == Status::Resource);
    CHECK(refused.error().detail == Detail::OutOfModelHandles);
    CHECK(second); // NOLINT: a refused model is not moved from
    REQUIRE(models.remove(ModelHandle{9}, kLong));
}
