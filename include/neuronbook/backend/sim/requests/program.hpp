// SPDX-License-Identifier: Apache-2.0
//
// Requests that load something into a core or a top synchronisation processor.
// Owns: their handlers, what may be written. Does not own: where the bytes are (registers.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 12
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "neuronbook/backend/sim/device/registers.hpp"
#include "neuronbook/backend/sim/requests/call.hpp"
#include "neuronbook/backend/sim/requests/copy.hpp"
#include "neuronbook/backend/sim/requests/engine_use.hpp"
#include "neuronbook/backend/uapi.hpp"
#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// A part of the device's address space that programs may be written to.
struct ProgramWindow {
    std::uint64_t base = 0;
    std::uint64_t size = 0;
    std::int64_t core = -1; ///< its addresses are a core's; -1: they are places themselves
};

/// Calls `visit` for each of them until it says true.
template <class F>
void for_each_program_window(const MachineSpec& machine, F visit) {
    if (machine.is(Architecture::Sunda)) {
        if (visit(ProgramWindow{0x0FFFC0000000, 0x8000000, -1})) return;
        visit(ProgramWindow{0x0FFFD0000000, 0x1800000, -1});
        return;
    }
    constexpr std::uint64_t kDie = std::uint64_t{1} << 47;
    constexpr std::uint64_t kCores[] = {0x2000000000, 0x3000000000, 0x6000000000, 0x7000000000};
    constexpr std::uint64_t kPreprocessors[] = {0x1200000000, 0x5200000000};
    for (std::uint64_t die = 0; die < 2; ++die) {
        for (std::uint64_t i = 0; i < 4; ++i)
            if (visit(ProgramWindow{die * kDie + kCores[i], 0x804000000,
                                    static_cast<std::int64_t>(die * 4 + i)}))
                return;
        for (std::uint64_t top = 0; top < 10; ++top)
            if (visit(ProgramWindow{die * kDie + 0x8280000000 + top * 0x40000000, 0x400000, -1}))
                return;
        for (const auto base : kPreprocessors)
            if (visit(ProgramWindow{die * kDie + base, 0x34C0000, -1})) return;
    }
    const auto& geometry = machine.geometry();
    for (std::uint32_t hbm = 0; hbm < geometry.hbms; ++hbm)
        if (visit(ProgramWindow{geometry.hbm_base[hbm].value(), machine.hbm_size(), -1})) return;
}

/// The window that a program lies in wholly, if any.
[[nodiscard]] inline std::optional<ProgramWindow>
window_of_program(const MachineSpec& machine, std::uint64_t start, std::uint64_t size) {
    std::optional<ProgramWindow> found;
    for_each_program_window(machine, [&](const ProgramWindow& window) {
        if (start < window.base ||
            !contains(Bytes{window.size}, Bytes{start - window.base}, Bytes{size}))
            return false;
        found = window;
        return true;
    });
    return found;
}

/// Writes a program, in pieces that do not leave what the BAR shows of a core, if it is in one.
inline void write_program(Device& device, const ProgramWindow& window, std::uint64_t start,
                          const std::byte* bytes, std::uint64_t size) {
    for (std::uint64_t done = 0; done < size;) {
        auto piece = size - done;
        auto place = start + done;
        if (window.core >= 0) {
            const auto into = start + done - window.base;
            if (into < Registers::kCoreSize) piece = std::min(piece, Registers::kCoreSize - into);
            place = device.registers.core_place(static_cast<std::uint64_t>(window.core), into);
        }
        if (auto* to = device.memory.at(place, piece)) std::memcpy(to, bytes + done, piece);
        done += piece;
    }
}

/// All forms; the offset moves both ends. The bytes go through a buffer on the host that is charged
/// to the core, and whatever is wrong with that is -ENOMEM.
template <class Form>
std::int64_t program_engine(Call& call) {
    constexpr auto kCategory = static_cast<std::uint32_t>(uapi::MemCategory::NcdevHost);
    Form ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    std::uint32_t core = 0;
    if constexpr (requires { ask.nc_id; }) core = ask.nc_id;
    const auto start = checked_sum(Bytes{ask.dst}, Bytes{ask.offset});
    if (!start) return -ENOMEM;
    const auto window = window_of_program(call.machine(), start->count(), ask.size);
    if (!window) return -ENOMEM;
    auto& device = call.device;
    const auto made = device.allocate({ask.size, 0, true, 0, core, kCategory}, call.slot(),
                                      Lifetime::Call, Device::Naming::Later);
    if (made < 0) return -ENOMEM;
    const auto bounce = static_cast<std::uint32_t>(made);
    const auto& chunk = device.chunks[bounce];
    auto* bytes = device.memory.at(chunk.pa, ask.size);
    std::int64_t answer = bytes == nullptr ? -ENOMEM : 0;
    if (answer == 0)
        answer = short_copy(
            call,
            ask.size - call.user.read(bytes, Call::address_of(ask.buffer) + ask.offset, ask.size));
    if (answer == 0) answer = run_engine(call, device.queue_of(chunk), pieces_of(ask.size));
    if (answer == 0) write_program(device, *window, start->count(), bytes, ask.size);
    device.free(bounce, call.slot());
    return answer;
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
