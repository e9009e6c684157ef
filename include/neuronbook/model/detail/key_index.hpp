// SPDX-License-Identifier: Apache-2.0
//
// Finding models by a key that several may have: a name, a uuid.
// Owns: the order of those with one key. Does not own: models.
// Layer: model.
#pragma once

#include <cstddef>

#include "neuronbook/base/node_key.hpp"
#include "neuronbook/base/node_table.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// What a model derives from to stand in an index, one tag an index.
template <class Tag>
class KeyNode : public TableNode<Tag> {
public:
    using TableNode<Tag>::TableNode;

private:
    template <class, class>
    friend class KeyIndex;

    KeyNode* older_ = nullptr; ///< null: the oldest, which is the one in the table
    KeyNode* younger_ = nullptr;
};

/// The oldest model with a key stands in the table, the others in a row behind it: one program
/// loaded twice is two models of one name. Allocates nothing; room comes from outside.
///
/// Thread safety: none; the database locks it.
template <class T, class Tag>
class KeyIndex {
    using Node = KeyNode<Tag>;

public:
    using Room = typename NodeTable<T, Tag>::Room;

    [[nodiscard]] std::size_t buckets() const noexcept { return table_.buckets(); }
    [[nodiscard]] std::size_t buckets_wanted() const noexcept { return table_.buckets_wanted(); }
    void take_room(Room& room) noexcept { table_.take_room(room); }

    void enter(T& model) noexcept {
        if (table_.insert(model)) return;
        Node* last = table_.find(static_cast<Node&>(model).key());
        while (last->younger_) last = last->younger_;
        last->younger_ = &static_cast<Node&>(model);
        last->younger_->older_ = last;
    }
    void leave(T& model) noexcept {
        Node& node = model;
        if (node.younger_) node.younger_->older_ = node.older_;
        if (node.older_) {
            node.older_->younger_ = node.younger_;
        } else {
            (void)table_.remove(model);
            if (node.younger_) (void)table_.insert(static_cast<T&>(*node.younger_));
        }
        node.older_ = node.younger_ = nullptr;
    }

    /// The oldest model with that key, or null.
    [[nodiscard]] T* find(const NodeKey& key) noexcept { return table_.find(key); }

private:
    NodeTable<T, Tag> table_{64};
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
