// SPDX-License-Identifier: Apache-2.0
//
// The ways from a core's numbers to what hangs in it that are compared: resolve(), the plain table
// of pointers that a program without a tree would keep, and the hash map it would rather not.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <unordered_map>

#include "neuronbook/topology/context_tree.hpp"

namespace bench {

using namespace neuronbook;

inline constexpr std::uint32_t kDevices = 16;
inline constexpr std::uint32_t kCores = 8;

/// As much as an allocator and a table of models take. Always zero: the dependent loops add it.
struct Payload {
    std::uint64_t step = 0;
    std::array<std::uint64_t, 127> rest{};
};
static_assert(sizeof(Payload) == 1024);

constexpr PhysicalCore core_of(std::uint32_t device, std::uint32_t core) {
    return {DeviceIndex{device}, CoreIndex{core}};
}

/// Cores in random order. A predictor learns a list of a few thousand by heart, and the map's
/// chains with it.
inline constexpr std::uint32_t kQueries = 1u << 16;
struct Queries {
    std::array<PhysicalCore, kQueries> list;

    Queries() {
        std::minstd_rand random(3);
        for (auto& core : list) {
            const auto device = static_cast<std::uint32_t>(random() % kDevices);
            core = core_of(device, static_cast<std::uint32_t>(random() % kCores));
        }
    }
};

/// A good hash for the pair. The library's own, the number itself, would put the 128 cores into 23
/// chains and flatter what is compared with it.
struct Mixed {
    std::size_t operator()(std::uint64_t key) const noexcept {
        return static_cast<std::size_t>(key * 0x9E3779B97F4A7C15u >> 32);
    }
};

/// All forms lead to the same 128 payloads.
struct Forms {
    ContextTree<kDevices, kCores, Payload> tree;
    Payload* table[kDevices][kCores] = {};
    std::unordered_map<std::uint64_t, Payload*, Mixed> map;

    Forms() {
        for (std::uint32_t d = 0; d < kDevices; ++d) {
            const DeviceEntry entry{.host = HostDeviceId{d},
                                    .routing = RoutingId{d},
                                    .geometry = geometry_of(Architecture::Cayman)};
            (void)tree.add_device(entry);
            for (std::uint32_t c = 0; c < kCores; ++c) {
                const auto owned = tree.own_core(core_of(d, c), UserCore{d * kCores + c});
                table[d][c] = &owned.value()->payload;
                map[core_of(d, c).key()] = table[d][c];
            }
        }
    }
};

/// Takes an answer, in a register. Google's DoNotOptimize() also takes it where it lies in memory,
/// and the table would be compared without its load.
inline void use(const void* found) { asm volatile("" : : "r"(found) : "memory"); }

/// Where the error of a refused core goes, so that the channel is used and not optimised away.
inline Error last_error;
[[gnu::cold, gnu::noinline]] inline Payload* refused(const Error& error) {
    last_error = error;
    return nullptr;
}

struct Resolve {
    [[gnu::always_inline]] static Payload* find(Forms& forms, PhysicalCore core) {
        const auto found = forms.tree.resolve(core);
        if (!found) [[unlikely]]
            return refused(found.error());
        return &found->core->payload;
    }
};

struct RawTable {
    [[gnu::always_inline]] static Payload* find(Forms& forms, PhysicalCore core) {
        return forms.table[core.device.value()][core.core.value()];
    }
};

struct HashMap {
    [[gnu::always_inline]] static Payload* find(Forms& forms, PhysicalCore core) {
        const auto found = forms.map.find(core.key());
        return found == forms.map.end() ? nullptr : found->second;
    }
};

} // namespace bench
