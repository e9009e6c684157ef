// SPDX-License-Identifier: Apache-2.0
//
// One turn of a staged copy: pieces that go through a bounce buffer one behind the other.
// Owns: which half is whose, what is delivered when a piece fails. Does not own: the buffer.
// Layer: dmem.   Source: tables.md 16
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/copy/detail/copy_errors.hpp"
#include "neuronbook/dmem/copy/detail/copy_turns.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// The pieces of one turn, which never are of size 0.
template <class T>
struct Pieces {
    std::span<T> all;
    std::size_t chunk;

    [[nodiscard]] std::size_t count() const noexcept { return (all.size() + chunk - 1) / chunk; }
    [[nodiscard]] std::size_t start(std::size_t i) const noexcept {
        return std::min(i * chunk, all.size());
    }
    [[nodiscard]] std::span<T> operator[](std::size_t i) const noexcept {
        return all.subspan(start(i), start(i + 1) - start(i));
    }
};

/// How many copies of a chain are surely done after one of them failed. A chain that counts tells;
/// of another it is known that all before the last one started are.
template <class C>
[[nodiscard]] std::size_t surely_done(const C& chain, std::size_t started) noexcept {
    if constexpr (requires {
                      { chain.completed() } -> std::convertible_to<std::uint64_t>;
                  })
        return std::min<std::size_t>(chain.completed(), started);
    else
        return started == 0 ? 0 : started - 1;
}

/// A bounce buffer that one copy has for now.
template <class D>
struct StagedTurn {
    D& driver;
    CopyPlace place;
    const Chunk& bounce;
    std::span<std::byte> buffer; ///< the bounce chunk's bytes
    std::size_t chunk;           ///< of a piece; at most the buffer, half of it in *_halves()

    /// Each piece done before the next.
    Moved in(const Chunk& to, Bytes offset, std::span<const std::byte> from)
        requires ChunkCopyOps<D>
    {
        const Pieces<const std::byte> pieces{from, chunk};
        for (std::size_t i = 0; i < pieces.count(); ++i) {
            std::memcpy(buffer.data(), pieces[i].data(), pieces[i].size());
            auto done = driver.copy(place.device, bounce, Bytes{0}, to, at(offset, pieces.start(i)),
                                    Bytes{pieces[i].size()});
            if (!done) return {Bytes{pieces.start(i)}, done};
        }
        return {Bytes{from.size()}, {}};
    }

    Moved out(const Chunk& from, Bytes offset, std::span<std::byte> to)
        requires ChunkCopyOps<D>
    {
        const Pieces<std::byte> pieces{to, chunk};
        for (std::size_t i = 0; i < pieces.count(); ++i) {
            auto done = driver.copy(place.device, from, at(offset, pieces.start(i)), bounce,
                                    Bytes{0}, Bytes{pieces[i].size()});
            if (!done) return {Bytes{pieces.start(i)}, done};
            std::memcpy(pieces[i].data(), buffer.data(), pieces[i].size());
        }
        return {Bytes{to.size()}, {}};
    }

    /// While a piece is in flight from one half, the next is put into the other: start() has waited
    /// for the piece that was there before.
    Moved in_halves(const Chunk& to, Bytes offset, std::span<const std::byte> from)
        requires AsyncCopyOps<D>
    {
        const Pieces<const std::byte> pieces{from, chunk};
        auto chain = driver.begin_copies(place.device, place.core);
        if (!chain) return {Bytes{0}, fail(chain.error())};
        for (std::size_t i = 0; i < pieces.count(); ++i) {
            std::memcpy(half(i), pieces[i].data(), pieces[i].size());
            auto started = chain->start(bounce, half_offset(i), to, at(offset, pieces.start(i)),
                                        Bytes{pieces[i].size()});
            if (!started) return {Bytes{pieces.start(surely_done(*chain, i))}, started};
        }
        auto finished = chain->finish();
        if (finished) return {Bytes{from.size()}, {}};
        return {Bytes{pieces.start(surely_done(*chain, pieces.count()))}, finished};
    }

    /// While a piece is in flight to one half, the one before is delivered from the other. When a
    /// piece fails, what is surely in a half is delivered all the same.
    Moved out_halves(const Chunk& from, Bytes offset, std::span<std::byte> to)
        requires AsyncCopyOps<D>
    {
        const Pieces<std::byte> pieces{to, chunk};
        std::size_t delivered = 0;
        const auto deliver_until = [&](std::size_t end) {
            for (; delivered < end; ++delivered)
                std::memcpy(pieces[delivered].data(), half(delivered), pieces[delivered].size());
        };
        auto chain = driver.begin_copies(place.device, place.core);
        if (!chain) return {Bytes{0}, fail(chain.error())};
        for (std::size_t i = 0; i < pieces.count(); ++i) {
            auto started = chain->start(from, at(offset, pieces.start(i)), bounce, half_offset(i),
                                        Bytes{pieces[i].size()});
            deliver_until(started ? i : surely_done(*chain, i));
            if (!started) return {Bytes{pieces.start(delivered)}, started};
        }
        auto finished = chain->finish();
        deliver_until(finished ? pieces.count() : surely_done(*chain, pieces.count()));
        return {Bytes{pieces.start(delivered)}, finished};
    }

private:
    /// Inside of a range that was checked.
    static Bytes at(Bytes offset, std::size_t start) noexcept {
        return Bytes{offset.count() + start};
    }
    static constexpr std::uint64_t kHalves = 2;
    [[nodiscard]] std::byte* half(std::size_t i) const noexcept {
        return buffer.data() + i % kHalves * chunk;
    }
    [[nodiscard]] Bytes half_offset(std::size_t i) const noexcept {
        return Bytes{i % kHalves * chunk};
    }
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
