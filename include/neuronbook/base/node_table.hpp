// SPDX-License-Identifier: Apache-2.0
//
// A hash table of objects that carry their own links.
// Owns: buckets, walks. Does not own: the objects, unless it was given a way to free them.
// Layer: base.   libnrt: ht_t, ht, ht_node_t. Source: tables.md 9
#pragma once

#include <bit>
#include <boost/intrusive/unordered_set.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "neuronbook/base/node_key.hpp"

namespace neuronbook {
inline namespace v0 {

/// The hook's tag for objects that sit in one table only.
struct OneTable;

/// What an object derives from to sit in a table, once for each table it may sit in at a time, with
/// a tag for each. Neither copyable nor movable: others point at it. Must be out of its table
/// before it is destroyed (asserted). libnrt: ht_node_t
template <class Tag = OneTable>
class TableNode
    : public boost::intrusive::unordered_set_base_hook<
          boost::intrusive::tag<Tag>, boost::intrusive::link_mode<boost::intrusive::safe_link>,
          boost::intrusive::store_hash<true>> {
public:
    explicit TableNode(const NodeKey& key) noexcept : key_(key) {}
    TableNode(const TableNode&) = delete;
    TableNode& operator=(const TableNode&) = delete;

    [[nodiscard]] const NodeKey& key() const noexcept { return key_; }

private:
    NodeKey key_;
};

/// Table of `T`, which derives from TableNode<Tag>. Inserting allocates nothing but, at times, a
/// larger array of buckets: it doubles when there are more nodes than buckets, and stays as it is
/// when there is no memory for that or while a walk is under way. Whoever must not allocate while
/// holding a lock makes a Room before, and gives it in.
///
/// Thread safety: none; whoever shares a table locks it.
///
/// libnrt: ht_t.
/// Differs: it grows; finding gives a pointer, null for what is not there, so that the inverted
/// answer of ht_find (0 means found) has no counterpart; a duplicate is refused by insert() itself;
/// walks survive the removal of any node.
template <class T, class Tag = OneTable>
class NodeTable {
    using Node = TableNode<Tag>;

public:
    /// Called for each node that clear() or the destructor takes out. `context` came with it.
    using FreeFunction = void (*)(void* context, T& node);

    /// `buckets` is rounded up to a power of two. libnrt: ht_init
    explicit NodeTable(std::size_t buckets = 16, FreeFunction free = nullptr,
                       void* context = nullptr)
        : bucket_count_(std::bit_ceil(buckets)), buckets_(new Bucket[bucket_count_]),
          set_(Traits(buckets_.get(), bucket_count_)), free_(free), context_(context) {
        static_assert(std::is_base_of_v<Node, T>,
                      "NodeTable: T must derive from TableNode with the table's tag");
    }
    NodeTable(const NodeTable&) = delete;
    NodeTable& operator=(const NodeTable&) = delete;
    /// libnrt: ht_destroy
    ~NodeTable() {
        clear();
        for (auto* walk = walks_; walk; walk = walk->older_) walk->table_ = nullptr;
    }

    /// False, and nothing happens, if the key is there already or the node is in a table.
    /// libnrt: ht_insert, ht_name_insert, ht_buf_insert
    [[nodiscard]] bool insert(T& node) {
        if (static_cast<Node&>(node).is_linked()) return false;
        if (!set_.insert(node).second) return false;
        ++size_;
        if (size_ > bucket_count_ && !walks_) grow();
        return true;
    }

    /// The node with that key, or null. libnrt: ht_find, ht_name_find, ht_buf_find
    [[nodiscard]] T* find(const NodeKey& key) noexcept {
        const auto at = set_.find(key, HashOf{}, SameKey{});
        return at == set_.end() ? nullptr : &*at;
    }

    /// Effects: takes the node out, without freeing it. Returns: it, or null if there was none.
    /// libnrt: ht_remove
    T* remove(const NodeKey& key) noexcept {
        auto* node = find(key);
        if (node) unlink(*node);
        return node;
    }
    /// False, and nothing happens, if the node is not in this table.
    bool remove(T& node) noexcept {
        if (find(static_cast<Node&>(node).key()) != &node) return false;
        unlink(node);
        return true;
    }

    /// Effects: takes every node out; frees each, if a way was given. That may do to the table what
    /// it likes.
    void clear() noexcept {
        while (size_ != 0) { // again only if freeing put nodes in
            Walk walk(*this);
            while (auto* node = walk.next()) {
                unlink(*node);
                if (free_) free_(context_, *node);
            }
        }
    }

    /// Buckets that are in no table yet, or no more.
    class Room;

    /// How many buckets one more node asks for; buckets() if there are enough.
    [[nodiscard]] std::size_t buckets_wanted() const noexcept {
        return size_ < bucket_count_ || walks_ ? bucket_count_ : bucket_count_ * 2;
    }
    /// Effects: the table has the room's buckets, and the room those it had; nothing, if the table
    /// has as many already or a walk is under way. Allocates nothing.
    void take_room(Room& room) noexcept {
        if (room.count_ <= bucket_count_ || walks_) return;
        set_.rehash(Traits(room.buckets_.get(), room.count_));
        buckets_.swap(room.buckets_);
        std::swap(bucket_count_, room.count_);
    }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t buckets() const noexcept { return bucket_count_; }

    /// One pass over the nodes, in no order. Nodes may be taken out and put in meanwhile: each that
    /// stays all the time is given once, one that was taken out is not given afterwards, one that
    /// comes in may be or not. May outlive its table; then there is no next node.
    class Walk;

    /// Effects: `visit(node)` for every node, as a Walk goes. libnrt: ht (for_each)
    template <class F>
    void for_each(F&& visit) {
        Walk walk(*this);
        while (auto* node = walk.next()) visit(*node);
    }

private:
    struct HashOf {
        std::size_t operator()(const T& node) const noexcept {
            return (*this)(static_cast<const Node&>(node).key());
        }
        std::size_t operator()(const NodeKey& key) const noexcept {
            return static_cast<std::size_t>(key.hash());
        }
    };
    struct SameKey {
        static const NodeKey& key_of(const NodeKey& key) noexcept { return key; }
        static const NodeKey& key_of(const T& node) noexcept {
            return static_cast<const Node&>(node).key();
        }
        template <class A, class B>
        bool operator()(const A& a, const B& b) const noexcept {
            return key_of(a) == key_of(b);
        }
    };
    /// Hash and comparison are given: Boost's own hash does not compile cleanly under clang 19.
    using Set = boost::intrusive::unordered_set<
        T, boost::intrusive::base_hook<Node>, boost::intrusive::hash<HashOf>,
        boost::intrusive::equal<SameKey>, boost::intrusive::power_2_buckets<true>,
        boost::intrusive::constant_time_size<false>>;
    using Bucket = typename Set::bucket_type;
    using Traits = typename Set::bucket_traits;
    using Position = typename Set::iterator;

    void unlink(T& node) noexcept {
        const auto at = set_.iterator_to(node);
        for (auto* walk = walks_; walk; walk = walk->older_)
            if (walk->next_ == at) ++walk->next_;
        set_.erase(at);
        --size_;
    }

    void grow() noexcept {
        Room room;
        room.buckets_.reset(new (std::nothrow) Bucket[bucket_count_ * 2]);
        if (!room.buckets_) return;
        room.count_ = bucket_count_ * 2;
        take_room(room);
    }

    std::size_t bucket_count_;
    std::unique_ptr<Bucket[]> buckets_;
    Set set_;
    std::size_t size_ = 0;
    FreeFunction free_;
    void* context_;
    Walk* walks_ = nullptr; ///< those under way, youngest first
};

template <class T, class Tag>
class NodeTable<T, Tag>::Room {
public:
    Room() noexcept = default;
    /// Rounded up to a power of two. std::bad_alloc passes through.
    explicit Room(std::size_t buckets)
        : count_(std::bit_ceil(buckets)), buckets_(new Bucket[count_]) {}

private:
    friend NodeTable;
    std::size_t count_ = 0;
    std::unique_ptr<Bucket[]> buckets_;
};

template <class T, class Tag>
class NodeTable<T, Tag>::Walk {
public:
    explicit Walk(NodeTable& table) noexcept
        : table_(&table), next_(table.set_.begin()), older_(table.walks_) {
        table.walks_ = this;
    }
    Walk(const Walk&) = delete;
    Walk& operator=(const Walk&) = delete;
    ~Walk() {
        if (!table_) return;
        auto** at = &table_->walks_;
        while (*at != this) at = &(*at)->older_;
        *at = older_;
    }

    /// The next node, or null at the end. libnrt: ht (get_next)
    [[nodiscard]] T* next() noexcept {
        if (!table_ || next_ == table_->set_.end()) return nullptr;
        auto& node = *next_;
        ++next_; // so that the caller may take this one out
        return &node;
    }

private:
    friend NodeTable;

    NodeTable* table_;
    Position next_;
    Walk* older_;
};

} // namespace v0
} // namespace neuronbook
