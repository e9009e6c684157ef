// SPDX-License-Identifier: Apache-2.0
//
// The copies of one core: to and from a program, inside a device, fills and batches.
// Owns: the way each takes, the core's bounce buffer. Does not own: chunks, the driver, bounds that
// are tighter than the chunk's (allocator.hpp).
// Layer: dmem.   libnrt: dmem_buf_copyin. Source: tables.md 16 and 22
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/copy/bounce_buffer.hpp"
#include "neuronbook/dmem/copy/copy_plan.hpp"
#include "neuronbook/dmem/copy/copy_progress.hpp"
#include "neuronbook/dmem/copy/detail/batch_pieces.hpp"
#include "neuronbook/dmem/copy/detail/copy_errors.hpp"
#include "neuronbook/dmem/copy/detail/copy_turns.hpp"
#include "neuronbook/dmem/copy/detail/driver_copies.hpp"
#include "neuronbook/dmem/copy/detail/heap_copy.hpp"
#include "neuronbook/dmem/copy/detail/staged_turn.hpp"

namespace neuronbook {
inline namespace v0 {

/// After so many bytes a copy has nothing in flight and holds nothing: it tells how far it is, and
/// lines up behind the others that want the core's bounce buffer. About 1 ms of a device's link, so
/// that a short copy waits no longer than that for each one before it; restarting the double buffer
/// costs one piece in sixteen.
inline constexpr Bytes kCopyTurn{std::uint64_t{16} << 20};

/// Whether a driver can stage copies at all.
template <class D>
concept StagingOps = MemoryOps<D> && CopyOps<D> && MapOps<D> && ChunkCopyOps<D>;

namespace detail {

template <class D, class Provider>
struct BounceFor {
    using type = NoBounceBuffer;
};
template <StagingOps D, class Provider>
struct BounceFor<D, Provider> {
    using type = BounceBuffer<D, Provider>;
};

} // namespace detail

/// Copies for one core of one device. Which way a copy takes:
///
/// | what | way |
/// |---|---|
/// | host memory | the driver's buffer copy |
/// | device memory | as the plan says; PlanByDriver goes by what the driver can do |
///
/// Sizes may be 0 (no call) and above 4 GiB. The range is checked against the chunk before any
/// call: INVALID with OutOfBounds (value: offset, asked: size, limit: the chunk's size). A copy
/// that fails on the way says how many bytes arrived (bytes_arrived()) and how many were asked;
/// nothing is in flight afterwards. Where the driver may not be spoken to, its own refusal comes
/// back.
///
/// Chunks are of this engine's device. Those on the device are allocated for its core: the driver
/// picks the queue by that, and one with more than one chain on a queue loses copies.
///
/// Thread safety: any thread, except close(), abandon() and the destructor. Threads on one core
/// take turns of kCopyTurn, in the order in which they came.
///
/// libnrt: dmem_buf_copyin.
/// Differs: the plan depends on the driver; long copies let short ones pass; a copy that is stopped
/// says how far it came.
template <class D, CopyPlan Plan = PlanByDriver, BounceProvider Provider = DriverBounce<D>>
    requires MemoryOps<D> && CopyOps<D>
class CopyEngine {
public:
    /// The driver must outlive it. Makes no call: the bounce buffer comes with the first copy that
    /// needs it.
    CopyEngine(D& driver, HostDeviceId device, CoreIndex core, Provider provider, Plan plan = {})
        : driver_(driver), place_{device, core}, plan_(plan),
          bounce_(driver, device, std::move(provider)) {}

    CopyEngine(D& driver, HostDeviceId device, CoreIndex core)
        requires std::same_as<Provider, DriverBounce<D>>
        : CopyEngine(driver, device, core, Provider(driver, device, core)) {}

    /// Effects: gives the bounce buffer back; staged copies answer CLOSED from now on.
    void close() noexcept { bounce_.close(); }
    /// Effects: forgets it without a call.
    void abandon() noexcept { bounce_.abandon(); }

    /// Copies `from` into the chunk at `offset`. libnrt: dmem_buf_copyin
    Result<void> write(const Chunk& chunk, Bytes offset, std::span<const std::byte> from,
                       ProgressRef progress = {}) {
        return move(chunk, offset, from, progress);
    }
    /// Copies from the chunk at `offset` into `to`. libnrt: dmem_buf_copyin (the other way)
    Result<void> read(const Chunk& chunk, Bytes offset, std::span<std::byte> to,
                      ProgressRef progress = {}) {
        return move(chunk, offset, to, progress);
    }

    /// Sets bytes of the chunk to `value`: by the driver where it can, else by write().
    Result<void> fill(const Chunk& chunk, Bytes offset, Bytes size, std::byte value) {
        if (auto legal = place_.check_range(chunk, offset, size); !legal) return legal;
        if constexpr (FillOps<D>) {
            return detail::in_turns(place_, size, kCallMost, {}, [&](Bytes done, Bytes turn) {
                return detail::all_or_nothing(
                    turn, driver_.fill(place_.device, chunk, sum(offset, done), turn, value));
            });
        } else {
            const detail::HeapBuffer pattern(size);
            std::memset(pattern.bytes.get(), std::to_integer<int>(value), pattern.size.count());
            return detail::in_turns(place_, size, pattern.size, {}, [&](Bytes done, Bytes turn) {
                return detail::part_of(turn, write(chunk, sum(offset, done), pattern.first(turn)));
            });
        }
    }

    /// Copies between two chunks of this device, or two places of one.
    /// - On one HBM, and from or to host memory: by the driver alone.
    /// - Across HBMs: by the driver into the bounce buffer and from there. The driver would take it
    ///   as one copy, but the original never asks for that, and nobody has seen what a device does.
    ///   Not double-buffered: both halves of the way are copies of one queue.
    /// Errors: INVALID with RangesOverlap (value, limit: the two offsets, asked: size) where two
    /// ranges of one chunk share a byte: the driver leaves undefined what is there then.
    Result<void> copy(const Chunk& from, Bytes from_offset, const Chunk& to, Bytes to_offset,
                      Bytes size, ProgressRef progress = {}) {
        auto legal = place_.check_range(from, from_offset, size, "source");
        if (legal) legal = place_.check_range(to, to_offset, size, "destination");
        if (!legal) return legal;
        if (detail::overlap(from, from_offset, to, to_offset, size)) {
            auto error = place_.error(Detail::RangesOverlap);
            error.value = from_offset.count();
            error.limit = to_offset.count();
            error.asked = size.count();
            return fail(error);
        }
        return detail::in_turns(place_, size, kCopyTurn, progress, [&](Bytes done, Bytes turn) {
            return copy_turn(from, sum(from_offset, done), to, sum(to_offset, done), turn);
        });
    }

    /// Many writes, or reads, in few driver calls where the driver can, else one by one. All pieces
    /// are checked before the first call; the first failure stops, and its Error::value is the
    /// number of the piece. Of a piece that is out of bounds the text has the number.
    Result<void> write_batch(std::span<const WritePiece> pieces) {
        if (auto legal = detail::check_pieces(place_, pieces); !legal) return legal;
        if constexpr (BatchCopyOps<D>)
            return driver_.write_batch(place_.device, place_.core, pieces);
        else
            return detail::one_by_one(pieces, [&](const WritePiece& piece) {
                return write(piece.chunk, piece.offset, piece.from);
            });
    }
    Result<void> read_batch(std::span<const ReadPiece> pieces) {
        if (auto legal = detail::check_pieces(place_, pieces); !legal) return legal;
        if constexpr (BatchCopyOps<D>)
            return driver_.read_batch(place_.device, place_.core, pieces);
        else
            return detail::one_by_one(pieces, [&](const ReadPiece& piece) {
                return read(piece.chunk, piece.offset, piece.to);
            });
    }

    /// Whether a chunk of the other's can be named in calls of this one.
    [[nodiscard]] bool same_device(const CopyEngine& other) const noexcept {
        return &driver_ == &other.driver_ && place_.device == other.place_.device;
    }
    [[nodiscard]] HostDeviceId device() const noexcept { return place_.device; }
    [[nodiscard]] CoreIndex core() const noexcept { return place_.core; }
    /// Bytes of the bounce buffer; 0 before the first copy that needed it.
    [[nodiscard]] Bytes bounce_size() { return bounce_.size(); }
    /// What the plan says to a copy of so many bytes of device memory, for reports and benchmarks.
    [[nodiscard]] CopySchedule schedule(Bytes total) const noexcept {
        return plan(total, kBounceSize);
    }

private:
    /// Most that one fill asks for: the driver's short form counts in 32 bits.
    static constexpr Bytes kCallMost{std::uint64_t{1} << 30};

    template <class T>
    Result<void> move(const Chunk& chunk, Bytes offset, std::span<T> buffer, ProgressRef progress) {
        const Bytes total{buffer.size()};
        auto legal = place_.check_range(chunk, offset, total);
        if (legal) legal = place_.check_buffer(buffer.data(), total);
        if (!legal) return legal;
        const auto turns = [&](Bytes most, auto one) {
            return detail::in_turns(place_, total, most, progress, [&](Bytes done, Bytes turn) {
                return one(sum(offset, done), buffer.subspan(done.count(), turn.count()));
            });
        };
        // A child of fork() must not wait for the buffer, which a thread of its parent may have.
        const bool stage = chunk.location == MemoryLocation::Device && view().usable() &&
                           plan(total, kBounceSize).mode != CopyMode::Direct;
        if (!StagingOps<D> || !stage)
            return turns(kCopyTurn, [&](Bytes at, std::span<T> part) {
                return detail::all_or_nothing(Bytes{part.size()}, direct(chunk, at, part));
            });
        if constexpr (StagingOps<D>)
            return turns(kCopyTurn, [&](Bytes at, std::span<T> part) {
                return staged_turn(chunk, at, part, total);
            });
        return {};
    }

    Result<void> direct(const Chunk& chunk, Bytes offset, std::span<const std::byte> from) {
        return driver_.write(place_.device, chunk, offset, from);
    }
    Result<void> direct(const Chunk& chunk, Bytes offset, std::span<std::byte> to) {
        return driver_.read(place_.device, chunk, offset, to);
    }

    template <class T>
    detail::Moved staged_turn(const Chunk& chunk, Bytes offset, std::span<T> part, Bytes total) {
        constexpr bool writes = std::is_const_v<T>;
        const auto mine = bounce_.take();
        if (!mine) return {Bytes{0}, fail(mine.error())};
        const auto way = plan(total, mine->chunk().size);
        const bool halves = way.mode == CopyMode::DoubleBuffered;
        const auto most = mine->bytes().size() / (halves ? 2 : 1);
        detail::StagedTurn<D> turn{driver_, place_, mine->chunk(), mine->bytes(),
                                   std::clamp<std::size_t>(way.chunk.count(), 1, most)};
        if constexpr (AsyncCopyOps<D>)
            if (halves) {
                if constexpr (writes)
                    return turn.in_halves(chunk, offset, part);
                else
                    return turn.out_halves(chunk, offset, part);
            }
        if constexpr (writes)
            return turn.in(chunk, offset, part);
        else
            return turn.out(chunk, offset, part);
    }

    detail::Moved copy_turn(const Chunk& from, Bytes from_offset, const Chunk& to, Bytes to_offset,
                            Bytes size) {
        if constexpr (StagingOps<D>) {
            const bool across = from.location == MemoryLocation::Device &&
                                to.location == MemoryLocation::Device && from.hbm != to.hbm;
            if (!across || !view().usable())
                return detail::all_or_nothing(
                    size, driver_.copy(place_.device, from, from_offset, to, to_offset, size));
            return over_the_host(from, from_offset, to, to_offset, size);
        } else {
            return detail::by_reading_and_writing(*this, from, from_offset, *this, to, to_offset,
                                                  size);
        }
    }

    detail::Moved over_the_host(const Chunk& from, Bytes from_offset, const Chunk& to,
                                Bytes to_offset, Bytes size)
        requires StagingOps<D>
    {
        const auto mine = bounce_.take();
        if (!mine) return {Bytes{0}, fail(mine.error())};
        const auto& bounce = mine->chunk();
        return detail::pieces_of(size, bounce.size, [&](Bytes done, Bytes piece) -> Result<void> {
            auto moved =
                driver_.copy(place_.device, from, sum(from_offset, done), bounce, Bytes{0}, piece);
            if (!moved) return moved;
            return driver_.copy(place_.device, bounce, Bytes{0}, to, sum(to_offset, done), piece);
        });
    }

    [[nodiscard]] CopySchedule plan(Bytes total, Bytes room) const noexcept {
        if constexpr (StagingOps<D>) {
            auto way = plan_.schedule(total, room, detail::copies_of(view()));
            if (way.mode == CopyMode::DoubleBuffered && !detail::has_chains(view()))
                way.mode = CopyMode::OneBuffer;
            return way;
        } else {
            return SynchronousPlan{}.schedule(total, room, DriverCopies::InTheCall);
        }
    }

    [[nodiscard]] const D& view() const noexcept { return driver_; }
    /// Inside of a range that was checked.
    static Bytes sum(Bytes offset, Bytes done) noexcept {
        return Bytes{offset.count() + done.count()};
    }

    D& driver_;
    const detail::CopyPlace place_;
    const Plan plan_;
    typename detail::BounceFor<D, Provider>::type bounce_;
};

} // namespace v0
} // namespace neuronbook
