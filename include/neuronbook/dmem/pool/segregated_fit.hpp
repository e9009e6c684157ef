// SPDX-License-Identifier: Apache-2.0
//
// Two-level segregated fit over segments of an address space, with nothing written in them.
// Owns: which range is free, which is used, and where. Does not own: the memory of the segments,
// locks, growth. Layer: dmem.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "neuronbook/dmem/pool/fit_nodes.hpp"
#include "neuronbook/dmem/pool/free_classes.hpp"
#include "neuronbook/dmem/pool/range_starts.hpp"

namespace neuronbook {
inline namespace v0 {

/// Cuts ranges out of segments and joins them again. A range is taken from the first class whose
/// every member is large enough, or from its own class if the newest there is; where both fail, a
/// bounded look through its own class. So allocate() and free() take the same time whatever there
/// is; what is cut off is free at once, and free neighbours are always one range.
///
/// Sizes have 48 bits, and are rounded up to 512 bytes. It takes no host memory but in make_*(),
/// which may run without the lock that guards the rest. Not thread-safe.
class SegregatedFit {
    static constexpr unsigned kOffsetBits = 48;
    static constexpr int kLooks = 64; ///< at ranges that may be too small

public:
    /// Names a used range, until it is freed.
    using Place = std::uint32_t;
    static constexpr Place kNone = detail::FitNode::kNil;
    static constexpr std::uint64_t kGranule = std::uint64_t{1}
                                              << detail::FreeClasses::kGranuleShift;
    static constexpr std::size_t kMaxSegments = 65536;
    /// Of a segment, and so of a range.
    static constexpr std::uint64_t kMaxSize = (std::uint64_t{1} << kOffsetBits) - kGranule;

    /// A part of the address space. Belongs to the caller, and must not move while it is in a fit.
    class Segment {
    public:
        /// Its whole granules count. Requires: at least one of them, at most kMaxSize bytes.
        /// std::bad_alloc passes through.
        Segment(std::uint64_t address, std::uint64_t size)
            : address_(round_up(address)), size_((address + size - round_up(address)) & ~kLow),
              starts_(size_) {}
        [[nodiscard]] std::uint64_t address() const noexcept { return address_; }
        [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
        [[nodiscard]] const detail::RangeStarts& starts() const noexcept { return starts_; }

    private:
        friend class SegregatedFit;
        std::uint64_t address_;
        std::uint64_t size_;
        std::uint64_t number_ = 0;
        detail::RangeStarts starts_;
    };

    /// Host memory for what comes next; made without the lock, given under it, dropped after it.
    struct Room {
        detail::FitNodes::More nodes;
        std::vector<Segment*> segments, ordered;
    };
    /// What make_room() has to know of the fit; read under the lock.
    struct Extent {
        std::size_t nodes = 0, segments = 0;
    };

    [[nodiscard]] static constexpr std::uint64_t round_up(std::uint64_t size) noexcept {
        return (size + kLow) & ~kLow;
    }

    /// Whether one allocate() finds the host memory it needs; else give() it some.
    [[nodiscard]] bool ready() const noexcept { return nodes_.spare() >= 2; }
    /// The same for one add() and one allocate().
    [[nodiscard]] bool ready_to_add() const noexcept {
        return nodes_.spare() >= 3 && ordered_.size() < ordered_.capacity() &&
               segments_.size() < segments_.capacity();
    }
    [[nodiscard]] Extent extent() const noexcept { return {nodes_.room(), segments_.size()}; }
    /// Effects: takes host memory. std::bad_alloc passes through.
    [[nodiscard]] static Room make_room(const Extent& now) {
        Room room{detail::FitNodes::More(now.nodes), {}, {}};
        room.segments.reserve(now.segments + 4);
        room.ordered.reserve(now.segments + 4);
        return room;
    }
    /// Effects: uses what is missing. Afterwards it may still not be ready(), if others were
    /// quicker to use it: make another room then.
    void give(Room& room) noexcept {
        if (nodes_.spare() < 3) nodes_.grow(room.nodes);
        for (auto [mine, more] :
             {std::pair(&segments_, &room.segments), {&ordered_, &room.ordered}})
            if (mine->size() == mine->capacity() && more->capacity() > mine->size()) {
                more->assign(mine->begin(), mine->end());
                mine->swap(*more);
            }
    }

    /// Effects: all of the segment is free. Requires: ready_to_add(), fewer than kMaxSegments, no
    /// overlap with another.
    void add(Segment& segment) noexcept {
        const auto gap = ordered_.size() == segments_.size() // none
                             ? segments_.end()
                             : std::find(segments_.begin(), segments_.end(), nullptr);
        segment.number_ = static_cast<std::uint64_t>(gap - segments_.begin());
        if (gap == segments_.end())
            segments_.push_back(&segment);
        else
            *gap = &segment;
        ordered_.insert(std::upper_bound(ordered_.begin(), ordered_.end(), &segment, lower),
                        &segment);
        const Place i = nodes_.take();
        nodes_[i] = {segment.number_ << kOffsetBits, segment.size_, kNone, kNone, {}};
        segment.starts_.put(0, i);
        link(i);
    }
    /// Whether no range of the segment is used.
    [[nodiscard]] bool unused(const Segment& segment) const noexcept {
        return nodes_[segment.starts_.first(0)].size == segment.size_;
    }
    /// Effects: the segment is the caller's alone. Requires: unused().
    void remove(Segment& segment) noexcept {
        const Place i = segment.starts_.first(0);
        unlink(i);
        nodes_.put(i);
        segments_[segment.number_] = nullptr;
        ordered_.erase(std::lower_bound(ordered_.begin(), ordered_.end(), &segment, lower));
    }
    /// Those that are in it, by address.
    [[nodiscard]] const std::vector<Segment*>& segments() const noexcept { return ordered_; }

    /// Effects: a used range of `size` bytes whose address is a multiple of `alignment`. Returns:
    /// kNone where there is none. Requires: ready(); `size` is in whole granules, not 0;
    /// `alignment` is 0 or a power of two.
    [[nodiscard]] Place allocate(std::uint64_t size, std::uint64_t alignment = 0) noexcept {
        if (alignment > kGranule) {
            const Place wide = pick_aligned(size, alignment);
            return wide == kNone ? kNone : cut(wide, size, alignment);
        }
        const Place i = pick(size);
        return i == kNone ? kNone : take_end(i, size);
    }

    /// The same in one segment. Requires: unused(segment), and that it is large enough.
    [[nodiscard]] Place allocate_in(const Segment& segment, std::uint64_t size,
                                    std::uint64_t alignment = 0) noexcept {
        return cut(segment.starts_.first(0), size, std::max(alignment, kGranule));
    }

    /// Effects: the range is free, and one with its free neighbours.
    void free(Place i) noexcept {
        detail::FitNode& range = nodes_[i];
        range.size &= ~detail::FitNode::kUsed;
        --used_;
        if (const Place next = range.after; next != kNone && !nodes_[next].used()) {
            unlink(next);
            range.size += nodes_[next].size;
            join(i, next);
        }
        if (const Place before = range.before; before != kNone && !nodes_[before].used()) {
            const std::uint64_t size = nodes_[before].size + range.size;
            join(before, i);
            resize(before, size);
        } else {
            link(i);
        }
    }

    /// The used range that an address lies in; kNone for a free byte, and for one of no segment.
    [[nodiscard]] Place find(std::uint64_t address) const noexcept {
        auto at = std::upper_bound(
            ordered_.begin(), ordered_.end(), address,
            [](std::uint64_t wanted, const Segment* one) { return wanted < one->address_; });
        if (at == ordered_.begin()) return kNone;
        const Segment& segment = **--at;
        const std::uint64_t offset = address - segment.address_;
        if (offset >= segment.size_) return kNone;
        Place i = segment.starts_.first(offset);
        if (i == kNone || offset_of(nodes_[i]) > offset) i = segment.starts_.first_before(offset);
        while (offset - offset_of(nodes_[i]) >= nodes_[i].bytes()) i = nodes_[i].after;
        return nodes_[i].used() ? i : kNone;
    }

    // Of a used range; offset() of any.
    [[nodiscard]] Segment& segment_of(Place i) const noexcept {
        return *segments_[nodes_[i].start >> kOffsetBits];
    }
    /// From the start of its segment.
    [[nodiscard]] std::uint64_t offset(Place i) const noexcept { return offset_of(nodes_[i]); }
    [[nodiscard]] std::uint64_t size(Place i) const noexcept { return nodes_[i].bytes(); }
    [[nodiscard]] void* holder(Place i) const noexcept { return nodes_[i].holder; }
    void set_holder(Place i, void* holder) noexcept { nodes_[i].holder = holder; }

    /// Size of the largest free range; 0 where there is none. Looks at the ranges of one class.
    [[nodiscard]] std::uint64_t largest_free() const noexcept {
        const unsigned top = classes_.highest();
        std::uint64_t most = 0;
        if (top != detail::FreeClasses::kClasses)
            for (Place i = classes_.head(top); i != kNone; i = nodes_[i].links.next)
                most = std::max(most, nodes_[i].size);
        return most;
    }
    [[nodiscard]] std::size_t free_ranges() const noexcept { return nodes_.taken() - used_; }

private:
    static constexpr std::uint64_t kLow = kGranule - 1;

    static bool lower(const Segment* a, const Segment* b) noexcept {
        return a->address_ < b->address_;
    }
    static std::uint64_t offset_of(const detail::FitNode& node) noexcept {
        return offset_in(node.start);
    }
    static std::uint64_t offset_in(std::uint64_t start) noexcept {
        return start & ((std::uint64_t{1} << kOffsetBits) - 1);
    }
    detail::RangeStarts& starts(std::uint64_t start) noexcept {
        return segments_[start >> kOffsetBits]->starts_;
    }

    void link(Place i) noexcept {
        detail::FitNode& range = nodes_[i];
        const unsigned index = detail::FreeClasses::of(range.size);
        const Place head = classes_.head(index);
        range.links = {kNone, head};
        if (head != kNone) nodes_[head].links.previous = i;
        classes_.set_head(index, i);
        classes_.mark(index);
    }
    void unlink(Place i) noexcept {
        const detail::FitNode& range = nodes_[i];
        const auto [previous, next] = range.links;
        if (next != kNone) nodes_[next].links.previous = previous;
        if (previous != kNone) {
            nodes_[previous].links.next = next;
        } else {
            const unsigned index = detail::FreeClasses::of(range.size);
            classes_.set_head(index, next);
            if (next == kNone) classes_.unmark(index);
        }
    }

    /// Effects: another size of a range that is in a list; it stays there if it can.
    void resize(Place i, std::uint64_t size) noexcept {
        if (detail::FreeClasses::of(nodes_[i].size) == detail::FreeClasses::of(size)) {
            nodes_[i].size = size;
        } else {
            unlink(i);
            nodes_[i].size = size;
            link(i);
        }
    }
    /// Effects: the last `size` bytes of a free range are a used one; what is left stays free.
    [[nodiscard]] Place take_end(Place i, std::uint64_t size) noexcept {
        const std::uint64_t rest = nodes_[i].size - size;
        ++used_;
        if (rest == 0) {
            unlink(i);
            nodes_[i].size = size | detail::FitNode::kUsed;
            return i;
        }
        const Place end = split(i, rest);
        nodes_[end].size = size | detail::FitNode::kUsed;
        resize(i, rest);
        return end;
    }
    /// Effects: a new node behind `size` bytes of a range; sizes and lists are the caller's.
    Place split(Place i, std::uint64_t size) noexcept {
        const Place tail = nodes_.take();
        detail::FitNode& range = nodes_[i];
        detail::FitNode& rest = nodes_[tail];
        rest.start = range.start + size;
        rest.before = i;
        rest.after = range.after;
        if (range.after != kNone) nodes_[range.after].before = tail;
        range.after = tail;
        // No range begins between the two: this one is first in its MiB unless the other is there.
        if (!detail::RangeStarts::together(range.start, rest.start))
            starts(rest.start).put(offset_in(rest.start), tail);
        return tail;
    }
    /// Effects: `gone`, the neighbour behind `i`, is no more; the size is the caller's.
    void join(Place i, Place gone) noexcept {
        detail::FitNode& range = nodes_[i];
        const detail::FitNode& rest = nodes_[gone];
        const Place next = rest.after;
        range.after = next;
        if (next != kNone) nodes_[next].before = i;
        if (!detail::RangeStarts::together(range.start, rest.start)) {
            const std::uint64_t at = offset_in(rest.start);
            if (next != kNone && detail::RangeStarts::together(nodes_[next].start, rest.start))
                starts(rest.start).put(at, next);
            else
                starts(rest.start).clear(at);
        }
        nodes_.put(gone);
    }

    /// A free range of at least `size` bytes.
    [[nodiscard]] Place pick(std::uint64_t size) const noexcept {
        const unsigned own = detail::FreeClasses::of(size);
        if (own >= detail::FreeClasses::kClasses) return kNone;
        // An exact size comes back to its own place.
        const Place newest = classes_.head(own);
        if (newest != kNone && nodes_[newest].size >= size) return newest;
        const unsigned above = classes_.next(own + 1);
        if (above != detail::FreeClasses::kClasses) return classes_.head(above);
        int looks = kLooks;
        for (Place i = newest; i != kNone && looks != 0; i = nodes_[i].links.next, --looks)
            if (nodes_[i].size >= size) return i;
        return kNone;
    }

    /// Bytes from a range's start to the first aligned address.
    [[nodiscard]] std::uint64_t padding(Place i, std::uint64_t alignment) const noexcept {
        const detail::FitNode& node = nodes_[i];
        const std::uint64_t at = segments_[node.start >> kOffsetBits]->address_ + offset_of(node);
        return (~at + 1) & (alignment - 1);
    }
    [[nodiscard]] bool fits(Place i, std::uint64_t size, std::uint64_t alignment) const noexcept {
        const std::uint64_t pad = padding(i, alignment);
        return nodes_[i].size >= pad && nodes_[i].size - pad >= size;
    }
    [[nodiscard]] Place pick_aligned(std::uint64_t size, std::uint64_t alignment) const noexcept {
        if (const Place i = pick(size); i == kNone || fits(i, size, alignment)) return i;
        const std::uint64_t safe = size + alignment - kGranule; // fits wherever it begins
        if (const Place i = pick(safe); i != kNone) return i;
        int looks = kLooks;
        for (unsigned c = classes_.next(detail::FreeClasses::of(size));
             c != detail::FreeClasses::kClasses && looks != 0; c = classes_.next(c + 1))
            for (Place i = classes_.head(c); i != kNone && looks != 0;
                 i = nodes_[i].links.next, --looks)
                if (fits(i, size, alignment)) return i;
        return kNone;
    }
    /// Effects: a used range inside of a free one. Requires: fits().
    [[nodiscard]] Place cut(Place i, std::uint64_t size, std::uint64_t alignment) noexcept {
        const std::uint64_t pad = padding(i, alignment);
        // At the last aligned address there, so that what is left behind it is small.
        const std::uint64_t begin = pad + ((nodes_[i].size - pad - size) & ~(alignment - 1));
        if (const std::uint64_t behind = nodes_[i].size - begin - size; behind != 0) {
            const Place rest = split(i, begin + size);
            resize(i, begin + size);
            nodes_[rest].size = behind;
            link(rest);
        }
        return take_end(i, size);
    }

    detail::FitNodes nodes_;
    detail::FreeClasses classes_;
    std::vector<Segment*> segments_; ///< by number; null for a gap
    std::vector<Segment*> ordered_;  ///< by address
    std::size_t used_ = 0;           ///< ranges
};

} // namespace v0
} // namespace neuronbook
