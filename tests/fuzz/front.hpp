// SPDX-License-Identifier: Apache-2.0
// Processes in front of a simulated kernel: what they hold, what they wait for, and whether each
// answer fits.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "fuzz/arena.hpp"
#include "fuzz/descriptors.hpp"
#include "fuzz/oracle.hpp"
#include "fuzz/words.hpp"
#include "neuronbook/backend/sim/kernel.hpp"

namespace fuzz {

using namespace neuronbook;

/// A request and how long it has waited.
struct Waiting {
    Caller caller;
    Request request;
    bool closing = false; ///< a flush with a release to come
    std::uint64_t until = 0;
    std::uint64_t waited = 0;
};

/// What may be mapped now.
struct Granted {
    Caller caller;
    std::int64_t file = 0;
    MapGrant grant{};
};

class Front {
public:
    static constexpr std::size_t kMostDescriptors = 96;

    explicit Front(std::unique_ptr<SimKernel> machine) : kernel(std::move(machine)) {}

    /// Asks, or asks again with the ticket, and looks at the answer.
    void submit(Waiting one) {
        const auto answer = kernel->submit(one.caller, one.request, arena, {now});
        if (!answer.waits)
            return std::visit([&](const auto& what) { answered(what, one, answer.value); },
                              one.request.what);
        check_wait(answer);
        if (one.request.ticket != answer.ticket) one.waited += answer.until.count - now;
        require(one.waited <= kLongestWait,
                "waits again and again, for " + std::to_string(one.waited) + " ns");
        one.request.ticket = answer.ticket;
        one.until = answer.until.count;
        constexpr std::size_t kMostWaiting = 64;
        if (waiting.size() < kMostWaiting) waiting.push_back(std::move(one));
    }

    /// All that waits asks again.
    void go_on() {
        auto all = std::move(waiting);
        waiting.clear();
        for (auto& one : all) submit(std::move(one));
    }

    void map(const Caller& caller, const MapRequest& what) {
        const auto answer = kernel->submit(caller, {what}, arena, {now});
        if (answer.waits) return check_wait(answer);
        if (answer.value < 0) return require(known_error(-answer.value), "errno of mmap");
        require(answer.value == 0 && answer.map.file >= 0, "answer of mmap");
        require(answer.map.writable <= what.writable, "a mapping more writable than asked");
        grants_[next_grant_++ % grants_.size()] = {caller, what.file, answer.map};
    }

    /// 0: the newest.
    [[nodiscard]] const Granted& granted(std::size_t age) const {
        return grants_[(next_grant_ + grants_.size() - 1 - age % grants_.size()) % grants_.size()];
    }

    void fork(std::int32_t parent, std::int32_t child) {
        if (descriptors.size() + descriptors.held_by(parent) > kMostDescriptors) return;
        kernel->fork_process(parent, child);
        descriptors.fork(parent, child);
    }

    /// Whatever else the process did ends.
    void exec(std::int32_t pid) {
        kernel->exec_process(pid);
        descriptors.exec(pid);
        attached_.erase(pid);
        std::erase_if(waiting, [&](const Waiting& one) { return one.caller.pid == pid; });
    }

    void end(std::int32_t pid) {
        kernel->end_process(pid);
        descriptors.end(pid);
        attached_.erase(pid);
        std::erase_if(waiting, [&](const Waiting& one) { return one.caller.pid == pid; });
    }

    void send(std::int32_t from, std::int64_t number, std::int32_t to) {
        if (descriptors.size() >= kMostDescriptors) return;
        copied(from, number, to, kernel->send_descriptor(from, number, to));
    }

    /// Whether a process is attached to a device for sure: no close of its own may have ended that.
    [[nodiscard]] bool is_attached(std::int32_t pid) const { return attached_.contains(pid); }

    std::unique_ptr<SimKernel> kernel;
    Arena arena;
    Descriptors descriptors;
    std::vector<Waiting> waiting;
    std::uint64_t now = 1;

private:
    void check_wait(const Answer& answer) const {
        require(answer.until.count > now, "waits for what is past");
        const auto wait = answer.until.count - now;
        require(wait <= kLongestWait, "waits for " + std::to_string(wait) + " ns");
    }

    void answered(const IoctlRequest& ask, const Waiting&, std::int64_t value) {
        const Word* row = nullptr;
        for (const auto& known : kWords)
            if (known.word == ask.word) row = &known;
        const auto encoded = ask.word >> 16 & 0x3FFF;
        const bool buffers =
            row != nullptr && std::string_view(row->layout).find('p') != std::string_view::npos;
        check_ioctl(value, std::max(encoded, row == nullptr ? 300 : row->size), buffers);
    }

    /// A signal ends an open that would wait for ever, for a pod behind a switch.
    void answered(const OpenRequest& ask, const Waiting& one, std::int64_t value) {
        constexpr std::int64_t kInterrupted = -4;
        const auto platform = kernel->machine().platform();
        const bool switched = platform == Platform::Pds || platform == Platform::Max;
        if (value == kInterrupted) return require(switched, "an open that a signal ends");
        if (value < 0) return require(known_error(-value), "errno of open");
        require(value >= 1 << 20, "file number of open");
        if ((ask.access & 1) == 0) attached_.insert(one.caller.pid);
        descriptors.add({value, one.caller.pid, value, (ask.access & 1) != 0, !ask.close_on_exec});
    }

    void answered(const FlushRequest& ask, const Waiting& one, std::int64_t value) {
        require(value == 0 || value == kNoFile, "answer of a flush");
        attached_.erase(one.caller.pid);
        const auto* held = descriptors.find(one.caller.pid, ask.file);
        if (!one.closing || held == nullptr || !descriptors.is_only_one(*held)) return;
        submit({one.caller, {ReleaseRequest{ask.file}}});
    }

    void answered(const ReleaseRequest& ask, const Waiting& one, std::int64_t value) {
        const bool held = descriptors.find(one.caller.pid, ask.file) != nullptr;
        require(value == (held ? 0 : kNoFile), "answer of a release");
        descriptors.close(one.caller.pid, ask.file);
    }

    void answered(const CloseRequest& ask, const Waiting& one, std::int64_t value) {
        const bool held = descriptors.find(one.caller.pid, ask.file) != nullptr;
        require(value == (held ? 0 : kNoFile), "answer of a close");
        attached_.erase(one.caller.pid);
        descriptors.close(one.caller.pid, ask.file);
    }

    void answered(const DuplicateRequest& ask, const Waiting& one, std::int64_t value) {
        copied(one.caller.pid, ask.file, one.caller.pid, value);
    }

    /// Only the holder of a descriptor can make another of it.
    void copied(std::int32_t from, std::int64_t number, std::int32_t to, std::int64_t value) {
        const auto* held = descriptors.find(from, number);
        if (held == nullptr) return require(value == kNoFile, "a copy of what is not held");
        require(value > number, "number of a copy");
        descriptors.add({value, to, held->file, held->restricted, true});
    }

    void answered(const MapRequest&, const Waiting&, std::int64_t) {} // map() has looked
    void answered(const MappedRequest& ask, const Waiting&, std::int64_t value) {
        require(value == 0 || value == kNoFile, "answer about a mapping");
        arena.remember(ask.address);
    }
    void answered(const UnmapRequest&, const Waiting&, std::int64_t value) {
        require(value == 0, "answer of munmap");
    }
    void answered(const MoveRequest&, const Waiting&, std::int64_t value) {
        require(value == 0, "answer of mremap");
    }

    static constexpr std::int64_t kNoFile = -9;
    std::array<Granted, 8> grants_{};
    std::size_t next_grant_ = 0;
    std::set<std::int32_t> attached_;
};

} // namespace fuzz
