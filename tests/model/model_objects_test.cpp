// SPDX-License-Identifier: Apache-2.0
// The models of a program and of the shared objects it loads.
#include "support/catch.hpp"

#include <dlfcn.h>
#include <memory>
#include <thread>
#include <utility>

#include "model/model_plugin.hpp"
#include "model/models.hpp"

using namespace neuronbook;
using test::kAtOnce;
using test::kLong;
using test::ModelPlugin;
using test::PluginModel;

namespace {

using Models = ModelPlugin::Models;

ModelPlugin& load(const char* path) {
    void* object = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
    INFO((object ? "" : ::dlerror()));
    REQUIRE(object);
    const auto entry = reinterpret_cast<ModelPlugin* (*)()>(::dlsym(object, "model_plugin"));
    REQUIRE(entry);
    return *entry();
}

std::unique_ptr<PluginModel> model() {
    return std::make_unique<PluginModel>(*process_handles().mint(), "shared");
}

template <class F>
void on_another_thread(F body) {
    std::thread thread(body);
    thread.join();
}

} // namespace

TEST_CASE("shared objects mint from the mint of the process", "[model][objects]") {
    auto& a = load(MODEL_PLUGIN_A);
    auto& b = load(MODEL_PLUGIN_B);
    const auto first = process_handles().mint()->value().value();
    CHECK(a.mint() == first + 1);
    CHECK(b.mint() == first + 2);
    CHECK(process_handles().mint()->value() == ModelHandle{first + 3});
}

TEST_CASE("a reference may be taken in one object and given back in another, on any thread",
          "[model][objects]") {
    auto& a = load(MODEL_PLUGIN_A);
    auto& b = load(MODEL_PLUGIN_B);
    Models models({});
    for (int round = 0; round < 3; ++round) {
        const auto handle = *models.add(model());
        CHECK(a.take_and_give(models, handle, 100) == 100);
        auto here = a.take(models, handle);
        CHECK(models.remove(handle, kAtOnce).error().asked == 1);
        on_another_thread(
            [&] { b.give(std::move(here)); }); // that thread counts for the first time
        REQUIRE(models.drain(handle, kAtOnce));

        const auto next = *models.add(model());
        Models::Ref there;
        on_another_thread([&] {
            there = b.take(models, next);
            (void)models.acquire(next);
            a.give(*models.acquire(next));
        });
        CHECK(models.remove(next, kAtOnce).error().asked == 1);
        there.release();
        REQUIRE(models.drain(next, kAtOnce));
    }
}

TEST_CASE("a removal waits for a thread that works in a shared object", "[model][objects]") {
    auto& plugin = load(MODEL_PLUGIN_A);
    Models models({});
    for (int round = 0; round < 200; ++round) {
        const auto handle = *models.add(model());
        std::thread user([&] { (void)plugin.take_and_give(models, handle, 2000); });
        auto removed = models.remove(handle, kLong);
        const bool gone = removed.has_value();
        if (gone) removed->reset();
        user.join();
        REQUIRE(gone);
    }
}

TEST_CASE("a database that a shared object made is used like one's own", "[model][objects]") {
    auto models = load(MODEL_PLUGIN_B).make();
    const auto handle = *models->add(model());
    auto held = *models->acquire(handle);
    CHECK(models->remove(handle, kAtOnce).error().asked == 1);
    load(MODEL_PLUGIN_A).give(std::move(held));
    CHECK(models->drain(handle, kAtOnce));
}
