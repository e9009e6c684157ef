// SPDX-License-Identifier: Apache-2.0
//
// Requests that wait: what a caller shows when it comes back.
// Owns: who waits for what, until when. Does not own: why (requests/), or the clock.
// Layer: backend (simulated kernel).   Source: ours; the real driver's callers sleep in the kernel
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <variant>

#include "neuronbook/backend/sim/request.hpp"
#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// A ticket is good for its process and its request alone. It goes with either's end; and as nobody
/// says when a caller has given up, at most kMost are kept: then the oldest goes, and its caller,
/// should it come, begins again. With the last close of a file what waits for something of it ends,
/// -EBADF; on the real kernel a request keeps its file until it is answered. Not thread-safe.
class Tickets {
public:
    static constexpr std::size_t kMost = 1024;

    /// What is known of a request that waits.
    struct Times {
        Nanoseconds until{}; ///< it may go on then
        Nanoseconds since{}; ///< when it came first
        Progress progress{};
    };

    std::uint64_t give(const Caller& caller, const Request& request, const Times& times) {
        if (waiting_.size() == kMost) waiting_.erase(waiting_.begin());
        auto& waiting = waiting_[++last_];
        waiting.pid = caller.pid;
        waiting.what = request.what;
        waiting.times = times;
        // the path of an open belongs to the caller
        if (auto* open = std::get_if<OpenRequest>(&waiting.what)) {
            waiting.path = open->path;
            open->path = waiting.path;
        }
        return last_;
    }

    /// The times of the ticket that comes with a request; null when it has none, or one that is not
    /// its own.
    [[nodiscard]] const Times* find(const Caller& caller, const Request& request) const {
        const auto it = waiting_.find(request.ticket);
        const bool own =
            it != waiting_.end() && it->second.pid == caller.pid && it->second.what == request.what;
        return own ? &it->second.times : nullptr;
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
        std::int32_t pid = 0;
        decltype(Request::what) what{IoctlRequest{0, 0, 0}};
        std::string path{}; ///< of an open
        Times times{};
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
