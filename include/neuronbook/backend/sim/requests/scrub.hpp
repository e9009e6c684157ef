// SPDX-License-Identifier: Apache-2.0
//
// Requests that overwrite a whole HBM and wait for it.
// Owns: their handlers, what a scrub holds meanwhile. Does not own: the bytes (device_memory.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 8.10
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "neuronbook/backend/sim/requests/call.hpp"
#include "neuronbook/backend/sim/requests/engine_use.hpp"
#include "neuronbook/backend/uapi.hpp"
#include "neuronbook/base/architecture.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

inline constexpr std::uint64_t kScrubEngines = 16; ///< of each HBM

/// What the driver allocates for a scrub: a word that says when it is done, then for each engine
/// the first piece and two rings. 0, or minus an errno: then the caller gives back what is there.
inline std::int64_t hold_for_scrub(Call& call, Scrub& scrub, std::uint32_t core,
                                   std::uint32_t slot) {
    constexpr auto kPiecesIn = static_cast<std::uint32_t>(uapi::MemCategory::CodeHost);
    constexpr auto kRingsIn = static_cast<std::uint32_t>(uapi::MemCategory::DmaRingsHost);
    constexpr std::uint64_t kFirstPiece = 65536;
    const std::uint64_t ring = call.machine().is(Architecture::Mariana) ? 1u << 20 : 1u << 19;
    const auto hold = [&](std::uint64_t size, std::uint32_t category) -> std::int64_t {
        const auto made = call.device.allocate({size, 0, true, 0, core, category}, slot,
                                               Lifetime::Process, Device::Naming::Later);
        if (made < 0) return made;
        scrub.chunks.push_back(static_cast<std::uint32_t>(made));
        call.device.chunks[scrub.chunks.back()].kept = true;
        return 0;
    };
    if (const auto answer = hold(kPage.count(), kPiecesIn)) return answer;
    for (std::uint64_t engine = 0; engine < kScrubEngines; ++engine) {
        if (const auto answer = hold(kFirstPiece, kPiecesIn)) return answer;
        for (int side = 0; side < 2; ++side)
            if (const auto answer = hold(ring, kRingsIn)) return answer;
    }
    return 0;
}

/// The driver's number of one of an HBM's engines.
[[nodiscard]] inline std::uint32_t scrub_engine(const MachineSpec& machine, std::uint32_t hbm,
                                                std::uint32_t which) {
    if (machine.is(Architecture::Sunda)) return 16 * hbm + which;
    return 32 * hbm + which / 4 * 8 + 4 + which % 4; // the upper half of each eight
}

/// Sets up queue 0 of its engines for the caller, whoever had it. It goes on naming the rings when
/// they are freed. Requires: all is there.
inline void take_scrub_queues(Call& call, const Scrub& scrub, std::uint32_t hbm) {
    constexpr std::uint64_t kDescriptorSize = 16;
    const auto ring = [&](std::size_t chunk) -> DmaRing {
        const auto& held = call.device.chunks[scrub.chunks[chunk]];
        return {held.pa, static_cast<std::uint32_t>(held.size / kDescriptorSize), 0};
    };
    for (std::uint32_t i = 0; i < kScrubEngines; ++i)
        call.device.dma.queue(scrub_engine(call.machine(), hbm, i),
                              0) = {call.caller.pid, true, ring(3 * i + 2), ring(3 * i + 3)};
}

inline void end_scrub(Call& call, Scrub& scrub) {
    for (const auto chunk : scrub.chunks) {
        call.device.chunks[chunk].kept = false;
        call.device.free(chunk, call.slot());
    }
    scrub = Scrub{};
}

/// Everybody's memory behind the driver's own, filled with a word. The bytes are there at once, so
/// a scrub is never seen under way.
inline std::int64_t scrub_start(Call& call) {
    uapi::HbmScrubStart ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    auto& device = call.device;
    if (ask.hbm_index >= device.hbms().size()) return -EPERM;
    auto& scrub = device.scrubs[ask.hbm_index];
    // what an earlier one holds goes with its process now
    scrub = Scrub{};
    const auto slot = call.slot();
    if (slot == AttachSlots::kNone) {
        call.state.journal.crashes.add(
            "scrub by a process that is not attached: assertion with the "
            "device's pool lock held");
        return -EPERM;
    }
    if (const auto answer = hold_for_scrub(call, scrub, ask.nc_id, slot)) {
        end_scrub(call, scrub);
        return answer;
    }
    take_scrub_queues(call, scrub, ask.hbm_index);
    const auto& hbm = device.hbms()[ask.hbm_index];
    const auto base = hbm.base() + kCarveOut.count();
    if (engines_hang(device)) return 0;
    device.memory.fill(base, hbm.end() - base, ask.init_val);
    // what programs have mapped already must show it before they touch it
    call.state.mappings.for_each_area(
        device.index(), [&](auto offset, auto length) { device.memory.settle(offset, length); });
    return 0;
}

/// How long the driver waits for one engine that never ends: a share of what it grants a copy of
/// that many pieces.
[[nodiscard]] inline Nanoseconds scrub_patience(const MachineSpec& machine) {
    constexpr std::uint64_t kPiece64 = 65536;
    constexpr std::uint64_t kShare = 200;
    const auto pieces = machine.hbm_size() / kScrubEngines / kPiece64;
    const std::uint64_t tries = machine.is(Architecture::Sunda)      ? 400
                                : machine.at_least(Release::V2_30_2) ? 800
                                                                     : 200;
    return {pieces * tries * 100'000 / kShare};
}

/// Anybody may wait, whichever core is named. What the scrub held goes in success and failure.
inline std::int64_t scrub_wait(Call& call) {
    uapi::HbmScrubWait ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    auto& device = call.device;
    if (ask.hbm_index >= device.hbms().size()) return -EPERM;
    auto& scrub = device.scrubs[ask.hbm_index];
    if (scrub.chunks.empty()) return -EPERM;
    if (scrub.freed) {
        call.state.journal.crashes.add("wait for a scrub whose process has left: use after free");
        scrub = Scrub{};
        return -EPERM;
    }
    const bool hangs = engines_hang(device);
    if (hangs && !call.resumed) {
        call.until = Nanoseconds{call.now.count + scrub_patience(call.machine()).count};
        return Call::kWaits;
    }
    end_scrub(call, scrub);
    if (!hangs) return 0;
    return call.machine().at_least(Release::V2_30_2) ? -ETIMEDOUT : -EPERM;
}

} // namespace sim
} // namespace v0
} // namespace neuronbook
