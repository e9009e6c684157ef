// SPDX-License-Identifier: Apache-2.0
// What a program asks of model_plugin.cpp. Each side compiles the headers for itself.
#pragma once

#include <cstdint>
#include <memory>

#include "neuronbook/model/model_database.hpp"

namespace neuronbook::test {

struct PluginModel : ModelRecord {
    using ModelRecord::ModelRecord;
    std::uint64_t step = 1;
};

class ModelPlugin {
public:
    using Models = ModelDatabase<PluginModel, ThreadCounts>;

    virtual std::uint32_t mint() = 0;
    virtual std::uint64_t take_and_give(Models&, ModelHandle, std::uint64_t times) = 0;
    virtual Models::Ref take(Models&, ModelHandle) = 0;
    virtual void give(Models::Ref) = 0;
    virtual std::unique_ptr<Models> make() = 0;

protected:
    ~ModelPlugin() = default;
};

} // namespace neuronbook::test
