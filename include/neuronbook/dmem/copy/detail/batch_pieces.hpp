// SPDX-License-Identifier: Apache-2.0
//
// The pieces of a batch, before and without the driver's own batches.
// Owns: their checks and their order. Does not own: how one piece is copied.
// Layer: dmem.
#pragma once

#include <cstddef>
#include <cstdio>
#include <span>
#include <string_view>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/copy/detail/copy_errors.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

[[nodiscard]] inline std::span<const std::byte> bytes_of_piece(const WritePiece& piece) noexcept {
    return piece.from;
}
[[nodiscard]] inline std::span<std::byte> bytes_of_piece(const ReadPiece& piece) noexcept {
    return piece.to;
}

/// Whether every piece lies in its chunk and has a buffer; the text of a refusal says which does
/// not.
template <class Piece>
[[nodiscard]] Result<void> check_pieces(const CopyPlace& place, std::span<const Piece> pieces) {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const auto buffer = bytes_of_piece(pieces[i]);
        const Bytes size{buffer.size()};
        auto legal = place.check_range(pieces[i].chunk, pieces[i].offset, size);
        if (legal) legal = place.check_buffer(buffer.data(), size);
        if (legal) continue;
        char text[48];
        const int length = std::snprintf(text, sizeof text, "piece %zu of %zu", i, pieces.size());
        auto error = legal.error();
        error.text = std::string_view(text, static_cast<std::size_t>(length));
        return fail(error);
    }
    return {};
}

/// Copies one after the other; the first failure stops and has the piece's number.
template <class Piece, class Copy>
[[nodiscard]] Result<void> one_by_one(std::span<const Piece> pieces, Copy copy) {
    for (std::size_t i = 0; i < pieces.size(); ++i)
        if (auto done = copy(pieces[i]); !done) {
            auto error = done.error();
            error.value = i;
            return fail(error);
        }
    return {};
}

} // namespace detail
} // namespace v0
} // namespace neuronbook
