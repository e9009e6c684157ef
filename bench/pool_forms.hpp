// SPDX-License-Identifier: Apache-2.0
//
// Ways to hand out parts of a range, for comparison: each the plainest form of a design that others
// use. take() answers false where nothing fits; sizes are multiples of 256 bytes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include "neuronbook/dmem/pool/segregated_fit.hpp"

namespace bench {

/// The library's, with its look-up of inner addresses kept.
class Segregated {
    using Fit = neuronbook::SegregatedFit;

public:
    using Handle = Fit::Place;
    explicit Segregated(std::uint64_t range) : segment_(0, range) {
        prepare();
        fit_.add(segment_);
    }
    bool take(std::uint64_t size, Handle& handle) {
        if (!fit_.ready()) prepare();
        handle = fit_.allocate(Fit::round_up(size));
        return handle != Fit::kNone;
    }
    void give(Handle handle) { fit_.free(handle); }

private:
    void prepare() {
        auto room = Fit::make_room(fit_.extent());
        fit_.give(room);
    }
    Fit fit_;
    Fit::Segment segment_;
};

/// Best fit over a std::set by size and address; a range knows its neighbours.
class BestFit {
    struct Range {
        std::uint64_t start, size;
        Range *before, *after;
        bool used;
    };
    struct Smaller {
        bool operator()(const Range* a, const Range* b) const {
            return std::tie(a->size, a->start) < std::tie(b->size, b->start);
        }
    };

public:
    using Handle = Range*;
    explicit BestFit(std::uint64_t range) {
        free_.insert(new Range{0, range, nullptr, nullptr, false});
    }
    BestFit(const BestFit&) = delete;
    BestFit& operator=(const BestFit&) = delete;
    ~BestFit() {
        if (first_ == nullptr && !free_.empty()) first_ = *free_.begin();
        while (first_ != nullptr && first_->before != nullptr) first_ = first_->before;
        while (first_ != nullptr) delete std::exchange(first_, first_->after);
    }

    bool take(std::uint64_t size, Handle& handle) {
        Range wish{0, size, nullptr, nullptr, false};
        const auto at = free_.lower_bound(&wish);
        if (at == free_.end()) return false;
        handle = *at;
        free_.erase(at);
        if (handle->size > size) {
            auto* rest =
                new Range{handle->start + size, handle->size - size, handle, handle->after, false};
            if (rest->after != nullptr) rest->after->before = rest;
            handle->after = rest;
            handle->size = size;
            free_.insert(rest);
        }
        handle->used = true;
        first_ = handle;
        return true;
    }
    void give(Handle range) {
        range->used = false;
        if (range->after != nullptr && !range->after->used) swallow(range, range->after);
        if (range->before != nullptr && !range->before->used) {
            auto* before = range->before;
            free_.erase(before);
            absorb(before, range);
            range = before;
        }
        free_.insert(range);
        first_ = range;
    }

private:
    void swallow(Range* range, Range* after) {
        free_.erase(after);
        absorb(range, after);
    }
    static void absorb(Range* range, Range* after) {
        range->size += after->size;
        range->after = after->after;
        if (range->after != nullptr) range->after->before = range;
        delete after;
    }
    std::set<Range*, Smaller> free_;
    Range* first_ = nullptr; ///< any; the way to all others
};

/// Two-level segregated fit and nothing else: nodes in a vector, no index, no growth.
class PlainFit {
    static constexpr std::uint32_t kNil = ~0u;
    struct Range {
        std::uint64_t start, size; // the lowest bit: used
        std::uint32_t before, after, left, right;
    };

public:
    using Handle = std::uint32_t;
    explicit PlainFit(std::uint64_t range) {
        for (auto& row : first_) std::fill(std::begin(row), std::end(row), kNil);
        ranges_.reserve(1024);
        ranges_.push_back({0, range, kNil, kNil, kNil, kNil});
        enter(0);
    }
    bool take(std::uint64_t size, Handle& handle) {
        const auto [row, column] = place(size);
        handle = first_[row][column];
        if (handle == kNil || ranges_[handle].size < size) {
            const Handle own = handle;
            handle = above(row, column);
            for (Handle i = own; handle == kNil && i != kNil; i = ranges_[i].right)
                if (ranges_[i].size >= size) handle = i;
            if (handle == kNil) return false;
        }
        leave(handle);
        if (const std::uint64_t rest = ranges_[handle].size - size; rest != 0) {
            const Handle tail = fresh();
            Range& range = ranges_[handle];
            ranges_[tail] = {range.start + size, rest, handle, range.after, kNil, kNil};
            if (range.after != kNil) ranges_[range.after].before = tail;
            range.after = tail;
            enter(tail);
        }
        ranges_[handle].size = size | 1;
        return true;
    }
    void give(Handle i) {
        ranges_[i].size &= ~std::uint64_t{1};
        if (const Handle next = ranges_[i].after; next != kNil && !(ranges_[next].size & 1)) {
            leave(next);
            join(i, next);
        }
        if (const Handle last = ranges_[i].before; last != kNil && !(ranges_[last].size & 1)) {
            leave(last);
            join(last, i);
            i = last;
        }
        enter(i);
    }

private:
    struct Place {
        unsigned row, column;
    };
    static Place place(std::uint64_t size) {
        const std::uint64_t units = size >> 8;
        const auto top = static_cast<unsigned>(std::bit_width(units)) - 1;
        if (top < 5) return {0, static_cast<unsigned>(units)};
        return {top - 4, static_cast<unsigned>(units >> (top - 5)) & 31};
    }
    Handle above(unsigned row, unsigned column) const {
        std::uint32_t some = column == 31 ? 0 : columns_[row] & (~0u << (column + 1));
        if (some == 0) {
            const std::uint64_t rows = rows_ & (~std::uint64_t{1} << row);
            if (rows == 0) return kNil;
            row = static_cast<unsigned>(std::countr_zero(rows));
            some = columns_[row];
        }
        return first_[row][std::countr_zero(some)];
    }
    Handle fresh() {
        if (spare_ == kNil) {
            ranges_.emplace_back();
            return static_cast<Handle>(ranges_.size() - 1);
        }
        return std::exchange(spare_, ranges_[spare_].after);
    }
    void enter(Handle i) {
        Range& range = ranges_[i];
        const auto [row, column] = place(range.size);
        range.left = kNil;
        range.right = first_[row][column];
        if (range.right != kNil) ranges_[range.right].left = i;
        first_[row][column] = i;
        columns_[row] |= 1u << column;
        rows_ |= std::uint64_t{1} << row;
    }
    void leave(Handle i) {
        const Range& range = ranges_[i];
        if (range.right != kNil) ranges_[range.right].left = range.left;
        if (range.left != kNil) {
            ranges_[range.left].right = range.right;
            return;
        }
        const auto [row, column] = place(range.size);
        first_[row][column] = range.right;
        if (range.right == kNil && (columns_[row] &= ~(1u << column)) == 0)
            rows_ &= ~(std::uint64_t{1} << row);
    }
    void join(Handle i, Handle gone) {
        ranges_[i].size += ranges_[gone].size;
        ranges_[i].after = ranges_[gone].after;
        if (ranges_[i].after != kNil) ranges_[ranges_[i].after].before = i;
        ranges_[gone].after = std::exchange(spare_, gone);
    }
    std::vector<Range> ranges_;
    Handle spare_ = kNil;
    std::uint64_t rows_ = 0;
    std::uint32_t columns_[40] = {};
    Handle first_[40][32];
};

/// First fit over a bit for each 4 KiB: what the kernel driver searches, without its call.
class FirstFit {
public:
    struct Handle {
        std::uint64_t first, count;
    };
    explicit FirstFit(std::uint64_t range) : pages_(range >> 12), words_(pages_ / 64) {}
    bool take(std::uint64_t size, Handle& handle) {
        const std::uint64_t count = (size + 4095) >> 12;
        for (std::uint64_t at = 0;;) {
            at = seek(at, pages_, ~std::uint64_t{0});
            if (at + count > pages_) return false;
            const std::uint64_t end = seek(at, at + count, 0);
            if (end == at + count) {
                handle = {at, count};
                flip(handle);
                return true;
            }
            at = end + 1;
        }
    }
    void give(Handle handle) { flip(handle); }

private:
    /// The first page from `at` on that is free (`invert` all ones) or used (0); `end` for none.
    std::uint64_t seek(std::uint64_t at, std::uint64_t end, std::uint64_t invert) const {
        while (at < end) {
            const std::uint64_t word = (words_[at / 64] ^ invert) >> at % 64;
            if (word != 0) return std::min<std::uint64_t>(end, at + std::countr_zero(word));
            at = (at | 63) + 1;
        }
        return end;
    }
    void flip(Handle handle) {
        for (std::uint64_t at = handle.first, left = handle.count; left != 0;) {
            const std::uint64_t here = std::min<std::uint64_t>(64 - at % 64, left);
            words_[at / 64] ^= (here == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << here) - 1)
                               << at % 64;
            at += here;
            left -= here;
        }
    }
    std::uint64_t pages_;
    std::vector<std::uint64_t> words_;
};

} // namespace bench
