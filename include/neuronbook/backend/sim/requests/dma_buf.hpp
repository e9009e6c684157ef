// SPDX-License-Identifier: Apache-2.0
//
// Exporting a mapping, so that another driver's hardware may reach what it shows.
// Owns: the two handlers. Does not own: how a descriptor gets into the caller (user_memory.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 9.1 (success measured on Trn1)
#pragma once

#include <cerrno>
#include <cstdint>
#include <limits>

#include "neuronbook/backend/sim/requests/call.hpp"
#include "neuronbook/backend/uapi.hpp"
#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// The caller's record that contains an address, on any device it is attached to. Null without.
[[nodiscard]] inline MapRecord* record_at(Call& call, std::uint64_t va) {
    for (const auto& device : call.state.devices)
        if (auto* record = call.state.mappings.find(device.index(), call.caller.pid, va))
            return record;
    return nullptr;
}

/// A descriptor number in the caller, or minus an errno. `va` is where the buffer begins.
[[nodiscard]] inline std::int64_t install(Call& call, MapRecord& record, std::uint64_t va,
                                          std::uint64_t size) {
    const auto offset = record.grant.offset + (va - record.va);
    const auto number = call.user.install_descriptor(record.grant.file, offset, size);
    if (number >= 0) call.state.mappings.add_export(record, number);
    return number;
}

/// Up to 2.28: the buffer may be longer than the mapping, and begin anywhere in it. Without a free
/// descriptor number the kernel comes down.
inline std::int64_t export_old(Call& call, const uapi::DmabufFd& ask) {
    auto* record = record_at(call, ask.va);
    if (record == nullptr) return -EINVAL;
    const auto number = install(call, *record, ask.va, ask.size);
    if (number < 0) {
        call.state.journal.crashes.add("dma-buf with no descriptor number left: kernel BUG");
        return number;
    }
    return call.copy_out(Call::address_of(ask.fd), static_cast<std::int32_t>(number));
}

/// From 2.29 on: the buffer begins with the page and must end in the mapping.
inline std::int64_t export_checked(Call& call, std::uint64_t va, std::uint64_t size) {
    const auto into_page = va % kPage.count();
    if (size > std::numeric_limits<std::uint64_t>::max() - into_page) return -EINVAL;
    auto* record = record_at(call, va);
    if (record == nullptr || size > record->length - (va - record->va)) return -EINVAL;
    return install(call, *record, va - into_page, into_page + size);
}

inline std::int64_t dmabuf_fd(Call& call) {
    uapi::DmabufFd ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    if (!call.machine().at_least(Release::V2_30_2)) return export_old(call, ask);
    if (ask.fd == nullptr || ask.va % kPage.count() != 0) return -EINVAL;
    const auto number = export_checked(call, ask.va, ask.size);
    if (number < 0) return number;
    const auto missing = call.copy_out(Call::address_of(ask.fd), static_cast<std::int32_t>(number));
    return missing == 0 ? 0 : -EFAULT; // the descriptor stays open
}

inline std::int64_t dmabuf_fd_v2(Call& call) {
    uapi::DmabufFdV2 ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    if (ask.fd == nullptr || ask.offset == nullptr) return -EINVAL;
    const auto number = export_checked(call, ask.va, ask.size);
    if (number < 0) return number;
    const std::uint64_t into_page = ask.va % kPage.count();
    const auto missing =
        call.copy_out(Call::address_of(ask.fd), static_cast<std::int32_t>(number)) +
        call.copy_out(Call::address_of(ask.offset), into_page);
    if (missing == 0) return 0;
    call.user.close_descriptor(number);
    call.state.mappings.drop_export(call.caller.pid, number);
    return -EFAULT;
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
