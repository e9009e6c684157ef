// SPDX-License-Identifier: Apache-2.0
//
// Errors, errno numbers and sizes in words.
// Owns: the one table of sentences. Does not own: the numbers in them (result.hpp).
// Layer: base.   libnrt: nrt_get_status_as_str (the text around it)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "neuronbook/base/detail/sentences.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/status.hpp"
#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {

namespace detail {

/// A size in words, without a heap or a printf: reports print hundreds of thousands.
class SizeText {
public:
    explicit constexpr SizeText(Bytes size) noexcept {
        constexpr std::array<std::string_view, 4> units{"B", "KB", "MB", "GB"};
        std::size_t unit = 0;
        while (unit + 1 < units.size() && size.count() >> (10 * (unit + 1)) != 0) ++unit;
        // Exact, and a tie goes to the even digit, as printf does it.
        const std::uint64_t one = std::uint64_t{1} << (10 * unit);
        const std::uint64_t scaled = (size.count() & (one - 1)) * 1000;
        std::uint64_t thousandths = scaled / one;
        const std::uint64_t rest = scaled % one * 2;
        if (rest > one || (rest == one && thousandths % 2 == 1)) ++thousandths;
        put(units[unit]);
        for (int i = 0; i < 3; ++i, thousandths /= 10) put(thousandths % 10);
        chars_[--first_] = '.';
        std::uint64_t whole = size.count() / one + thousandths; // what was carried over
        do put(whole % 10);
        while ((whole /= 10) != 0);
    }
    [[nodiscard]] constexpr std::string_view view() const noexcept {
        return {chars_.data() + first_, chars_.size() - first_};
    }

private:
    constexpr void put(std::uint64_t digit) noexcept {
        chars_[--first_] = static_cast<char>('0' + digit);
    }
    constexpr void put(std::string_view unit) noexcept {
        for (std::size_t i = unit.size(); i > 0; --i) chars_[--first_] = unit[i - 1];
    }

    std::array<char, 20> chars_{}; ///< filled from its end; 17179869184.000GB is the longest
    std::size_t first_ = 20;
};

} // namespace detail

/// A size as reports print it: base 1024, three decimals, no space, up to GB. `13.107MB`, `0.000B`.
[[nodiscard]] inline std::string human(Bytes size) {
    return std::string(detail::SizeText(size).view());
}

/// `fragmentation`, `budget of the core`; "unknown" for what is no cause.
[[nodiscard]] constexpr std::string_view name_of(FailureCause cause) noexcept {
    const auto i = static_cast<std::size_t>(cause);
    return detail::kCauseNames[i < detail::kCauseNames.size() ? i : 0];
}

/// `ENOMEM`, `ENOTSUPP(524)`; `errno 999` for a number without a name here.
[[nodiscard]] inline std::string errno_text(std::int32_t number) {
    const auto name = detail::errno_name(number);
    return name.empty() ? "errno " + std::to_string(number) : std::string(name);
}

namespace detail {

/// Puts an Error into a sentence of the table. The notation stands in sentences.hpp.
class Sentence {
public:
    explicit Sentence(const Error& error) : error_(error) {}

    /// `out` gets the text; false if a placeholder had nothing to say.
    bool write(std::string_view form, std::string& out) {
        bool complete = true;
        for (std::size_t i = 0; i < form.size(); ++i) {
            const char c = form[i];
            if (c != '[' && c != '{') {
                out += c;
                continue;
            }
            const auto end = form.find(c == '[' ? ']' : '}', i);
            const auto inner = form.substr(i + 1, end - i - 1);
            std::string part;
            if (c == '{') {
                complete = placeholder(inner, part) && complete;
                out += part;
            } else if (write(inner, part)) {
                out += part;
            }
            i = end;
        }
        return complete;
    }

    [[nodiscard]] bool told_errno() const { return told_errno_; }
    [[nodiscard]] bool told_place() const { return told_place_; }

private:
    bool placeholder(std::string_view inner, std::string& out) {
        const auto bar = inner.find('|');
        const auto name = inner.substr(0, bar);
        const bool known = value_of(name, out);
        if (!known && bar != std::string_view::npos) out = inner.substr(bar + 1);
        return known;
    }

    bool value_of(std::string_view name, std::string& out) {
        if (name == "text") {
            out = error_.text.view();
            return !out.empty();
        }
        if (name == "errno") {
            told_errno_ = true;
            out = errno_text(error_.os_error);
            return error_.os_error != 0;
        }
        if (name == "device") return told_place_ = true, id(error_.device, out);
        if (name == "core") return told_place_ = true, id(error_.core, out);
        if (name == "hbm") return id(error_.hbm, out);
        if (name == "value") return number(error_.value, out);
        if (name == "limit") return number(error_.limit, out);
        if (name == "count") return number(error_.asked, out);
        if (name == "lnc") return number(error_.lnc, out);
        if (name == "elsewhere") return number(error_.free, out);
        if (name == "run") return number(error_.largest, out);
        if (name == "blocks") return number(error_.free_blocks, out);
        if (name == "others") return bytes(error_.others, out);
        if (name == "change") return bytes(error_.change, out);
        if (name == "cause") {
            out = name_of(error_.cause);
            return error_.cause != FailureCause::Unknown;
        }
        if (name == "value_bytes") return bytes(error_.value, out);
        if (name == "limit_bytes") return bytes(error_.limit, out);
        if (name == "asked") return bytes(error_.asked, out);
        if (name == "free") return bytes(error_.free, out);
        if (name == "largest") return bytes(error_.largest, out);
        out = "{" + std::string(name) + "?}"; // a slip in the table; a test looks for it
        return true;
    }

    static bool id(std::int32_t number, std::string& out) {
        out = number == Error::kNone ? "?" : std::to_string(number);
        return number != Error::kNone;
    }
    static bool number(std::uint64_t value, std::string& out) {
        out = std::to_string(value);
        return value != 0;
    }
    static bool bytes(std::uint64_t value, std::string& out) {
        out = human(Bytes{value});
        return value != 0;
    }

    const Error& error_;
    bool told_errno_ = false;
    bool told_place_ = false;
};

inline std::string place_of(const Error& error) {
    std::string place;
    const auto add = [&](const char* what, std::int32_t number) {
        if (number == Error::kNone) return;
        place += place.empty() ? " on " : " ";
        place += what + std::to_string(number);
    };
    add("ND ", error.device);
    add("NC ", error.core);
    add("HBM ", error.hbm);
    return place;
}

} // namespace detail

/// One line for people: what was done and where, which rule was broken and by what number, what to
/// do about it where that is known, the errno by name, the status by name and number.
///
///     allocate on ND 0 NC 1 HBM 1: out of device memory: 13.107MB wanted ..., ENOMEM (RESOURCE, 4)
[[nodiscard]] inline std::string describe(const Error& error) {
    std::string said;
    detail::Sentence sentence(error);
    sentence.write(detail::sentence_of(error.detail), said);
    std::string line(detail::operation_name(error.operation));
    if (!sentence.told_place()) line += detail::place_of(error);
    if (!line.empty()) line += ": ";
    line += said;
    // A positive answer is no errno; its sentence has the number.
    if (error.os_error != 0 && !sentence.told_errno() && error.detail != Detail::DriverPositive)
        line += ", " + errno_text(error.os_error);
    line += " (";
    line += name_of(error.status);
    line += ", " + std::to_string(static_cast<std::int32_t>(error.status)) + ")";
    return line;
}

} // namespace v0
} // namespace neuronbook
