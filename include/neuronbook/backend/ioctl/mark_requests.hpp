// SPDX-License-Identifier: Apache-2.0
//
// Requests about the host-wide map of claimed cores, on the discovery lane.
// Owns: encoding and decoding. Does not own: which cores a process has (door.hpp).
// Layer: backend.   Source: driver-abi.md 5.6
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/backend/ioctl/channel.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

static_assert(kMaxUserCores == uapi::kCoreSlots);
/// Cores in the map of a driver before 2.14.
inline constexpr std::uint32_t kSmallMap = 64;

/// The lane and how it counts: from the core of number `base`, in maps of 512 cores, or of 64 with
/// a driver before 2.14.
struct MarkLane {
    int fd = -1;
    std::uint32_t base = 0;
    bool big_maps = true;
};

/// Core numbers as text, given in ascending order: 0-3,6. Cut where it becomes too long.
class CoreRunText {
public:
    void add(std::uint32_t core) noexcept {
        const bool goes_on = size_ != 0 && core == last_ + 1;
        if (goes_on)
            size_ = run_end_;
        else if (size_ != 0)
            put(',');
        if (goes_on) put('-');
        char digits[12];
        std::snprintf(digits, sizeof digits, "%u", core);
        for (const char* at = digits; *at != 0; ++at) put(*at);
        if (!goes_on) run_end_ = size_;
        last_ = core;
    }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] const char* text() const noexcept { return text_; }

private:
    void put(char c) noexcept {
        if (size_ + 1 == sizeof text_) return;
        text_[size_++] = c;
        text_[size_] = 0;
    }

    char text_[256]{};
    std::size_t size_ = 0;
    std::size_t run_end_ = 0; ///< behind the first number of the run at the end
    std::uint32_t last_ = 0;
};

/// One MARK of a run of `count` among [begin, end). `longest` gets the longest free run that the
/// driver saw and that was too short.
template <Port P>
Result<void> send_mark(P& port, const MarkLane& lane, std::uint32_t begin, std::uint32_t end,
                       std::uint32_t count, std::uint32_t& longest) {
    const auto send = [&](auto range, std::uint32_t word) {
        range.nc_count = count;
        range.start_nc_index = begin - lane.base;
        range.end_nc_index = end - lane.base - 1;
        auto done = request(port, lane.fd, word, range, Operation::ClaimCores, CallKind::Mark);
        longest = range.max_nc_available;
        return done;
    };
    return lane.big_maps ? send(uapi::CrwlNcMapExt{}, uapi::kCrwlNcRangeMarkExt0)
                         : send(uapi::CrwlNcMap{}, uapi::kCrwlNcRangeMark);
}

/// Effects: marks all of [begin, end), or none. Errors: LOAD_NOT_ENOUGH_NC with the first core, how
/// many were asked and the longest run that is free.
template <Port P>
Result<void> mark_cores(P& port, const MarkLane& lane, std::uint32_t begin, std::uint32_t end) {
    if (!lane.big_maps && end - lane.base > kSmallMap) // its unmark could not name them
        return fail({.operation = Operation::ClaimCores,
                     .detail = Detail::NotOnThisDriver,
                     .value = end - 1,
                     .limit = lane.base + kSmallMap,
                     .text = std::string_view("cores past the first 64")});
    std::uint32_t longest = 0;
    auto marked = send_mark(port, lane, begin, end, end - begin, longest);
    if (marked) return marked;
    marked.error().value = begin;
    marked.error().asked = end - begin;
    marked.error().limit = longest;
    return marked;
}

/// Effects: none; the length of the longest free run of [begin, end). A mark of more cores than the
/// range has can never succeed, and the driver says nevertheless what it saw.
template <Port P>
Result<std::uint32_t> longest_free(P& port, const MarkLane& lane, std::uint32_t begin,
                                   std::uint32_t end) {
    std::uint32_t longest = 0;
    const auto marked = send_mark(port, lane, begin, end, end - begin + 1, longest);
    if (!marked && marked.error().os_error == EBUSY) return std::min(longest, end - begin);
    if (!marked) return fail(marked.error());
    return fail({.operation = Operation::ClaimCores,
                 .detail = Detail::SelfCheckFailed,
                 .value = begin,
                 .text = std::string_view("the driver marked more cores than it was shown")});
}

/// Effects: adds the free cores of [begin, end) to the set, by halves, until a part is all free or
/// all taken.
template <Port P>
Result<void> add_free(P& port, const MarkLane& lane, std::uint32_t begin, std::uint32_t end,
                      CoreSet& found) {
    const auto longest = longest_free(port, lane, begin, end);
    if (!longest) return fail(longest.error());
    if (*longest == 0) return {};
    if (*longest < end - begin) {
        const std::uint32_t middle = begin + (end - begin) / 2;
        auto done = add_free(port, lane, begin, middle, found);
        return done ? add_free(port, lane, middle, end, found) : done;
    }
    for (std::uint32_t i = begin; i < end; ++i) found.set(i);
    return {};
}

/// Effects: gives up the cores of the set; the driver leaves alone what is not this process's.
template <Port P>
Result<void> unmark_cores(P& port, const MarkLane& lane, const CoreSet& cores) {
    uapi::CrwlNcMapExt range{};
    for (std::uint32_t i = lane.base; i < kMaxUserCores; ++i)
        if (cores[i])
            range.bitmap[(i - lane.base) / 64] |= std::uint64_t{1} << (i - lane.base) % 64;
    constexpr auto operation = Operation::ReleaseCores;
    if (lane.big_maps)
        return request(port, lane.fd, uapi::kCrwlNcRangeUnmarkExt0, range, operation,
                       CallKind::Mark);
    uapi::CrwlNcMap small{.bitmap = range.bitmap[0]};
    return request(port, lane.fd, uapi::kCrwlNcRangeUnmark, small, operation, CallKind::Mark);
}

} // namespace detail
} // namespace v0
} // namespace neuronbook
