// SPDX-License-Identifier: Apache-2.0
//
// The main job on real bytes: bring the book up, stage files as the weights of models, read them
// back, show what the memory is used for, give everything back.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "neuronbook/neuronbook.hpp"
#include "options.hpp"
#include "report.hpp"
#include "staged_model.hpp"

namespace {

namespace nb = neuronbook;

using Driver = nb::IoctlDriver<nb::AnyPort>;
using Runtime = nb::Runtime<Driver>;
using Model = quickstart::StagedModel<Runtime>;

int complain(const nb::Error& error) {
    std::fprintf(stderr, "quickstart: %s\n", nb::describe(error).c_str());
    if (error.detail != nb::Detail::UnknownInstance) return 1;
    std::fputs("known:", stderr);
    for (const auto& instance : nb::kInstances)
        std::fprintf(stderr, " %.*s", static_cast<int>(instance.name.size()), instance.name.data());
    std::fputs("\n", stderr);
    return 1;
}

nb::Result<std::uint64_t> size_of(const std::string& path) {
    nb::Error error{.status = nb::Status::Invalid, .operation = nb::Operation::BringUp};
    error.text = std::string_view(path);
    std::error_code failed;
    const std::uint64_t size = std::filesystem::file_size(path, failed);
    error.os_error = failed.value();
    error.detail = failed ? nb::Detail::FileUnreadable : nb::Detail::FileEmpty;
    if (failed || size == 0) return nb::fail(error);
    return size;
}

/// Bytes the driver itself lists on all HBMs of the runtime's devices, its own included.
nb::Result<std::uint64_t> listed_by_driver(Runtime& runtime) {
    std::uint64_t sum = 0;
    std::optional<nb::Error> error;
    runtime.tree().for_each_device([&](const auto& device) {
        for (std::uint32_t hbm = 0; hbm < device.geometry().hbms && !error; ++hbm) {
            const auto chunks = runtime.driver().chunks(device.host(), hbm);
            if (!chunks)
                error = chunks.error();
            else
                for (const auto& chunk : *chunks) sum += chunk.size.count();
        }
    });
    if (error) return nb::fail(*error);
    return sum;
}

std::uint64_t booked(const Runtime& runtime) {
    std::uint64_t sum = 0;
    runtime.tree().for_each_core(
        [&](const auto& core) { sum += runtime.memory(core.id())->used.count(); });
    return sum;
}

/// Stages, verifies, reports and frees. The runtime outlives every model.
nb::Result<bool> run(Runtime& runtime, const std::vector<std::string>& files,
                     const std::vector<std::uint64_t>& sizes) {
    const auto before = listed_by_driver(runtime);
    if (!before) return nb::fail(before.error());
    std::vector<Model> models;
    for (std::size_t i = 0; i < files.size(); ++i) {
        const auto* core = runtime.tree().core_at(i % runtime.tree().core_count());
        auto model = Model::stage(runtime, core->id(), files[i], sizes[i]);
        if (!model) return nb::fail(model.error());
        models.push_back(*std::move(model));
    }
    bool good = true;
    for (auto& model : models) {
        const auto same = model.verify();
        if (!same) return nb::fail(same.error());
        good = good && *same;
        std::printf("  ND%2u NC%2u  0x%-12llx %10s  checksum %016llx %s  %s\n",
                    model.weights().device().value(), model.core().core.value(),
                    static_cast<unsigned long long>(model.weights().address().value()),
                    nb::human(nb::Bytes{model.size()}).c_str(),
                    static_cast<unsigned long long>(model.checksum()), *same ? "same" : "DIFFERENT",
                    model.path().c_str());
    }
    quickstart::print_usage(runtime);
    for (auto& model : models)
        if (auto freed = model.free(); !freed) return nb::fail(freed.error());
    const auto after = listed_by_driver(runtime);
    if (!after) return nb::fail(after.error());
    // Neither book alone is trusted: ours, and what the driver lists beyond what it did at first.
    const std::uint64_t in_driver = *after > *before ? *after - *before : 0;
    const std::uint64_t outstanding = std::max(booked(runtime), in_driver);
    std::printf("outstanding: %llu bytes\n", static_cast<unsigned long long>(outstanding));
    return good && outstanding == 0;
}

} // namespace

int main(int count, char** words) {
    const auto options = quickstart::parse(count, words);
    std::vector<std::uint64_t> sizes;
    for (const auto& path : options.files) {
        const auto size = size_of(path);
        if (!size) return complain(size.error());
        sizes.push_back(*size);
    }
    const auto settings = nb::RuntimeOptions::from_environment();
    if (!settings) return complain(settings.error());

    std::unique_ptr<nb::SimKernel> kernel;
    std::optional<nb::AnyPort> port;
    if (options.posix) {
        port.emplace(nb::PosixPort{});
    } else {
        auto made = nb::SimKernel::make(
            {.instance = options.instance, .driver_version = options.driver, .poison = true});
        if (!made) return complain(made.error());
        kernel = *std::move(made);
        port.emplace(nb::SimPort(*kernel));
    }
    auto runtime = Runtime::open(*settings, Driver(*port));
    if (!runtime) return 1; // the library's log has said why
    quickstart::print_machine(**runtime);
    const auto good = run(**runtime, options.files, sizes);
    if (!good) return complain(good.error());
    return *good ? 0 : 1;
}
