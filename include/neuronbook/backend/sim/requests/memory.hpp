// SPDX-License-Identifier: Apache-2.0
//
// Requests that allocate, free and ask about memory.
// Owns: their handlers and forms. Does not own: a chunk's life (device.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 7 (measured)
#pragma once

#include <cerrno>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "neuronbook/backend/sim/requests/bounds.hpp"
#include "neuronbook/backend/sim/requests/call.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// A value like a kernel pointer, for answers that leak one.
[[nodiscard]] inline std::uint64_t kernel_pointer(std::uint32_t chunk) {
    return 0xFFFF888000000000u + std::uint64_t{chunk} * 192;
}

/// Every allocation form; they differ in what they can say. Form 1 answers an unreadable argument
/// with -EACCES up to 2.26, and its attachment was checked before it.
template <class Form>
std::int64_t allocate(Call& call) {
    Form form;
    constexpr bool kFirst = std::is_same_v<Form, uapi::MemAlloc>;
    if (const auto answer = call.copy_in(form))
        return kFirst && !call.machine().at_least(Release::V2_30_2) ? -EACCES : answer;
    Ask ask{form.size, 0, form.host_memory != 0, form.hbm_index, form.nc_id, 0};
    if constexpr (requires { form.align; }) ask.align = form.align;
    if constexpr (requires { form.mem_type; })
        ask.category = form.mem_type;
    else
        ask.category = static_cast<std::uint32_t>(ask.on_host ? uapi::MemCategory::UnknownHost
                                                              : uapi::MemCategory::UnknownDevice);
    const auto slot = call.slot();
    const bool attached = slot != AttachSlots::kNone;
    const auto made =
        call.device.allocate(ask, slot, attached ? Lifetime::Process : Lifetime::Call);
    if (made < 0) return made;
    if (!attached) { // it has no list to go into
        call.device.free(static_cast<std::uint32_t>(made));
        call.state.journal.crashes.add("allocation by a process that is not attached: assertion "
                                       "with the device's pool lock held");
        return -EACCES;
    }
    const auto& chunk = call.device.chunks[static_cast<std::uint32_t>(made)];
    auto missing = call.copy_out(Call::address_of(form.mem_handle), std::uint64_t{chunk.handle});
    if constexpr (requires { form.pa; }) {
        form.pa = chunk.pa;
        if (missing == 0) missing = call.copy_out(form);
    }
    if (missing != 0) call.device.free(static_cast<std::uint32_t>(made), slot);
    return missing;
}

inline std::int64_t mem_free(Call& call) {
    uapi::MemFree ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    const auto index = call.device.handles.find(ask.mem_handle);
    if (index == HandleTable::kNothing) return bad_handle(call);
    if (call.device.chunks[index].without_pool())
        call.state.journal.crashes.add("free of a host chunk of category 19: no pool to check");
    // a notification queue's is missed by the next reset only
    if (call.device.chunks[index].lifetime == Lifetime::Device && !call.device.chunks[index].kept)
        call.state.journal.crashes.add("free of a chunk that the driver itself goes on using");
    call.device.free(index, call.slot());
    return 0;
}

inline std::int64_t get_pa(Call& call) {
    uapi::MemGetPa ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    const auto* chunk = call.device.named(ask.mem_handle);
    if (chunk == nullptr) return -EINVAL;
    return call.copy_out(Call::address_of(ask.pa), chunk->pa);
}

inline std::int64_t get_info(Call& call) {
    uapi::MemGetInfo ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    const auto* chunk = call.device.named(ask.mem_handle);
    if (chunk == nullptr) return -EINVAL;
    if (ask.mmap_offset != nullptr)
        if (const auto missing = call.copy_out(Call::address_of(ask.mmap_offset), chunk->pa))
            return missing;
    return call.copy_out(Call::address_of(ask.pa), chunk->pa);
}

/// A bad handle is answered with plus 22; a good one comes back destroyed.
inline std::int64_t get_extended_info(Call& call) {
    uapi::MemGetExtendedInfo ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    const auto index = call.device.handles.find(ask.mem_handle);
    if (index == HandleTable::kNothing) return EINVAL;
    const auto& chunk = call.device.chunks[index];
    return call.copy_out(
        uapi::MemGetExtendedInfo{kernel_pointer(index), 0, chunk.on_host() ? 1u : 0u, chunk.pa,
                                 chunk.pa, static_cast<std::uint64_t>(chunk.pid), chunk.size});
}

/// By number; the size tells the form. The newer one makes a handle for a chunk that has none.
template <class Form>
std::int64_t chunk_at(Call& call) {
    Form ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    const auto index = call.device.at(ask.pa);
    if (index == Chunk::kNone) return -ENOMEM;
    auto& chunk = call.device.chunks[index];
    ask.mmap_offset = chunk.pa;
    ask.size = chunk.size;
    if constexpr (requires { ask.mem_handle; }) {
        if (chunk.handle == 0) chunk.handle = call.device.handles.add(index);
        if (chunk.handle == 0) return -ENOENT;
        ask.mem_handle = chunk.handle;
    }
    return call.copy_out(ask);
}

inline std::int64_t mc_get_info(Call& call) {
    if (call.encoded_size() == sizeof(uapi::MemGetMcMmapInfo))
        return chunk_at<uapi::MemGetMcMmapInfo>(call);
    if (call.encoded_size() == sizeof(uapi::MemGetMcMmapInfoV2))
        return chunk_at<uapi::MemGetMcMmapInfoV2>(call);
    return -EINVAL;
}

/// All chunks of an HBM, whoever owns them. An HBM that is not there has none.
inline std::int64_t dump_chunks(Call& call) {
    constexpr std::uint64_t kLargestKernelBuffer = std::uint64_t{4} << 20;
    uapi::DumpMemChunks ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    if (std::uint64_t{ask.num_entries_in} * sizeof(uapi::MemChunkInfo) > kLargestKernelBuffer)
        return -ENOMEM;
    std::vector<uapi::MemChunkInfo> found;
    call.device.for_each(ask.hbm_index, [&](std::uint32_t index) {
        const auto& chunk = call.device.chunks[index];
        found.push_back({chunk.pa, chunk.size, chunk.category, 0});
    });
    ask.num_entries_out = static_cast<std::uint32_t>(found.size());
    if (ask.num_entries_out > ask.num_entries_in) {
        const auto missing = call.copy_out(ask);
        return missing != 0 ? missing : -EAGAIN;
    }
    if (const auto missing = call.copy_out(ask)) return missing; // before what it counts
    const auto size = found.size() * sizeof(uapi::MemChunkInfo);
    if (size == 0) return 0;
    return static_cast<std::int64_t>(
        size - call.user.write(Call::address_of(ask.data), found.data(), size));
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
