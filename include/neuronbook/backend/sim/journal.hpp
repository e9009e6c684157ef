// SPDX-License-Identifier: Apache-2.0
//
// What a test wants to know afterwards: requests that no driver serves, requests the model does not
// serve yet, and the moments a real kernel would have come down.
// Owns: the texts. Does not own: what is answered in those cases.
// Layer: backend (simulated kernel).
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// Different texts in the order they first came, at most kMost of them. Not thread-safe.
class Notes {
public:
    static constexpr std::size_t kMost = 1000;

    void add(std::string text) {
        if (texts_.size() < kMost && std::find(texts_.begin(), texts_.end(), text) == texts_.end())
            texts_.push_back(std::move(text));
    }

    [[nodiscard]] const std::vector<std::string>& texts() const { return texts_; }

private:
    std::vector<std::string> texts_;
};

struct Journal {
    Notes unknown;
    Notes unmodelled;
    Notes crashes;
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
