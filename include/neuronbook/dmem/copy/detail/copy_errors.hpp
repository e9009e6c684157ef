// SPDX-License-Identifier: Apache-2.0
//
// What may be refused before a copy, and what a failed one says.
// Owns: the checks of ranges, how far a failed copy came. Does not own: sentences (base/).
// Layer: dmem.   Source: tables.md 22
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// Which side of a copy a refusal is about; empty where there is one side.
using CopySide = std::string_view;

/// Where the engine copies, for its errors.
struct CopyPlace {
    HostDeviceId device{};
    CoreIndex core{};

    [[nodiscard]] Error error(Detail detail) const noexcept {
        Error error{.status = Status::Invalid, .operation = Operation::Copy, .detail = detail};
        error.device = static_cast<std::int32_t>(device.value());
        error.core = static_cast<std::int32_t>(core.value());
        return error;
    }

    /// Whether the range lies in the chunk. INVALID with OutOfBounds: offset, size and limit.
    [[nodiscard]] Result<void> check_range(const Chunk& chunk, Bytes offset, Bytes size,
                                           CopySide side = {}) const {
        if (contains(chunk.size, offset, size)) return {};
        auto refusal = error(Detail::OutOfBounds);
        refusal.value = offset.count();
        refusal.asked = size.count();
        refusal.limit = chunk.size.count();
        refusal.text = side;
        return fail(refusal);
    }

    [[nodiscard]] Result<void> check_buffer(const void* buffer, Bytes size) const {
        if (buffer != nullptr || size == Bytes{0}) return {};
        auto refusal = error(Detail::NullPointer);
        refusal.asked = size.count();
        refusal.text = std::string_view("the program's buffer");
        return fail(refusal);
    }
};

/// Whether two ranges that lie in their chunks of one device share a byte. Chunks never do.
[[nodiscard]] inline bool overlap(const Chunk& from, Bytes from_offset, const Chunk& to,
                                  Bytes to_offset, Bytes size) noexcept {
    if (from.handle != to.handle || size == Bytes{0}) return false;
    const auto a = from_offset.count(), b = to_offset.count();
    return a < b ? b - a < size.count() : a - b < size.count();
}

/// Some errors need their number for their sentence.
[[nodiscard]] inline bool value_is_taken(Detail detail) noexcept {
    return detail == Detail::UnknownHandle || detail == Detail::DriverPositive;
}

/// The error of a copy of `total` bytes of which the first `done` arrived.
[[nodiscard]] inline Error failed_after(Error error, Bytes done, Bytes total) noexcept {
    error.operation = Operation::Copy;
    (value_is_taken(error.detail) ? error.limit : error.value) = done.count();
    error.asked = total.count();
    if (!error.text.view().empty() || error.detail == Detail::Stopped) return error;
    char text[ShortText::kCapacity];
    const int size = std::snprintf(text, sizeof text, "%llu of %llu bytes arrived",
                                   static_cast<unsigned long long>(done.count()),
                                   static_cast<unsigned long long>(total.count()));
    error.text = std::string_view(text, static_cast<std::size_t>(size));
    return error;
}

} // namespace detail

/// Of the error of a copy that the driver, or the caller's progress function, ended: how many bytes
/// from the start are surely where they belong. Some of what follows may be there, too.
/// Error::value, but for UnknownHandle and DriverPositive, whose value is what was refused: there
/// Error::limit.
[[nodiscard]] inline Bytes bytes_arrived(const Error& error) noexcept {
    return Bytes{detail::value_is_taken(error.detail) ? error.limit : error.value};
}

} // namespace v0
} // namespace neuronbook
