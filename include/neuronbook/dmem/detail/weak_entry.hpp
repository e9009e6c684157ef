// SPDX-License-Identifier: Apache-2.0
//
// A line of a weak list: joins a list to a block that neither owns.
// Owns: which of the two ends first. Does not own: the list (weak_list.hpp), the block.
// Layer: dmem.   libnrt: dmem_ref_node_t. Source: tables.md 6 and 22
#pragma once

#include <boost/intrusive/list.hpp>
#include <memory>
#include <mutex>
#include <utility>

#include "neuronbook/base/process_mark.hpp"
#include "neuronbook/dmem/detail/block_record.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

struct WeakListState;

/// Belongs to the chain of its block's record, which the lock of the block's owner guards, and goes
/// with the block. It is in its list, too, until the block goes or the list is cleared.
class WeakEntry : public boost::intrusive::list_base_hook<> {
public:
    WeakEntry(BlockRecord& r, std::shared_ptr<WeakListState> s) noexcept
        : record(r), list(std::move(s)) {}

    BlockRecord& record;
    const std::shared_ptr<WeakListState> list;
    WeakEntry* next = nullptr; ///< of the same block
};

/// Taken after an owner's lock, never before. In a child of fork() it may belong to a thread that
/// is not here.
struct WeakListState {
    ProcessMark process;
    std::mutex mutex;
    boost::intrusive::list<WeakEntry> entries;
};

/// Effects: takes an entry out of its list. Requires: the owner's lock, so that the entry lives.
inline void leave_list(WeakEntry& entry) noexcept {
    const std::lock_guard lock(entry.list->mutex);
    if (entry.is_linked()) entry.list->entries.erase(entry.list->entries.iterator_to(entry));
}

/// Effects: takes all entries of a record out of their lists. Returns: their chain, to be deleted
/// once no lock is held. Requires: the owner's lock.
[[nodiscard]] inline WeakEntry* leave_lists(BlockRecord& record) noexcept {
    for (auto* entry = record.weak; entry != nullptr; entry = entry->next) leave_list(*entry);
    return std::exchange(record.weak, nullptr);
}

/// Effects: takes the entries out of a record's chain that are in no list any more. Returns: their
/// chain. Requires: the owner's lock.
[[nodiscard]] inline WeakEntry* stale_entries(BlockRecord& record) noexcept {
    WeakEntry* stale = nullptr;
    for (WeakEntry** at = &record.weak; *at != nullptr;) {
        WeakEntry* entry = *at;
        const std::lock_guard lock(entry->list->mutex);
        if (entry->is_linked()) {
            at = &entry->next;
        } else {
            *at = entry->next;
            entry->next = stale;
            stale = entry;
        }
    }
    return stale;
}

/// Effects: an entry joins the chain of a live record, and its list. Returns: whether the record is
/// live; `stale` are entries to delete once no lock is held. Requires: the owner's lock.
[[nodiscard]] inline bool enter_list(BlockRecord& record, WeakEntry& entry,
                                     WeakEntry*& stale) noexcept {
    stale = stale_entries(record);
    if (record.state != BlockState::Live) return false;
    entry.next = std::exchange(record.weak, &entry);
    const std::lock_guard listed(entry.list->mutex);
    entry.list->entries.push_back(entry);
    return true;
}

inline void delete_chain(WeakEntry* first) noexcept {
    while (first != nullptr) delete std::exchange(first, first->next);
}

} // namespace detail
} // namespace v0
} // namespace neuronbook
