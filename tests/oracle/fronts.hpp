// SPDX-License-Identifier: Apache-2.0
// The two ways to the kernel: in the process that has it, and in a forked child of that.
#pragma once

#include <fcntl.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

#include "neuronbook/backend/sim/port.hpp"
#include "remote.hpp"

namespace oracle {

/// The calls of a process about the driver, answered as a kernel answers them.
class Front {
public:
    Front() = default;
    Front(const Front&) = delete;
    Front& operator=(const Front&) = delete;
    virtual ~Front() = default;

    virtual std::int64_t open(const char* path, int flags) = 0;
    virtual std::int64_t close(int fd) = 0;
    virtual std::int64_t duplicate(int fd) = 0;
    virtual std::int64_t ioctl(int fd, std::uint32_t word, void* argument) = 0;
    virtual Mapping map(const MapRequest& ask) = 0;
    /// Says that addresses are given up; the caller really unmaps them.
    virtual void unmap(void* address, std::size_t length) = 0;
    virtual bool exists(const char* path) = 0;
    virtual std::int64_t read_file(const char* path, std::span<char> buffer) = 0;
};

class LocalFront final : public Front {
public:
    LocalFront(SimKernel& kernel, ::pid_t pid)
        : kernel_(kernel), caller_{pid, false}, port_(kernel, caller_, Pointers::Checked) {}

    std::int64_t open(const char* path, int flags) override {
        return ask(OpenRequest{path, static_cast<std::uint32_t>(flags & O_ACCMODE),
                               (flags & O_CLOEXEC) != 0});
    }
    std::int64_t close(int fd) override { return port_.close(fd); }
    std::int64_t duplicate(int fd) override { return port_.duplicate(fd); }
    std::int64_t ioctl(int fd, std::uint32_t word, void* argument) override {
        return port_.ioctl(fd, word, argument);
    }
    Mapping map(const MapRequest& request) override { return port_.map(request); }
    void unmap(void* address, std::size_t length) override {
        ask(UnmapRequest{reinterpret_cast<std::uint64_t>(address), Bytes{length}});
    }
    bool exists(const char* path) override { return kernel_.exists(path); }
    std::int64_t read_file(const char* path, std::span<char> buffer) override {
        return kernel_.read_file(path, buffer);
    }

private:
    template <class What>
    std::int64_t ask(const What& what) {
        SelfMemory memory;
        return sim::complete(kernel_, caller_, {what}, memory).value;
    }

    SimKernel& kernel_;
    Caller caller_;
    SimPort port_;
};

class RemoteFront final : public Front {
public:
    explicit RemoteFront(int socket) : socket_(socket) {}

    std::int64_t open(const char* path, int flags) override {
        Question question{.what = Ask::Open, .word = static_cast<std::uint32_t>(flags & O_ACCMODE)};
        question.close_on_exec = (flags & O_CLOEXEC) != 0;
        return about(question, path).value;
    }
    std::int64_t close(int fd) override { return ask({.what = Ask::Close, .fd = fd}).value; }
    std::int64_t duplicate(int fd) override {
        return ask({.what = Ask::Duplicate, .fd = fd}).value;
    }
    std::int64_t ioctl(int fd, std::uint32_t word, void* argument) override {
        return ask({.what = Ask::Ioctl,
                    .fd = fd,
                    .word = word,
                    .argument = reinterpret_cast<std::uint64_t>(argument)})
            .value;
    }
    Mapping map(const MapRequest& request) override {
        const int fd = static_cast<int>(request.file);
        int file = -1;
        auto reply = ask({.what = Ask::Map,
                          .fd = fd,
                          .argument = request.offset,
                          .length = request.length.count(),
                          .writable = request.writable,
                          .shared = request.shared},
                         &file);
        if (reply.value < 0) return {nullptr, static_cast<int>(-reply.value)};
        if (file < 0) return {nullptr, EMFILE};
        const auto told = reply.grant;
        reply.grant.file = file;
        const auto mapping = sim::map_here(reply.grant, request.shared);
        ::close(file);
        if (mapping.error == 0)
            ask({.what = Ask::Mapped,
                 .fd = fd,
                 .argument = reinterpret_cast<std::uint64_t>(mapping.address),
                 .grant = told});
        return mapping;
    }
    void unmap(void* address, std::size_t length) override {
        ask({.what = Ask::Unmap,
             .argument = reinterpret_cast<std::uint64_t>(address),
             .length = length});
    }
    bool exists(const char* path) override { return about({.what = Ask::Exists}, path).value == 0; }
    std::int64_t read_file(const char* path, std::span<char> buffer) override {
        const auto reply = about({.what = Ask::Read}, path);
        if (reply.value > 0)
            std::copy_n(reply.text, static_cast<std::size_t>(reply.value), buffer.begin());
        return reply.value;
    }

private:
    Reply about(Question question, const char* path) {
        const std::string_view text(path);
        if (text.size() >= sizeof(question.path)) return {.value = -ENOENT};
        std::copy(text.begin(), text.end(), question.path);
        return ask(question);
    }

    /// A child that cannot reach the kernel any more has nothing left to do.
    Reply ask(const Question& question, int* file = nullptr) {
        Reply reply;
        int descriptor = -1;
        if (!send_to(socket_, question)) std::_Exit(3);
        for (;;) {
            if (!receive_from(socket_, reply, descriptor)) std::_Exit(3);
            if (!reply.install) break;
            const std::int64_t number = descriptor < 0 ? -EMFILE : descriptor;
            if (!send_to(socket_, number)) std::_Exit(3);
        }
        if (file != nullptr)
            *file = descriptor;
        else if (descriptor >= 0)
            ::close(descriptor);
        return reply;
    }

    int socket_;
};

} // namespace oracle
