// SPDX-License-Identifier: Apache-2.0
//
// The strings that name cores, as users write them.
// Owns: their grammar. Does not own: where they come from (runtime_options.hpp), whether such cores
// are there and free (runtime.hpp). Layer: topology.
// libnrt: NEURON_RT_VISIBLE_CORES, NEURON_RT_NUM_CORES. Source: nrt-surface.md 4
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <system_error>

#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/result.hpp"

namespace neuronbook {
inline namespace v0 {

/// A run of logical cores by their numbers on the host.
struct LogicalRange {
    LogicalCore first{};
    std::uint32_t count = 0;

    friend constexpr bool operator==(const LogicalRange&, const LogicalRange&) noexcept = default;
};

/// A run of logical cores and the words that chose it, for messages.
struct VisibleCores {
    LogicalRange range{};
    ShortText text{};

    /// Effects: a run chosen by numbers; its words are those that a user would have written.
    static VisibleCores of(LogicalCore first, std::uint32_t count) {
        char words[24];
        const auto last = std::uint64_t{first.value()} + count - 1;
        const int length = count > 1 ? std::snprintf(words, sizeof words, "%u-%llu", first.value(),
                                                     static_cast<unsigned long long>(last))
                                     : std::snprintf(words, sizeof words, "%u", first.value());
        return {{first, count}, std::string_view(words, static_cast<std::size_t>(length))};
    }
};

namespace detail {

/// Walks a list of ids and ranges. Nothing is allocated.
class CoreStringParser {
public:
    explicit CoreStringParser(std::string_view text) noexcept : text_(text) {}

    Result<LogicalRange> parse() {
        LogicalRange range;
        do {
            const auto position = at_;
            std::uint32_t first = 0;
            if (!number(first)) return fail(refused(Detail::CoreStringSyntax, at_));
            std::uint32_t last = first;
            if (eat('-') && !number(last)) return fail(refused(Detail::CoreStringSyntax, at_));
            if (last < first) return fail(refused(Detail::CoreStringBackwards, position));
            const std::uint64_t next = std::uint64_t{range.first.value()} + range.count;
            if (range.count == 0)
                range.first = LogicalCore{first};
            else if (first < next)
                return fail(refused(Detail::CoreStringNotRising, position));
            else if (first > next)
                return fail(refused(Detail::CoreStringGap, position));
            range.count += last - first + 1;
        } while (eat(','));
        if (at_ != text_.size()) return fail(refused(Detail::CoreStringSyntax, at_));
        return range;
    }

private:
    static constexpr std::uint32_t kMostDigits = 9; ///< so that no sum can wrap

    bool eat(char c) noexcept {
        if (at_ == text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }

    bool number(std::uint32_t& value) noexcept {
        const char* begin = text_.data() + at_;
        const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
        if (error != std::errc{} || end - begin > kMostDigits) return false;
        at_ += static_cast<std::size_t>(end - begin);
        return true;
    }

    [[nodiscard]] Error refused(Detail detail, std::size_t position) const {
        return {.status = Status::Invalid,
                .operation = Operation::ChooseCores,
                .detail = detail,
                .value = position + 1,
                .text = text_};
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

} // namespace detail

/// One id, a range a-b, or a list of both with commas and nothing else, strictly rising and without
/// a gap. Errors: INVALID with the text and, as value, the place in it from 1:
/// Detail::CoreStringSyntax, CoreStringBackwards (a range), CoreStringNotRising, CoreStringGap.
[[nodiscard]] inline Result<LogicalRange> parse_visible_cores(std::string_view text) {
    return detail::CoreStringParser(text).parse();
}

/// The same with its text, for options. Errors: as parse_visible_cores().
[[nodiscard]] inline Result<VisibleCores> visible_cores(std::string_view text) {
    const auto range = parse_visible_cores(text);
    if (!range) return fail(range.error());
    return VisibleCores{*range, text};
}

/// A count of cores; 0 means all. Errors: INVALID with Detail::CoreStringSyntax.
[[nodiscard]] inline Result<std::uint32_t> parse_core_count(std::string_view text) {
    std::uint32_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc{} && stop == end) return value;
    return fail({.status = Status::Invalid,
                 .operation = Operation::ChooseCores,
                 .detail = Detail::CoreCountSyntax,
                 .text = text});
}

} // namespace v0
} // namespace neuronbook
