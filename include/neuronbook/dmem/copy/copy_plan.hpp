// SPDX-License-Identifier: Apache-2.0
//
// In which pieces, and over how many buffers, a copy between a program and a device goes.
// Owns: the plans and their figures. Does not own: doing it (copy_engine.hpp).
// Layer: dmem.   Source: tables.md 16, driver-abi.md 8; the second plan is measured (bench/)
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>

#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {

/// How the pieces of a copy travel.
enum class CopyMode : std::uint8_t {
    Direct,         ///< the driver takes the program's own buffer
    OneBuffer,      ///< through the bounce buffer, each piece done before the next
    DoubleBuffered, ///< over its two halves, a piece in flight while the other half is filled
};

/// The best that a driver on this machine does for a copy.
enum class DriverCopies : std::uint8_t {
    InTheCall,    ///< every copy is done when its call returns
    Aside,        ///< a copy that was started goes on beside the caller
    FromOwnPages, ///< zero-copy: the device reaches the program's own pages
};

/// What a plan says: pieces of `chunk` bytes, the last may be shorter.
struct CopySchedule {
    CopyMode mode = CopyMode::Direct;
    Bytes chunk{};
    std::uint64_t chunks = 0;

    friend constexpr bool operator==(const CopySchedule&, const CopySchedule&) = default;
};

/// A rule that cuts `total` bytes for a bounce buffer of `room` bytes. A chunk is never larger than
/// the room, of DoubleBuffered than half of it; chunks cover the total exactly; 0 has none.
/// Requires of callers: room is a whole number of pages, at least two.
template <class P>
concept CopyPlan =
    std::copyable<P> && requires(const P& plan, Bytes total, Bytes room, DriverCopies driver) {
        { plan.schedule(total, room, driver) } noexcept -> std::same_as<CopySchedule>;
    };

/// What a bounce buffer has unless the host is short of memory.
inline constexpr Bytes kBounceSize{std::uint64_t{2} << 20};

namespace detail {

[[nodiscard]] constexpr CopySchedule cut(CopyMode mode, Bytes total, Bytes chunk) noexcept {
    const auto whole = total.count() / chunk.count();
    return {mode, chunk, whole + (total.count() % chunk.count() != 0 ? 1 : 0)};
}

} // namespace detail

/// The documented plan: up to 0x3FFF bytes in one pass, up to 1 MiB in two halves, above that in
/// pieces of 1 MiB. Right where a started copy runs beside the caller; within one thread the two
/// buffers only push each other out of the cache. With a smaller buffer the pieces are its halves.
struct StagedPlan {
    [[nodiscard]] constexpr CopySchedule schedule(Bytes total, Bytes room,
                                                  DriverCopies) const noexcept {
        constexpr Bytes pass{0x4000}, most{0x100000};
        if (total < pass) return detail::cut(CopyMode::OneBuffer, total, std::min(pass, room));
        auto chunk = most;
        if (total <= most) chunk = *whole_pages(Bytes{total.count() - total.count() / 2});
        const Bytes half{room.count() / 2 / kPage.count() * kPage.count()};
        return detail::cut(CopyMode::DoubleBuffered, total, std::min(chunk, half));
    }
};

/// One buffer of 256 KiB, which stays in the cache: the best staging within one thread, measured.
struct OneBufferPlan {
    [[nodiscard]] constexpr CopySchedule schedule(Bytes total, Bytes room,
                                                  DriverCopies) const noexcept {
        return detail::cut(CopyMode::OneBuffer, total,
                           std::min(Bytes{std::uint64_t{256} << 10}, room));
    }
};

/// Two buffers of 256 KiB in turn: for copies that run beside the caller and cost little to start.
/// The piece being filled and the one on its way stay in the cache; the documented ones, four times
/// as large, do not (measured on the simulated kernel with its engine on a thread).
struct PipelinedPlan {
    [[nodiscard]] constexpr CopySchedule schedule(Bytes total, Bytes room,
                                                  DriverCopies) const noexcept {
        const Bytes half{room.count() / 2 / kPage.count() * kPage.count()};
        return detail::cut(CopyMode::DoubleBuffered, total,
                           std::min(Bytes{std::uint64_t{256} << 10}, half));
    }
};

/// No buffer: for a driver whose copies are done in the call. Staging there moves each byte twice
/// in one thread; the driver's own buffer copy moves it once.
struct SynchronousPlan {
    [[nodiscard]] constexpr CopySchedule schedule(Bytes total, Bytes, DriverCopies) const noexcept {
        return {CopyMode::Direct, total, total == Bytes{0} ? 0u : 1u};
    }
};

/// StagedPlan where started copies run aside. SynchronousPlan elsewhere: also where there is
/// zero-copy, which is the driver's to choose, and moves no byte in this process.
struct PlanByDriver {
    [[nodiscard]] constexpr CopySchedule schedule(Bytes total, Bytes room,
                                                  DriverCopies driver) const noexcept {
        if (driver == DriverCopies::Aside) return StagedPlan{}.schedule(total, room, driver);
        return SynchronousPlan{}.schedule(total, room, driver);
    }
};

static_assert(CopyPlan<StagedPlan> && CopyPlan<OneBufferPlan> && CopyPlan<PipelinedPlan> &&
              CopyPlan<SynchronousPlan> && CopyPlan<PlanByDriver>);

} // namespace v0
} // namespace neuronbook
