// SPDX-License-Identifier: Apache-2.0
//
// The marks of a process: what its book says against what the kernel has.
// Owns: noticing that marks are gone, making them again, giving them back. Does not own: who claims
// what (door_lease.hpp). Layer: backend.   Source: driver-abi.md 2.4, 5.6; tables.md 22
#pragma once

#include <cerrno>
#include <cstdint>

#include "neuronbook/backend/door/door.hpp"
#include "neuronbook/backend/ioctl/channel.hpp"
#include "neuronbook/backend/ioctl/mark_requests.hpp"
#include "neuronbook/base/log.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// Used while the door's mutex is held, for one operation.
///
/// The kernel drops all marks of a process when any O_WRONLY descriptor of the lane is closed by
/// it, the program's own ones as well, and nobody is told. What follows can be noticed only by
/// asking. Limit: a core that is marked looks the same whoever marked it, so a loss shows as long
/// as one of the process's cores is still free. When others have taken every one of them, it never
/// does.
template <Port P>
class DoorMarks {
public:
    DoorMarks(P& port, Door& door, std::uint32_t cores_per_device, bool big_maps) noexcept
        : port_(port), door_(door),
          lane_{door.misc_fd, door.misc_device.value() * cores_per_device, big_maps} {}

    [[nodiscard]] const MarkLane& lane() const noexcept { return lane_; }

    /// Whether the process has the mark of a core, as far as the book knows.
    [[nodiscard]] bool marked(std::uint32_t core) const noexcept {
        return door_.claims[core] != 0 && door_.lost[core] == 0;
    }

    /// Effects: looks whether the process still has its marks, by one request for each run of
    /// cores, and makes lost ones again, with a line in the log. `concerned` are the cores whose
    /// loss the caller must hear of, `told` the number of the last loss it has heard of. Errors:
    /// LOAD_NOT_ENOUGH_NC with MarkTaken (value: the core) when another process was faster with one
    /// of them, once; later operations work again, and do not count that core as ours.
    Result<void> check(const CoreSet& concerned, std::uint32_t& told) {
        give_back_owed();
        bool dropped = false;
        for (std::uint32_t i = 0; i < kMaxUserCores && !dropped; ++i) {
            const std::uint32_t begin = i;
            while (i < kMaxUserCores && marked(i)) ++i;
            if (i == begin) continue;
            const auto longest = longest_free(port_, lane_, begin, i);
            if (!longest) return fail(longest.error());
            dropped = *longest != 0;
        }
        if (dropped) ++door_.losses;
        for (std::uint32_t i = 0; i < kMaxUserCores && dropped; ++i)
            if (marked(i)) door_.lost[i] = door_.losses;
        if (auto again = mark_again(); !again) return again;
        for (std::uint32_t i = 0; i < kMaxUserCores; ++i) {
            if (!concerned[i] || door_.lost[i] <= told) continue;
            told = door_.losses;
            return fail({.status = Status::LoadNotEnoughNc,
                         .operation = Operation::ClaimCores,
                         .detail = Detail::MarkTaken,
                         .os_error = EBUSY,
                         .value = i,
                         .asked = 1});
        }
        return {};
    }

    /// Effects: gives up marks of the process. What the driver does not take back is owed, and
    /// tried again at the door's next operations.
    Result<void> give_back(const CoreSet& cores) {
        if (cores.none()) return {};
        auto done = unmark_cores(port_, lane_, cores);
        for (std::uint32_t i = 0; i < kMaxUserCores && !done; ++i)
            if (cores[i]) door_.owed[i] = true;
        return done;
    }

    /// Effects: tries what is owed once more. A core that is claimed meanwhile is owed no more.
    void give_back_owed() {
        CoreSet owed;
        for (std::uint32_t i = 0; i < kMaxUserCores; ++i)
            owed.set(i, door_.owed[i] && door_.claims[i] == 0);
        door_.owed.fill(false);
        (void)give_back(owed); // owed again
    }

private:
    /// Marks first what is free. A core that looks busy may have been marked by this process since
    /// the drop, so it is given up and marked again, alone: only then is it surely another's.
    Result<void> mark_again() {
        CoreRunText again;
        CoreRunText taken;
        Result<void> whole;
        for (std::uint32_t i = 0; i < kMaxUserCores && whole; ++i) {
            if (door_.lost[i] == 0) continue;
            auto done = mark_cores(port_, lane_, i, i + 1);
            if (is_busy(done) && !door_.taken[i]) {
                CoreSet core;
                done = unmark_cores(port_, lane_, core.set(i));
                if (done) done = mark_cores(port_, lane_, i, i + 1);
                if (is_busy(done)) {
                    door_.taken[i] = true;
                    taken.add(i);
                }
            }
            if (done) {
                door_.lost[i] = 0;
                door_.taken[i] = false;
                again.add(i);
            } else if (!is_busy(done)) {
                whole = done;
            }
        }
        if (!again.empty())
            Log::write(LogLevel::Error,
                       "the marks of cores %s were lost and are made again: the program closed a "
                       "descriptor of /dev/neuron* that it had opened O_WRONLY itself",
                       again.text());
        if (!taken.empty())
            Log::write(LogLevel::Error,
                       "the marks of cores %s were lost, and another process has these cores now",
                       taken.text());
        return whole;
    }

    static bool is_busy(const Result<void>& done) {
        return !done && done.error().detail == Detail::CoresBusy;
    }

    P& port_;
    Door& door_;
    MarkLane lane_;
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
