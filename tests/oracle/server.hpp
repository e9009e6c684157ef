// SPDX-License-Identifier: Apache-2.0
// The parent's end: one thread that serves every forked child as the process it is.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "neuronbook/backend/sim/port.hpp"
#include "remote.hpp"

namespace oracle {

/// A child's memory, and its descriptors: those it installs itself, while it waits for its answer.
class ChildMemory final : public ProcessMemory {
public:
    ChildMemory(::pid_t pid, int socket) noexcept : ProcessMemory(pid), socket_(socket) {}

    std::int64_t install_descriptor(int file, std::uint64_t offset, std::uint64_t) override {
        const auto mine = sim::open_buffer(file, offset);
        if (mine < 0) return mine;
        Reply reply;
        reply.install = true;
        const bool sent = send_to(socket_, reply, static_cast<int>(mine));
        ::close(static_cast<int>(mine));
        std::int64_t number = -EMFILE;
        int none;
        if (!sent || !receive_from(socket_, number, none)) return -EMFILE;
        return number;
    }

private:
    int socket_;
};

/// While a message is served, or a child is added, the lock is held; fork() takes it too, so that
/// a child never starts in the middle of one.
class Server {
public:
    explicit Server(SimKernel& kernel)
        : kernel_(kernel), wake_(::eventfd(0, EFD_CLOEXEC)), thread_([this] { run(); }) {
        thread_.detach(); // it and the kernel live as long as the program
    }

    std::mutex& lock() { return mutex_; }

    /// A child of `parent` was forked, which asks over `socket`. Requires: the lock is held.
    void add(std::int32_t parent, ::pid_t child, int socket) {
        kernel_.fork_process(parent, child);
        children_.push_back({child, socket});
        const std::uint64_t one = 1;
        if (::write(wake_, &one, sizeof(one)) < 0) std::abort();
    }

    /// In a child: it has no business with its siblings' sockets.
    void close_all() {
        for (const auto& child : children_) ::close(child.socket);
        ::close(wake_);
    }

    /// The numbers of a parent and of its children that live.
    std::string list(std::int32_t parent) {
        const std::lock_guard guard(mutex_);
        auto text = std::to_string(parent);
        for (const auto& child : children_) text += ' ' + std::to_string(child.pid);
        return text;
    }

    /// Returns once nothing of a process that is gone is left.
    void wait_for_end(::pid_t pid) {
        std::unique_lock guard(mutex_);
        ended_.wait(guard, [&] {
            return std::none_of(children_.begin(), children_.end(),
                                [pid](const Child& child) { return child.pid == pid; });
        });
    }

private:
    struct Child {
        ::pid_t pid;
        int socket;
    };

    void run() {
        for (;;) {
            {
                const std::lock_guard guard(mutex_);
                watched_.assign(1, {wake_, POLLIN, 0});
                for (const auto& child : children_) watched_.push_back({child.socket, POLLIN, 0});
            }
            if (::poll(watched_.data(), watched_.size(), -1) < 0) continue;
            const std::lock_guard guard(mutex_);
            std::uint64_t count;
            if (watched_[0].revents != 0 && ::read(wake_, &count, sizeof(count)) < 0) std::abort();
            for (std::size_t i = 1; i < watched_.size(); ++i)
                if (watched_[i].revents != 0 && !serve(children_[i - 1])) children_[i - 1].pid = -1;
            const auto gone = std::erase_if(children_, [](const auto& c) { return c.pid < 0; });
            if (gone != 0) ended_.notify_all();
        }
    }

    /// One message of a child. False when it is gone, and all it held given back.
    bool serve(const Child& child) {
        Question question;
        int none;
        if (!receive_from(child.socket, question, none)) {
            kernel_.end_process(child.pid);
            ::close(child.socket);
            return false;
        }
        Reply reply;
        ChildMemory memory(child.pid, child.socket);
        if (question.what == Ask::Exists) {
            reply.value = kernel_.exists(question.path) ? 0 : -ENOENT;
        } else if (question.what == Ask::Read) {
            reply.value = kernel_.read_file(question.path, reply.text);
        } else {
            const auto answer =
                sim::complete(kernel_, {child.pid, false}, request_of(question), memory);
            reply.value = answer.value;
            reply.grant = answer.map;
        }
        const bool maps = question.what == Ask::Map && reply.value >= 0;
        send_to(child.socket, reply, maps ? reply.grant.file : -1);
        return true;
    }

    static Request request_of(const Question& ask) {
        switch (ask.what) {
        case Ask::Open: return {OpenRequest{ask.path, ask.word, ask.close_on_exec}};
        case Ask::Close: return {CloseRequest{ask.fd}};
        case Ask::Duplicate: return {DuplicateRequest{ask.fd}};
        case Ask::Ioctl: return {IoctlRequest{ask.fd, ask.word, ask.argument}};
        case Ask::Map:
            return {MapRequest{ask.fd, Bytes{ask.length}, ask.argument, ask.writable, ask.shared}};
        case Ask::Mapped: return {MappedRequest{ask.fd, ask.argument, ask.grant}};
        default: return {UnmapRequest{ask.argument, Bytes{ask.length}}};
        }
    }

    SimKernel& kernel_;
    int wake_;
    std::mutex mutex_;
    std::condition_variable ended_;
    std::vector<Child> children_;
    std::vector<pollfd> watched_; ///< the thread's own; here, where a leak checker looks for it
    std::thread thread_;
};

} // namespace oracle
