// SPDX-License-Identifier: Apache-2.0
//
// The main job on real bytes: bring the book up, stage files as the weights of models, read them
// back, show what the memory is used for, give everything back.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "input_file.hpp"
#include "job.hpp"
#include "neuronbook/neuronbook.hpp"
#include "options.hpp"
#include "report.hpp"
#include "simulated.hpp"

namespace {

namespace nb = neuronbook;

int complain(const nb::Error& error) {
    std::fprintf(stderr, "quickstart: %s\n", nb::describe(error).c_str());
    if (error.detail != nb::Detail::UnknownInstance) return 1;
    std::fputs("known:", stderr);
    for (const auto& instance : nb::kInstances)
        std::fprintf(stderr, " %.*s", static_cast<int>(instance.name.size()), instance.name.data());
    std::fputs("\n", stderr);
    return 1;
}

/// Bytes in all files, each of which can be opened and has some.
nb::Result<std::uint64_t> size_of_all(const std::vector<std::string>& paths) {
    std::uint64_t sum = 0;
    for (const auto& path : paths) {
        const auto file = quickstart::InputFile::open(path);
        if (!file) return nb::fail(file.error());
        sum += file->size();
    }
    return sum;
}

/// From bring-up to tear-down; the exit status.
int session(const nb::AnyPort& port, const nb::RuntimeOptions& settings,
            const std::vector<std::string>& files, std::uint64_t total) {
    auto runtime = quickstart::Runtime::open(settings, quickstart::Driver(port));
    if (!runtime) return 1; // the library's log has said why
    quickstart::print_machine(**runtime);
    const auto good = quickstart::run(**runtime, files, total);
    if (!good) return complain(good.error());
    return *good ? 0 : 1;
}

} // namespace

int main(int count, char** words) {
    const auto options = quickstart::parse(count, words);
    const auto total = size_of_all(options.files);
    if (!total) return complain(total.error());
    const auto settings = nb::RuntimeOptions::from_environment();
    if (!settings) return complain(settings.error());
    const auto job = [&](const nb::AnyPort& port) {
        return session(port, *settings, options.files, *total);
    };
    if (options.posix) return job(nb::AnyPort(nb::PosixPort{}));

    const auto kernel = nb::SimKernel::make(
        {.instance = options.instance, .driver_version = options.driver, .poison = true});
    if (!kernel) return complain(kernel.error());
    return quickstart::on_simulated(**kernel, job);
}
