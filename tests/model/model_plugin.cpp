// SPDX-License-Identifier: Apache-2.0
// A shared object that uses a database of the program that loads it, or makes one of its own.
#include "model/model_plugin.hpp"

using namespace neuronbook;

namespace {

class Plugin final : public test::ModelPlugin {
public:
    std::uint32_t mint() override { return process_handles().mint()->value().value(); }

    std::uint64_t take_and_give(Models& models, ModelHandle handle, std::uint64_t times) override {
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < times; ++i)
            if (const auto held = models.acquire(handle)) sum += (*held)->step;
        return sum;
    }
    Models::Ref take(Models& models, ModelHandle handle) override {
        return *models.acquire(handle);
    }
    void give(Models::Ref held) override { held.release(); }
    std::unique_ptr<Models> make() override { return std::make_unique<Models>(PhysicalCore{}); }
};

} // namespace

extern "C" [[gnu::visibility("default")]] test::ModelPlugin* model_plugin() {
    static Plugin plugin;
    return &plugin;
}
