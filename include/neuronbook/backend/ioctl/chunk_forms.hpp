// SPDX-License-Identifier: Apache-2.0
//
// The five forms in which a driver can be asked for memory.
// Owns: which form a driver gets, and its encoding. Does not own: validation (ioctl_driver.hpp).
// Layer: backend.   Source: driver-abi.md 7
#pragma once

#include <cstdint>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/backend/ioctl/channel.hpp"
#include "neuronbook/backend/ioctl/releases.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// Newest first. Chosen by feature word and version, never by trying: the driver's EINVAL for an
/// unknown form is also its EINVAL for a bad argument.
enum class ChunkForm : std::uint8_t { WithAddress, Typed64, Typed, Aligned, Plain };

[[nodiscard]] inline ChunkForm chunk_form(const DriverFacts& facts) noexcept {
    if (facts.features & uapi::kFeatureAllocWithPa) return ChunkForm::WithAddress;
    if (facts.features & uapi::kFeatureMemAlloc64) return ChunkForm::Typed64;
    if (facts.features & uapi::kFeatureMemAllocType) return ChunkForm::Typed;
    if (facts.version >= kAlignedSince) return ChunkForm::Aligned;
    return ChunkForm::Plain;
}

/// What the driver said of a new chunk; the address only where the form brings it.
struct NewChunk {
    std::uint64_t handle = 0;
    std::uint64_t address = 0;
};

/// Sends one request of type `Form`. Members that a form lacks are left out.
template <class Form, Port P>
Result<NewChunk> send_chunk_request(P& port, int fd, std::uint32_t word, const ChunkRequest& ask) {
    NewChunk made;
    Form form{};
    const bool host = ask.location == MemoryLocation::Host;
    form.size = ask.size.count();
    form.host_memory = host ? 1 : 0;
    form.hbm_index = ask.hbm;
    form.nc_id = ask.core.value();
    form.mem_handle = &made.handle;
    if constexpr (requires { form.align; }) form.align = ask.alignment.count();
    if constexpr (requires { form.mem_type; }) form.mem_type = ask.category;
    auto done = request(port, fd, word, form, Operation::Allocate,
                        host ? CallKind::AllocateHost : CallKind::AllocateDevice);
    if (!done) return fail(done.error());
    if constexpr (requires { form.pa; }) made.address = form.pa;
    return made;
}

template <Port P>
Result<NewChunk> send_chunk_request(P& port, int fd, ChunkForm form, const ChunkRequest& ask) {
    switch (form) {
    case ChunkForm::WithAddress:
        return send_chunk_request<uapi::MemAllocV2MemType64Pa>(port, fd, uapi::kMemAllocV2mt64Pa,
                                                               ask);
    case ChunkForm::Typed64:
        return send_chunk_request<uapi::MemAllocV2MemType64>(port, fd, uapi::kMemAllocV2mt64, ask);
    case ChunkForm::Typed:
        return send_chunk_request<uapi::MemAllocV2MemType>(port, fd, uapi::kMemAllocV2mt, ask);
    case ChunkForm::Aligned:
        return send_chunk_request<uapi::MemAllocV2>(port, fd, uapi::kMemAllocV2, ask);
    case ChunkForm::Plain: break;
    }
    return send_chunk_request<uapi::MemAlloc>(port, fd, uapi::kMemAlloc, ask);
}

} // namespace detail
} // namespace v0
} // namespace neuronbook
