// SPDX-License-Identifier: Apache-2.0
//
// A port that passes everything on: what the decorators have in common.
// Owns: the forwarding. Does not own: what a decorator adds.
// Layer: backend.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "neuronbook/backend/port.hpp"

namespace neuronbook {
inline namespace v0 {

/// The calls that reach the kernel's driver or its files, and that decorators act on. exists() and
/// the clock cannot fail and are passed on untouched.
enum class PortCall : std::uint8_t { Open, Close, Ioctl, Map, Unmap, ReadFile };

/// What a decorator is told of a call.
struct PortEvent {
    PortCall call;
    const char* path = nullptr;     ///< Open, ReadFile
    int fd = -1;                    ///< Close, Ioctl, Map
    std::uint32_t request = 0;      ///< Ioctl
    const void* argument = nullptr; ///< Ioctl, after the call
};

/// Base of the decorators. `Hook` is a cheap handle with
/// `std::int64_t around(const PortEvent&, F call)`, which runs `call` (or does not) and gives the
/// answer. The identity is the inner port's: a decorated port reaches the same kernel.
template <Port P, class Hook>
class DecoratedPort {
public:
    DecoratedPort(P inner, Hook hook) : inner_(std::move(inner)), hook_(std::move(hook)) {}

    std::int64_t open(const char* path, Access access) {
        return hook_.around({.call = PortCall::Open, .path = path},
                            [&] { return inner_.open(path, access); });
    }
    std::int64_t close(int fd) {
        return hook_.around({.call = PortCall::Close, .fd = fd}, [&] { return inner_.close(fd); });
    }
    std::int64_t ioctl(int fd, std::uint32_t request, void* argument) {
        return hook_.around(
            {.call = PortCall::Ioctl, .fd = fd, .request = request, .argument = argument},
            [&] { return inner_.ioctl(fd, request, argument); });
    }
    Mapping map(int fd, Bytes length, bool writable, std::uint64_t offset) {
        Mapping mapping;
        const std::int64_t answer = hook_.around({.call = PortCall::Map, .fd = fd}, [&] {
            mapping = inner_.map(fd, length, writable, offset);
            return -static_cast<std::int64_t>(mapping.error);
        });
        if (answer != 0) mapping = {nullptr, static_cast<int>(answer < 0 ? -answer : answer)};
        return mapping;
    }
    std::int64_t unmap(void* address, Bytes length) {
        return hook_.around({.call = PortCall::Unmap},
                            [&] { return inner_.unmap(address, length); });
    }
    std::int64_t read_file(const char* path, std::span<char> buffer) {
        return hook_.around({.call = PortCall::ReadFile, .path = path},
                            [&] { return inner_.read_file(path, buffer); });
    }
    bool exists(const char* path) { return inner_.exists(path); }
    Nanoseconds now() { return inner_.now(); }
    void sleep(Nanoseconds duration) { inner_.sleep(duration); }
    [[nodiscard]] PortIdentity identity() const { return inner_.identity(); }

private:
    P inner_;
    Hook hook_;
};

} // namespace v0
} // namespace neuronbook
