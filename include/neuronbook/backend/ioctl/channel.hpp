// SPDX-License-Identifier: Apache-2.0
//
// One ioctl, as every request of the library makes it.
// Owns: the retry of interrupted calls, and the turn from an answer to an Error.
// Does not own: which descriptor, which request. Layer: backend.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string_view>
#include <utility>

#include "neuronbook/backend/ioctl/errno_status.hpp"
#include "neuronbook/backend/port.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// Runs `call` again while it was only interrupted.
template <class F>
std::int64_t retried(F call) {
    std::int64_t answer = 0;
    do answer = call();
    while (answer == -EINTR);
    return answer;
}

/// Effects: one request. Errors: any answer but 0, by the table of errno_status.hpp.
template <Port P, class Argument>
Result<void> request(P& port, int fd, std::uint32_t word, Argument& argument, Operation operation,
                     CallKind kind = CallKind::Other) {
    const std::int64_t answer = retried([&] { return port.ioctl(fd, word, &argument); });
    if (answer == 0) return {};
    return fail(refused(operation, kind, answer));
}

/// Effects: opens a node. Errors: the path is in the text.
template <Port P>
Result<int> open_node(P& port, const char* path, Access access, Operation operation) {
    const std::int64_t answer = retried([&] { return port.open(path, access); });
    if (answer >= 0) return static_cast<int>(answer);
    Error error = refused(operation, CallKind::Open, answer);
    error.text = std::string_view(path);
    if (error.detail == Detail::AttachSlotsFull) error.limit = uapi::kMaxProcessPerDevice;
    return fail(error);
}

} // namespace detail
} // namespace v0
} // namespace neuronbook
