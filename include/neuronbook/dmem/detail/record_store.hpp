// SPDX-License-Identifier: Apache-2.0
//
// Records that are ready for the next blocks.
// Owns: the memory of an allocator's records. Does not own: what they say, the lock.
// Layer: dmem.
#pragma once

#include <array>
#include <boost/intrusive/list.hpp>
#include <boost/intrusive/slist.hpp>
#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>

#include "neuronbook/dmem/detail/block_record.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

template <class Record>
using RecordList = boost::intrusive::list<Record, boost::intrusive::base_hook<RecordHook>,
                                          boost::intrusive::constant_time_size<false>>;

/// Records in pages; a page is made outside the lock and added under it, so that the lock is never
/// held over malloc. All but make_page() under the owner's lock. `Record` is a BlockRecord.
template <class Record>
class RecordStore {
    /// The last one given back comes first: it is still in the cache.
    using SpareList = boost::intrusive::slist<Record, boost::intrusive::base_hook<SpareHook>,
                                              boost::intrusive::constant_time_size<false>>;

public:
    /// Several records at once.
    struct Page : boost::intrusive::slist_base_hook<> {
        std::array<Record, 16> records;
    };

    RecordStore() noexcept = default;
    RecordStore(const RecordStore&) = delete;
    RecordStore& operator=(const RecordStore&) = delete;
    ~RecordStore() {
        spare_.clear();
        pages_.clear_and_dispose([](Page* page) { delete page; });
    }

    /// Effects: takes host memory. std::bad_alloc passes through.
    [[nodiscard]] static std::unique_ptr<Page> make_page(BlockOwner& owner) {
        auto page = std::make_unique<Page>();
        for (auto& record : page->records) record.owner = &owner;
        return page;
    }
    void add(std::unique_ptr<Page> page) noexcept {
        for (auto& record : page->records) spare_.push_front(record);
        pages_.push_front(*page.release());
    }
    [[nodiscard]] bool empty() const noexcept { return spare_.empty(); }

    /// A record to use, or null: then a page is needed. One whose chunk is still on its way to the
    /// driver is passed over; they are few, as many as threads that free.
    [[nodiscard]] Record* take() noexcept {
        int looks = 16;
        for (auto before = spare_.before_begin(); looks > 0; ++before, --looks) {
            const auto at = std::next(before);
            if (at == spare_.end()) break;
            if (at->leaving.load(std::memory_order_acquire)) continue;
            Record& record = *at;
            spare_.erase_after(before);
            return &record;
        }
        return nullptr;
    }
    void put(Record& record) noexcept { spare_.push_front(record); }

    /// Whether a chunk of any is still on its way to the driver.
    [[nodiscard]] bool any_leaving() const noexcept {
        for (const auto& record : spare_)
            if (record.leaving.load(std::memory_order_acquire)) return true;
        return false;
    }

private:
    SpareList spare_;
    boost::intrusive::slist<Page> pages_;
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
