// SPDX-License-Identifier: Apache-2.0
// What the probe's process and its forked children say to each other: a child asks over a socket
// and is served as another process of the parent's kernel. Only the types and the socket are here;
// server.hpp is the parent's end, child.hpp the child's.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "neuronbook/backend/sim/request.hpp"

namespace oracle {

using namespace neuronbook;

enum class Ask : std::uint8_t { Open, Close, Duplicate, Ioctl, Map, Mapped, Unmap, Exists, Read };

struct Question {
    Ask what{};
    int fd = -1;
    std::uint32_t word = 0;     ///< request word, or access bits
    std::uint64_t argument = 0; ///< address or offset
    std::uint64_t length = 0;
    bool writable = false;
    bool shared = true;
    bool close_on_exec = false;
    MapGrant grant{};
    char path[128] = {};
};

/// `install`: not the answer yet; the descriptor that comes along is to be kept, its number said.
struct Reply {
    std::int64_t value = 0;
    bool install = false;
    MapGrant grant{};
    char text[512] = {};
};

/// One message, with a descriptor unless that is -1. False when the other end is gone.
template <class T>
bool send_to(int socket, const T& message, int descriptor = -1) {
    iovec data{const_cast<T*>(&message), sizeof(T)};
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
    msghdr header{};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    if (descriptor >= 0) {
        header.msg_control = room;
        header.msg_controllen = sizeof(room);
        auto* part = CMSG_FIRSTHDR(&header);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(part), &descriptor, sizeof(int));
    }
    return ::sendmsg(socket, &header, MSG_NOSIGNAL) == static_cast<::ssize_t>(sizeof(T));
}

/// `descriptor`: -1 when none came, for example because no number is left.
template <class T>
bool receive_from(int socket, T& message, int& descriptor) {
    iovec data{&message, sizeof(T)};
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
    msghdr header{};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = room;
    header.msg_controllen = sizeof(room);
    ::ssize_t size;
    do size = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
    while (size < 0 && errno == EINTR);
    descriptor = -1;
    const auto* part = size < 0 ? nullptr : CMSG_FIRSTHDR(&header);
    if (part != nullptr && part->cmsg_type == SCM_RIGHTS)
        std::memcpy(&descriptor, CMSG_DATA(part), sizeof(int));
    return size == static_cast<::ssize_t>(sizeof(T));
}

} // namespace oracle
