// SPDX-License-Identifier: Apache-2.0
// What the quickstart is asked to do.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quickstart {

struct Options {
    std::string instance = "trn2.48xlarge";
    std::string driver = "2.26.5";
    bool posix = false;
    std::vector<std::string> files;
};

inline constexpr const char* kUsage =
    "usage: quickstart [--instance NAME] [--driver VERSION] [--posix] FILE...\n"
    "  Stages each FILE as the weights of one model, reads it back, compares, frees.\n"
    "  --instance NAME   simulated machine (default trn2.48xlarge)\n"
    "  --driver VERSION  simulated driver: 2.24.7, 2.26.5 or 2.30.2 (default 2.26.5)\n"
    "  --posix           this machine's own /dev/neuron* instead\n";

/// Ends the program on --help and on words it does not know.
inline Options parse(int count, char** words) {
    Options options;
    for (int i = 1; i < count; ++i) {
        const std::string_view word(words[i]);
        const auto value = [&]() -> std::string {
            if (++i < count) return words[i];
            std::fprintf(stderr, "quickstart: %s needs a value\n", words[i - 1]);
            std::exit(2);
        };
        if (word == "--help") {
            std::fputs(kUsage, stdout);
            std::exit(0);
        }
        if (word == "--instance")
            options.instance = value();
        else if (word == "--driver")
            options.driver = value();
        else if (word == "--posix")
            options.posix = true;
        else if (word.starts_with("--")) {
            std::fprintf(stderr, "quickstart: unknown option %s\n%s", words[i], kUsage);
            std::exit(2);
        } else
            options.files.emplace_back(word);
    }
    if (!options.files.empty()) return options;
    std::fprintf(stderr, "quickstart: no file given\n%s", kUsage);
    std::exit(2);
}

} // namespace quickstart
