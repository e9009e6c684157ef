// SPDX-License-Identifier: Apache-2.0
//
// Requests that wait: what a caller shows when it comes back.
// Owns: who waits for what, until when. Does not own: why (requests/), or the clock.
// Layer: backend (simulated kernel).   Source: ours; the real driver's callers sleep in the kernel
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <map>
#include <variant>

#include "neuronbook/backend/sim/request.hpp"
#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// A ticket is good for its process and its request alone. It goes with either's end; and as nobody
/// says when a caller has given up, at most kMost are kept: then the oldest goes, and its caller,
/// should it come, begins again. Not thread-safe.
class Tickets {
public:
    static constexpr std::size_t kMost = 1024;

    /// Requires: not an open, whose path belongs to the caller.
    std::uint64_t give(const Caller& caller, const Request& request, Nanoseconds until) {
        assert(!std::holds_alternative<OpenRequest>(request.what));
        if (waiting_.size() == kMost) waiting_.erase(waiting_.begin());
        waiting_.emplace(++last_, Waiting{caller.pid, request.what, until});
        return last_;
    }

    /// When the ticket that comes with a request says it may go on; null when it has none, or one
    /// that is not its own.
    [[nodiscard]] const Nanoseconds* find(const Caller& caller, const Request& request) const {
        const auto it = waiting_.find(request.ticket);
        const bool own =
            it != waiting_.end() && it->second.pid == caller.pid && it->second.what == request.what;
        return own ? &it->second.until : nullptr;
    }

    void drop(std::uint64_t ticket) { waiting_.erase(ticket); }

    /// Those of a process that ended.
    void drop_process(std::int32_t pid) {
        std::erase_if(waiting_, [pid](const auto& entry) { return entry.second.pid == pid; });
    }

    /// Those of a file that is no more.
    void drop_file(std::int64_t file) {
        std::erase_if(waiting_, [file](const auto& entry) {
            return std::visit([file](const auto& what) { return is_about(what, file); },
                              entry.second.what);
        });
    }

    [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

private:
    struct Waiting {
        std::int32_t pid;
        decltype(Request::what) what;
        Nanoseconds until;
    };

    template <class What>
    static bool is_about(const What& what, std::int64_t file) {
        if constexpr (requires { what.file; })
            return what.file == file;
        else
            return false;
    }

    std::map<std::uint64_t, Waiting> waiting_; ///< by ticket, so oldest first
    std::uint64_t last_ = 0;
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
