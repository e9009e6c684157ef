// SPDX-License-Identifier: Apache-2.0
//
// A range of pages cut into segments, taken and free, in address order.
// Owns: the order and the search. Does not own: which run a request gets (first_fit.hpp).
// Layer: backend (simulated kernel).   Source: ours; the order it keeps is driver-abi.md 6.1
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// A treap whose nodes know the largest hole below them, so that the first hole that is large
/// enough is found without looking at the smaller ones. Two holes are never neighbours: they are
/// one segment then. Offsets and sizes are pages from the range's start. Not thread-safe.
class SegmentTree {
public:
    using Index = std::uint32_t; ///< names a segment while it exists; reused afterwards
    static constexpr Index kNone = 0xFFFFFFFFu;
    static constexpr std::uint32_t kFree = 0xFFFFFFFFu; ///< owner of a hole

    explicit SegmentTree(std::uint32_t pages) : free_(pages) {
        root_ = make(0, pages);
        first_ = root_;
        nodes_[root_].owner = kFree;
        refresh(root_);
    }

    [[nodiscard]] std::uint32_t start(Index at) const { return nodes_[at].start; }
    [[nodiscard]] std::uint32_t pages(Index at) const { return nodes_[at].pages; }
    [[nodiscard]] std::uint32_t owner(Index at) const { return nodes_[at].owner; }
    [[nodiscard]] bool is_hole(Index at) const { return nodes_[at].owner == kFree; }
    [[nodiscard]] std::uint64_t end(Index at) const {
        return std::uint64_t{nodes_[at].start} + nodes_[at].pages;
    }
    /// The neighbour at higher addresses, kNone behind the last.
    [[nodiscard]] Index next(Index at) const { return nodes_[at].next; }
    [[nodiscard]] std::uint32_t free_pages() const { return free_; }
    [[nodiscard]] std::uint32_t largest_hole() const { return nodes_[root_].largest; }

    /// The segment that contains a page. Requires: the page is in the range, or is page 0.
    [[nodiscard]] Index find(std::uint32_t page) const {
        if (page == 0) return first_;
        for (Index at = root_;;) {
            const Node& node = nodes_[at];
            if (page < node.start)
                at = node.left;
            else if (page - node.start < node.pages)
                return at;
            else
                at = node.right;
        }
    }

    /// The lowest hole of at least `count` pages, or kNone.
    [[nodiscard]] Index first_hole(std::uint32_t count) const { return first_below(root_, count); }

    /// The next such hole behind a segment, or kNone.
    [[nodiscard]] Index next_hole(Index at, std::uint32_t count) const {
        if (const Index below = first_below(nodes_[at].right, count); below != kNone) return below;
        for (Index up = nodes_[at].parent; up != kNone; at = up, up = nodes_[at].parent) {
            if (nodes_[up].right == at) continue;
            if (hole_pages(up) >= count) return up;
            if (const Index side = first_below(nodes_[up].right, count); side != kNone) return side;
        }
        return kNone;
    }

    /// Makes [start, start + count) of a hole a taken segment. Requires: it lies in that hole.
    Index take(Index hole, std::uint32_t start, std::uint32_t count, std::uint32_t owner) {
        const auto front = start - nodes_[hole].start;
        const auto back = nodes_[hole].pages - front - count;
        free_ -= count;
        if (front == 0 && back == 0) {
            nodes_[hole].owner = owner;
            fix_upward(hole);
            return hole;
        }
        const Index taken = make(start, count);
        nodes_[taken].owner = owner;
        if (front == 0) {
            nodes_[hole].start += count;
            nodes_[hole].pages = back;
            fix_upward(hole);
            insert_before(hole, taken);
            return taken;
        }
        nodes_[hole].pages = front;
        fix_upward(hole);
        insert_after(hole, taken);
        if (back != 0) {
            const Index rest = make(start + count, back);
            insert_after(taken, rest);
            become_hole(rest);
        }
        return taken;
    }

    /// Makes a taken segment free and joins it with the holes beside it.
    void release(Index at) {
        const Index before = nodes_[at].previous;
        const Index after = nodes_[at].next;
        free_ += nodes_[at].pages;
        if (after != kNone && is_hole(after)) {
            const auto more = nodes_[after].pages;
            remove(after);
            nodes_[at].pages += more;
        }
        if (before == kNone || !is_hole(before)) {
            become_hole(at);
            return;
        }
        const auto more = nodes_[at].pages;
        remove(at);
        nodes_[before].pages += more;
        fix_upward(before);
    }

private:
    static constexpr std::uint32_t kNobody = kFree - 1; ///< on its way in or out: not a hole

    struct Node {
        std::uint32_t start;
        std::uint32_t pages;
        std::uint32_t owner;
        std::uint32_t largest; ///< pages of the largest hole in this subtree
        std::uint32_t priority;
        Index parent, left, right;
        Index previous, next; ///< neighbours by address
    };

    [[nodiscard]] std::uint32_t largest(Index at) const {
        return at == kNone ? 0 : nodes_[at].largest;
    }

    [[nodiscard]] std::uint32_t hole_pages(Index at) const {
        return is_hole(at) ? nodes_[at].pages : 0;
    }

    [[nodiscard]] Index first_below(Index at, std::uint32_t count) const {
        if (largest(at) < count) return kNone;
        for (;;) {
            const Node& node = nodes_[at];
            if (largest(node.left) >= count)
                at = node.left;
            else if (hole_pages(at) >= count)
                return at;
            else
                at = node.right;
        }
    }

    Index make(std::uint32_t start, std::uint32_t count) {
        // xorshift: the tree has the same shape in every run
        random_ ^= random_ << 13;
        random_ ^= random_ >> 17;
        random_ ^= random_ << 5;
        const Node node{start, count, kNobody, 0, random_, kNone, kNone, kNone, kNone, kNone};
        if (spare_.empty()) {
            nodes_.push_back(node);
            return static_cast<Index>(nodes_.size() - 1);
        }
        const Index at = spare_.back();
        spare_.pop_back();
        nodes_[at] = node;
        return at;
    }

    /// Announces a hole upward; it entered its place in the tree as nobody's.
    void become_hole(Index at) {
        nodes_[at].owner = kFree;
        fix_upward(at);
    }

    void insert_before(Index place, Index node) {
        link(nodes_[place].previous, node, place);
        if (nodes_[place].left == kNone) {
            nodes_[place].left = node;
            nodes_[node].parent = place;
        } else {
            const Index before = nodes_[node].previous;
            nodes_[before].right = node;
            nodes_[node].parent = before;
        }
        float_up(node);
    }

    void insert_after(Index place, Index node) {
        link(place, node, nodes_[place].next);
        if (nodes_[place].right == kNone) {
            nodes_[place].right = node;
            nodes_[node].parent = place;
        } else {
            const Index after = nodes_[node].next;
            nodes_[after].left = node;
            nodes_[node].parent = after;
        }
        float_up(node);
    }

    void link(Index previous, Index node, Index next) {
        nodes_[node].previous = previous;
        nodes_[node].next = next;
        if (previous != kNone)
            nodes_[previous].next = node;
        else
            first_ = node;
        if (next != kNone) nodes_[next].previous = node;
    }

    void float_up(Index node) {
        while (nodes_[node].parent != kNone &&
               nodes_[node].priority > nodes_[nodes_[node].parent].priority)
            rotate_up(node);
    }

    void remove(Index node) {
        nodes_[node].owner = kNobody;
        fix_upward(node);
        for (;;) {
            const Index left = nodes_[node].left;
            const Index right = nodes_[node].right;
            if (left == kNone && right == kNone) break;
            if (right == kNone || (left != kNone && nodes_[left].priority > nodes_[right].priority))
                rotate_up(left);
            else
                rotate_up(right);
        }
        replace(node, kNone);
        const Index previous = nodes_[node].previous;
        const Index next = nodes_[node].next;
        if (previous != kNone)
            nodes_[previous].next = next;
        else
            first_ = next;
        if (next != kNone) nodes_[next].previous = previous;
        spare_.push_back(node);
    }

    void rotate_up(Index node) {
        const Index parent = nodes_[node].parent;
        const bool was_left = nodes_[parent].left == node;
        const Index inner = was_left ? nodes_[node].right : nodes_[node].left;
        (was_left ? nodes_[parent].left : nodes_[parent].right) = inner;
        if (inner != kNone) nodes_[inner].parent = parent;
        replace(parent, node);
        (was_left ? nodes_[node].right : nodes_[node].left) = parent;
        nodes_[parent].parent = node;
        refresh(parent);
        refresh(node);
    }

    /// Puts a node (or none) where another one hung.
    void replace(Index old, Index node) {
        const Index parent = nodes_[old].parent;
        if (parent == kNone)
            root_ = node;
        else
            (nodes_[parent].left == old ? nodes_[parent].left : nodes_[parent].right) = node;
        if (node != kNone) nodes_[node].parent = parent;
    }

    bool refresh(Index at) {
        const Node& node = nodes_[at];
        const auto now = std::max({hole_pages(at), largest(node.left), largest(node.right)});
        const bool changed = now != node.largest;
        nodes_[at].largest = now;
        return changed;
    }

    void fix_upward(Index at) {
        while (at != kNone && refresh(at)) at = nodes_[at].parent;
    }

    std::vector<Node> nodes_;
    std::vector<Index> spare_;
    Index root_ = kNone;
    Index first_ = kNone; ///< lowest segment
    std::uint32_t free_;
    std::uint32_t random_ = 2463534242u;
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
