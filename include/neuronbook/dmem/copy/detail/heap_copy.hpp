// SPDX-License-Identifier: Apache-2.0
//
// Copies through plain memory of this process, where nothing better is common to both ends.
// Owns: that memory, piece by piece. Does not own: the engines that read and write.
// Layer: dmem.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/copy/detail/copy_turns.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// Plain memory for a piece of at most 1 MiB, not zeroed.
struct HeapBuffer {
    static constexpr Bytes kMost{std::uint64_t{1} << 20};

    explicit HeapBuffer(Bytes wanted)
        : size(std::min(std::max(wanted, Bytes{1}), kMost)),
          bytes(new std::byte[static_cast<std::size_t>(size.count())]) {}

    [[nodiscard]] std::span<std::byte> first(Bytes count) const noexcept {
        return {bytes.get(), static_cast<std::size_t>(count.count())};
    }

    Bytes size;
    std::unique_ptr<std::byte[]> bytes;
};

/// Calls `piece(done, size)` for pieces of at most `most` until one fails.
template <class Piece>
[[nodiscard]] Moved pieces_of(Bytes total, Bytes most, Piece piece) {
    Bytes done{};
    while (done < total) {
        const Bytes size{std::min(most.count(), total.count() - done.count())};
        auto moved = piece(done, size);
        if (!moved) return {done, moved};
        done = Bytes{done.count() + size.count()};
    }
    return {done, {}};
}

/// The outcome of a copy that is a piece of a larger one, whose error counts the larger one's
/// bytes.
[[nodiscard]] inline Moved part_of(Bytes size, Result<void> done) {
    if (done) return {size, {}};
    auto error = done.error();
    const Bytes moved = bytes_arrived(error);
    error.text = {};
    return {moved, fail(error)};
}

/// Reads a piece from one engine's chunk and writes it to the other's.
template <class From, class To>
[[nodiscard]] Moved by_reading_and_writing(From& source, const Chunk& from, Bytes from_offset,
                                           To& target, const Chunk& to, Bytes to_offset,
                                           Bytes size) {
    const HeapBuffer buffer(size);
    return pieces_of(size, buffer.size, [&](Bytes done, Bytes piece) -> Result<void> {
        const auto bytes = buffer.first(piece);
        auto moved = source.read(from, Bytes{from_offset.count() + done.count()}, bytes);
        if (moved) moved = target.write(to, Bytes{to_offset.count() + done.count()}, bytes);
        if (moved) return {};
        auto error = moved.error();
        error.text = {}; // of the piece; the whole copy's is put in later
        return fail(error);
    });
}

} // namespace detail
} // namespace v0
} // namespace neuronbook
