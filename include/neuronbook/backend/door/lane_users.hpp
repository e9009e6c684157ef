// SPDX-License-Identifier: Apache-2.0
//
// How many versions of this library hold a discovery lane of the same kernel in this process.
// Owns: the count that all versions share. Does not own: any descriptor (door.hpp).
// Layer: backend.   Source: driver-abi.md 2.4
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <sched.h>

#include "neuronbook/backend/port.hpp"

// The kernel drops all core marks of a process when any of its O_WRONLY descriptors closes, whoever
// opened it. So a version may close its own only while no other version of the library is up. This
// word is the one thing that versions share: its name and layout never change.
// clang-format off
__asm__(".pushsection .bss.neuronbook_lane_users,\"awG\",%nobits,neuronbook_lane_users,comdat\n"
        ".globl neuronbook_lane_users\n"
        ".type neuronbook_lane_users,%gnu_unique_object\n"
        ".size neuronbook_lane_users,4112\n"
        ".balign 8\n"
        "neuronbook_lane_users:\n"
        ".zero 4112\n"
        ".popsection\n");
// clang-format on

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// Rows are found by a hash of the port's identity and free again at count 0. Plain words under a
/// lock of its own, so that no library's types are in it.
struct LaneUsers {
    struct Row {
        std::uint64_t kernel;
        std::uint64_t count;
    };

    std::atomic<std::uint32_t> lock;
    std::uint32_t reserved;
    Row rows[256];
    std::uint64_t spill; ///< all that found no row: their lanes only stay open longer

    /// Counts one version more. False if it could not be counted; then its lane is never closed.
    static bool join(std::uint64_t kernel) noexcept {
        auto& self = shared();
        if (!self.acquire()) return false;
        Row* row = self.row_of(kernel);
        if (!row && (row = self.row_of(0))) row->kernel = kernel; // a free row
        ++(row ? row->count : self.spill);
        self.release();
        return true;
    }

    /// Counts one version less. If none is left, runs `close` before any other version can join,
    /// and returns true.
    template <class F>
    static bool leave(std::uint64_t kernel, F close) noexcept {
        auto& self = shared();
        if (!self.acquire()) return false;
        Row* row = self.row_of(kernel);
        const bool last = --(row ? row->count : self.spill) == 0;
        if (last) close();
        if (last && row) *row = {};
        self.release();
        return last;
    }

    /// FNV-1a of everything that makes two ports the same; never 0.
    static std::uint64_t key_of(const PortIdentity& port) noexcept {
        std::uint64_t hash = 0xcbf29ce484222325u;
        const auto mix = [&](std::uint64_t byte) { hash = (hash ^ byte) * 0x100000001b3u; };
        for (const char c : port.kind) mix(static_cast<unsigned char>(c));
        for (const std::uint64_t word : {port.instance, port.process})
            for (int shift = 0; shift < 64; shift += 8) mix(word >> shift & 0xFF);
        return hash | 1;
    }

private:
    static LaneUsers& shared() noexcept;

    Row* row_of(std::uint64_t kernel) noexcept {
        for (auto& row : rows)
            if (row.kernel == kernel) return &row;
        return nullptr;
    }

    /// Gives up after a while: in a forked child the holder may be a thread that is not there.
    bool acquire() noexcept {
        for (int attempt = 0; attempt < 1'000'000; ++attempt) {
            if (lock.exchange(1, std::memory_order_acquire) == 0) return true;
            ::sched_yield();
        }
        return false;
    }
    void release() noexcept { lock.store(0, std::memory_order_release); }
};

static_assert(sizeof(LaneUsers) == 4112);

[[gnu::visibility("default")]] extern LaneUsers lane_users __asm__("neuronbook_lane_users");

inline LaneUsers& LaneUsers::shared() noexcept { return lane_users; }

} // namespace detail
} // namespace v0
} // namespace neuronbook
