// SPDX-License-Identifier: Apache-2.0
//
// Blocks that were freed before the work that uses them ended.
// Owns: for each queue a line of blocks. Does not own: records, the lock.
// Layer: dmem.
#pragma once

#include <atomic>
#include <boost/intrusive/slist.hpp>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>

#include "neuronbook/dmem/detail/pool_record.hpp"
#include "neuronbook/dmem/pool/work_queue.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// Each queue has its own line, so that one which is slow holds up nobody else's blocks. All of
/// it under the owner's lock.
class PoolWaiting {
public:
    struct Line : boost::intrusive::slist_base_hook<> {
        explicit Line(std::shared_ptr<const QueueProgress> of) noexcept : progress(std::move(of)) {}
        std::shared_ptr<const QueueProgress> progress;
        PoolRecordList records; ///< by points, lowest first
    };
    using Lines = boost::intrusive::slist<Line>;

    PoolWaiting() noexcept = default;
    PoolWaiting(const PoolWaiting&) = delete;
    PoolWaiting& operator=(const PoolWaiting&) = delete;
    ~PoolWaiting() { dispose(lines_); }

    static void dispose(Lines& lines) noexcept {
        lines.clear_and_dispose([](Line* line) {
            line->records.clear();
            delete line;
        });
    }

    /// The line of a queue; null where it has none yet.
    [[nodiscard]] Line* line(const QueueProgress* of) noexcept {
        for (Line& one : lines_)
            if (one.progress.get() == of) return &one;
        return nullptr;
    }
    /// Effects: takes a line in. Returns: it.
    Line* add(std::unique_ptr<Line> line) noexcept {
        lines_.push_front(*line);
        return line.release();
    }

    /// Effects: the record waits in the line, behind lower points.
    static void push(Line& line, PoolRecord& record) noexcept {
        auto at = line.records.end();
        while (at != line.records.begin() && std::prev(at)->fence > record.fence) --at;
        line.records.insert(at, record);
    }

    /// Effects: calls `release(record)` for each whose point is reached, after it has left its
    /// line. Lines that nobody can use any more move to `gone`. Returns: whether there was any
    /// record.
    template <class F>
    bool collect(Lines& gone, F release) noexcept {
        bool any = false;
        for (auto before = lines_.before_begin(); std::next(before) != lines_.end();) {
            Line& one = *std::next(before);
            const auto reached = one.progress->reached.load(std::memory_order_acquire);
            while (!one.records.empty() && one.records.front().fence <= reached) {
                PoolRecord& record = one.records.front();
                one.records.pop_front();
                release(record);
                any = true;
            }
            if (one.records.empty() && one.progress.use_count() == 1) {
                lines_.erase_after(before);
                gone.push_front(one);
            } else {
                ++before;
            }
        }
        return any;
    }

    /// Effects: takes every record out, whatever its queue has reached.
    template <class F>
    void drop(F release) noexcept {
        for (Line& one : lines_)
            while (!one.records.empty()) {
                PoolRecord& record = one.records.front();
                one.records.pop_front();
                release(record);
            }
    }

private:
    Lines lines_;
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
