// SPDX-License-Identifier: Apache-2.0
//
// One line of the log for a block that outlived its allocator.
// Owns: the wording. Does not own: what becomes of the block (driver_owner.hpp).
// Layer: dmem.
#pragma once

#include <cstdio>
#include <string_view>

#include "neuronbook/base/log.hpp"
#include "neuronbook/dmem/survivor.hpp"
#include "neuronbook/dmem/usage.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// `lifetime`: whose end is the end of the memory, a tag's kLifetime.
inline void log_leak(const Survivor& block, std::string_view lifetime) noexcept {
    if (!Log::enabled(LogLevel::Warn)) return;
    const auto width = [](std::string_view text) { return static_cast<int>(text.size()); };
    char age[48] = "";
    if (block.age)
        std::snprintf(age, sizeof age, ", %.3f s old",
                      static_cast<double>(block.age->count) * 1e-9);
    const auto usage = name_of(block.usage);
    const auto hint = block.hint.view();
    const auto label = block.label.view();
    Log::write(
        LogLevel::Warn,
        "%.*s allocator %u%s%.*s of device %u core %u ends with its %.*s: frees %llu bytes of "
        "%.*s%s%.*s that are still held%s",
        width(block.tier), block.tier.data(), block.owner, label.empty() ? "" : " ", width(label),
        label.data(), block.device.value(), block.core.value(), width(lifetime), lifetime.data(),
        static_cast<unsigned long long>(block.charged.count()), width(usage), usage.data(),
        hint.empty() ? "" : ", ", width(hint), hint.data(), age);
}

} // namespace detail
} // namespace v0
} // namespace neuronbook
