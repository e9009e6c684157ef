// SPDX-License-Identifier: Apache-2.0
//
// Requests that move data between a caller's buffer and a chunk.
// Owns: their handlers. Does not own: bounds (bounds.hpp), the two memories.
// Layer: backend (simulated kernel).   Source: driver-abi.md 8.4, 8.5 (measured)
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include "neuronbook/backend/sim/device/transfer_ring.hpp"
#include "neuronbook/backend/sim/requests/bounds.hpp"
#include "neuronbook/backend/sim/requests/call.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// The driver's bounce buffer, which also cuts what a fault leaves undone.
inline constexpr std::uint64_t kBounce = 65536;

/// Answer to a buffer of which `missing` bytes could not be reached.
[[nodiscard]] inline std::int64_t short_copy(const Call& call, std::uint64_t missing) {
    if (missing == 0) return 0;
    return call.machine().at_least(Release::V2_30_2) ? -EFAULT : static_cast<std::int64_t>(missing);
}

/// Device chunks: piece by piece through the bounce buffer and the ring. A piece that the caller's
/// memory gives only in part does not reach the device at all.
inline std::int64_t copy_to_device(Call& call, TransferRing& ring, std::byte* to,
                                   std::uint64_t from, std::uint64_t size) {
    std::vector<std::byte> bounce(call.user.may_be_partial() ? std::min(size, kBounce) : 0);
    for (std::uint64_t done = 0; done < size;) {
        const auto piece = std::min(kBounce, size - done);
        if (!bounce.empty()) {
            const auto moved = call.user.read(bounce.data(), from + done, piece);
            if (moved != piece) return short_copy(call, piece - moved);
        }
        if (const auto answer = ring.run(1)) return answer;
        if (bounce.empty()) {
            const auto moved = call.user.read(to + done, from + done, piece);
            if (moved != piece) return short_copy(call, piece - moved);
        }
        if (!bounce.empty()) std::memcpy(to + done, bounce.data(), piece);
        done += piece;
    }
    return 0;
}

inline std::int64_t copy_from_device(Call& call, TransferRing& ring, std::uint64_t to,
                                     const std::byte* from, std::uint64_t size) {
    for (std::uint64_t done = 0; done < size;) {
        const auto piece = std::min(kBounce, size - done);
        if (const auto answer = ring.run(1)) return answer;
        const auto moved = call.user.write(to + done, from + done, piece);
        if (moved != piece) return short_copy(call, piece - moved);
        done += piece;
    }
    return 0;
}

/// Both forms. On device memory the size is cut to 32 bits, silently and in every release.
template <class Form>
std::int64_t buf_copy(Call& call) {
    Form ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    const auto* chunk = call.device.named(ask.mem_handle);
    if (chunk == nullptr) return bad_handle(call);
    if (!in_bounds(call, *chunk, ask.offset, ask.size)) return bad_range(call);
    const std::uint64_t size = chunk->on_host() ? ask.size : static_cast<std::uint32_t>(ask.size);
    if (size == 0) return 0;
    auto* bytes = bytes_of(call, *chunk, ask.offset, size);
    if (bytes == nullptr) return 0;
    const auto buffer = Call::address_of(ask.buffer);
    const bool inward = ask.copy_to_mem_handle != 0;
    auto& ring = call.device.ring_of(*chunk);
    if (!chunk->on_host())
        return inward ? copy_to_device(call, ring, bytes, buffer, size)
                      : copy_from_device(call, ring, buffer, bytes, size);
    return short_copy(call, size - (inward ? call.user.read(bytes, buffer, size)
                                           : call.user.write(buffer, bytes, size)));
}

/// One step of a zero-copy: its pages are pinned, all or none, before anything moves. False when
/// the caller's memory does not give all of them.
[[nodiscard]] inline bool zero_copy_step(Call& call, bool inward, std::uint64_t buffer,
                                         std::byte* bytes, std::uint64_t size) {
    if (!call.user.may_be_partial())
        return (inward ? call.user.read(bytes, buffer, size)
                       : call.user.write(buffer, bytes, size)) == size;
    std::vector<std::byte> held(size);
    if (call.user.read(held.data(), buffer, size) != size) return false;
    if (inward) {
        std::memcpy(bytes, held.data(), size);
        return true;
    }
    const auto moved = call.user.write(buffer, bytes, size);
    if (moved != size) call.user.write(buffer, held.data(), moved);
    return moved == size;
}

/// The form of 2.24, which moves through pinned pages on every architecture, host chunks too.
inline std::int64_t zero_copy(Call& call) {
    constexpr std::uint64_t kStepPages = 64;
    if (call.encoded_size() != sizeof(uapi::MemBufCopy64)) return -EINVAL;
    uapi::MemBufCopy64 ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    const auto* chunk = call.device.named(ask.mem_handle);
    if (chunk == nullptr || !in_bounds(call, *chunk, ask.offset, ask.size)) return -EINVAL;
    const auto buffer = Call::address_of(ask.buffer);
    constexpr std::uint64_t kUserEnd = std::uint64_t{1} << 47;
    if (buffer >= kUserEnd || ask.size > kUserEnd - buffer) return -EFAULT;
    if (ask.size == 0) {
        call.state.journal.crashes.add("zero-copy of size 0: oops with the ring locked");
        return -EINVAL;
    }
    auto* bytes = bytes_of(call, *chunk, ask.offset, ask.size);
    if (bytes == nullptr) return 0;
    auto& ring = call.device.ring_of(*chunk);
    for (std::uint64_t done = 0; done < ask.size;) {
        const auto into_page = (buffer + done) % kPage.count();
        const auto step = std::min(kStepPages * kPage.count() - into_page, ask.size - done);
        const auto pages = (into_page + step + kPage.count() - 1) / kPage.count();
        if (const auto answer = ring.run(pages)) return answer;
        if (is_driver_mapping(call.state, call.caller.pid, buffer + done, step)) return -ENOMEM;
        if (!zero_copy_step(call, ask.copy_to_mem_handle != 0, buffer + done, bytes + done, step))
            return -ENOMEM;
        done += step;
    }
    return 0;
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
