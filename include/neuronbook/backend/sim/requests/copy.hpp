// SPDX-License-Identifier: Apache-2.0
//
// Requests that move data between a caller's buffer and a chunk.
// Owns: their handlers. Does not own: bounds (bounds.hpp), the two memories.
// Layer: backend (simulated kernel).   Source: driver-abi.md 8.4 (measured)
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include "neuronbook/backend/sim/requests/bounds.hpp"
#include "neuronbook/backend/sim/requests/call.hpp"
#include "neuronbook/backend/sim/requests/engine_use.hpp"
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

/// What is missing of the piece in which a copy of `size` bytes ended early.
[[nodiscard]] constexpr std::uint64_t missing_of_piece(std::uint64_t moved, std::uint64_t size) {
    const auto piece = moved / kBounce * kBounce;
    return std::min(kBounce, size - piece) - (moved - piece);
}

/// Device chunks: through the bounce buffer and the ring, piece by piece. A piece that the caller's
/// memory gives only in part does not reach the device at all. As a ring is after a piece what it
/// was before, one look at it does for all of them.
inline std::int64_t copy_to_device(Call& call, std::uint64_t pa, std::byte* to, std::uint64_t from,
                                   std::uint64_t size) {
    auto& memory = call.device.memory;
    if (!call.user.may_be_partial()) {
        (void)memory.at(pa, size); // the buffer is believed to be there
        return short_copy(call,
                          call.user.read(to, from, size) == size ? 0 : std::min(kBounce, size));
    }
    std::vector<std::byte> bounce(std::min(size, kBounce));
    for (std::uint64_t done = 0; done < size; done += bounce.size()) {
        const auto piece = std::min(kBounce, size - done);
        const auto moved = call.user.read(bounce.data(), from + done, piece);
        if (moved != piece) return short_copy(call, piece - moved);
        memory.settle(pa + done, piece);
        std::memcpy(to + done, bounce.data(), piece);
    }
    return 0;
}

/// In parts, so that a buffer that ends early does not cost the memory of the whole.
inline std::int64_t copy_from_device(Call& call, std::uint64_t to, std::uint64_t pa,
                                     const std::byte* from, std::uint64_t size) {
    constexpr std::uint64_t kPart = 64 * kBounce;
    for (std::uint64_t done = 0; done < size;) {
        const auto part = std::min(kPart, size - done);
        call.device.memory.settle(pa + done, part);
        const auto moved = call.user.write(to + done, from + done, part);
        done += moved;
        if (moved != part) return short_copy(call, missing_of_piece(done, size));
    }
    return 0;
}

/// The bounce buffer of a call. It is charged to a core while it is there.
class Bounce {
public:
    Bounce(Device& device, std::uint32_t core)
        : device_(device), own_(device.allocate_own(kBounce, core)) {}
    Bounce(const Bounce&) = delete;
    Bounce& operator=(const Bounce&) = delete;
    ~Bounce() { device_.free_own(own_); }

    [[nodiscard]] bool is_there() const { return own_.index != Chunk::kNone; }

private:
    Device& device_;
    OwnChunk own_;
};

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
    auto* bytes = place_of(call, *chunk, ask.offset, size); // nothing fills host memory
    if (bytes == nullptr) return 0;
    const auto buffer = Call::address_of(ask.buffer);
    const bool inward = ask.copy_to_mem_handle != 0;
    if (chunk->on_host())
        return short_copy(call, size - (inward ? call.user.read(bytes, buffer, size)
                                               : call.user.write(buffer, bytes, size)));
    const auto pa = chunk->pa + ask.offset;
    auto& queue = call.device.queue_of(*chunk);
    const Bounce bounce(call.device, chunk->core); // a chunk's address does not outlive this
    if (!bounce.is_there()) return -ENOMEM;
    if (const auto answer = run_engine(call, queue, 1)) {
        // the driver reads the first piece before it looks at the ring
        std::vector<std::byte> first(inward ? std::min(size, kBounce) : 0);
        const auto moved = inward ? call.user.read(first.data(), buffer, first.size()) : 0;
        return moved != first.size() ? short_copy(call, first.size() - moved) : answer;
    }
    return inward ? copy_to_device(call, pa, bytes, buffer, size)
                  : copy_from_device(call, buffer, pa, bytes, size);
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
