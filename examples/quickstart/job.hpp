// SPDX-License-Identifier: Apache-2.0
// The main job: files staged as the weights of models, read back, shown, given back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "neuronbook/neuronbook.hpp"
#include "outstanding.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "staged_model.hpp"

namespace quickstart {

using Driver = nb::IoctlDriver<nb::AnyPort>;
using Runtime = nb::Runtime<Driver>;
using Model = StagedModel<Runtime>;

inline nb::Result<std::vector<Model>>
stage_all(Runtime& runtime, const std::vector<std::string>& files, std::uint64_t total) {
    std::vector<Model> models;
    Progress progress("staging", total);
    for (std::size_t i = 0; i < files.size(); ++i) {
        const auto* core = runtime.tree().core_at(i % runtime.tree().core_count());
        auto model = Model::stage(runtime, core->id(), files[i], progress);
        if (!model) return nb::fail(model.error());
        models.push_back(*std::move(model));
    }
    return models;
}

/// Whether every model has the bytes of its file.
inline nb::Result<bool> verify_all(std::vector<Model>& models, std::uint64_t total) {
    bool good = true;
    std::vector<std::string> lines;
    {
        Progress progress("reading back", total);
        for (auto& model : models) {
            const auto same = model.verify(progress);
            if (!same) return nb::fail(same.error());
            good = good && *same;
            lines.push_back(describe_model(model, *same));
        }
    }
    for (const auto& line : lines) std::puts(line.c_str());
    return good;
}

/// Effects: all of it, `total` bytes in all files; prints as it goes. Returns whether every byte
/// came back, and all memory went back by both books.
inline nb::Result<bool> run(Runtime& runtime, const std::vector<std::string>& files,
                            std::uint64_t total) {
    auto models = stage_all(runtime, files, total);
    if (!models) return nb::fail(models.error());
    const auto same = verify_all(*models, total);
    if (!same) return nb::fail(same.error());
    print_usage(runtime);

    std::vector<OwnChunk> own;
    for (const auto& model : *models) own.push_back(remember(model.weights()));
    const auto held = holding(runtime, own);
    if (!held) return nb::fail(held.error());
    print_holding("held", *held);
    for (auto& model : *models)
        if (auto freed = model.free(); !freed) return nb::fail(freed.error());
    const auto left = holding(runtime, own);
    if (!left) return nb::fail(left.error());
    print_holding("left", *left);
    std::printf("outstanding: %llu bytes\n", static_cast<unsigned long long>(left->most()));
    // A driver that did not list what we held would prove nothing by not listing it now.
    return *same && held->booked == held->listed && left->most() == 0;
}

} // namespace quickstart
