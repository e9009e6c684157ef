// SPDX-License-Identifier: Apache-2.0
//
// The storage of a tree, and the arithmetic that finds something in it.
// Owns: slots, the two checks of resolving, the reason of a miss. Does not own: how slots are
// filled (context_tree.hpp). Layer: topology.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/topology/tree_records.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

template <std::uint32_t NumMla, std::uint32_t NumTpb, class Core>
struct TreeSlots {
    static constexpr std::uint64_t kFlat = std::uint64_t{NumMla} * NumTpb;
    /// No core number that passes the first check.
    static constexpr std::uint32_t kNotOwned = ~std::uint32_t{0};

    std::array<std::uint32_t, kFlat> owned; ///< by flat number: the core's own, or kNotOwned
    std::array<Core, kFlat> cores{};
    std::array<TreeDevice, NumMla> devices{};
    std::array<std::uint16_t, kFlat> order{}; ///< flat numbers of owned cores
    std::uint32_t device_count = 0;
    std::uint32_t core_count = 0;

    constexpr TreeSlots() noexcept { owned.fill(kNotOwned); }

    /// Never wraps: both factors have 32 bits.
    static constexpr std::uint64_t flat_of(PhysicalCore core) noexcept {
        return std::uint64_t{core.device.value()} * NumTpb + core.core.value();
    }

    /// Two checks do for four. A flat number and a core number together say which device was meant,
    /// so the side table needs no more than the core number to tell a core from any other: one
    /// past its device's row lands in another row, where another number stands, and where nothing
    /// is owned stands kNotOwned.
    template <class R, class Self>
    [[gnu::always_inline]] static constexpr Result<R> resolve(Self& self,
                                                              PhysicalCore core) noexcept {
        const auto flat = flat_of(core);
        if (flat >= kFlat || self.owned[flat] != core.core.value()) [[unlikely]]
            return fail(
                error_of(self.why_not(core.device.value(), core.core.value()), Operation::Resolve));
        return R{&self.devices[core.device.value()], &self.cores[flat]};
    }

    template <class Self>
    static constexpr auto* find(Self& self, DeviceIndex device) noexcept {
        auto* found = device.value() < NumMla ? &self.devices[device.value()] : nullptr;
        return found && found->index() == device ? found : nullptr;
    }
    template <class Self, class P>
    static constexpr auto* find_if(Self& self, P matches) noexcept {
        for (auto& device : self.devices)
            if (device.in_use() && matches(device)) return &device;
        return static_cast<decltype(self.devices.data())>(nullptr);
    }

    /// What why_not() finds. Small, and no Error yet: were the Error itself made behind the call,
    /// the result of every resolve() would have to lie in memory (clang 19).
    struct Miss {
        Detail detail;
        std::int32_t device;
        std::int32_t core;
        std::uint32_t value;
        std::uint32_t limit;
    };

    /// Which of the rules a core broke. Only called when one was broken. Takes two numbers: a core
    /// passed as one word makes g++ 12 keep it in a vector register on the way that succeeds.
    [[gnu::cold, gnu::noinline]] constexpr Miss why_not(std::uint32_t slot,
                                                        std::uint32_t number) const noexcept {
        std::uint32_t end = NumMla;
        while (end > 0 && !devices[end - 1].in_use()) --end;
        if (slot >= end)
            return {Detail::DeviceOutOfRange, signed_of(slot), Error::kNone, slot,
                    slot >= NumMla ? NumMla : end};
        const auto& device = devices[slot];
        if (!device.in_use())
            return {Detail::NotRegistered, signed_of(slot), Error::kNone, slot, end};
        const auto cores_there = device.geometry().cores;
        return {number >= cores_there ? Detail::CoreOutOfRange : Detail::CoreNotOwned,
                signed_of(device.host().value()), signed_of(number), number, cores_there};
    }

    static constexpr std::int32_t signed_of(std::uint32_t number) noexcept {
        return static_cast<std::int32_t>(number);
    }

    static constexpr Error error_of(const Miss& miss, Operation operation) noexcept {
        return {.status = Status::Invalid,
                .operation = operation,
                .detail = miss.detail,
                .device = miss.device,
                .core = miss.core,
                .value = miss.value,
                .limit = miss.limit};
    }

    /// A refusal to put something in.
    static constexpr Error refusal(Status status, Detail detail, HostDeviceId host,
                                   std::uint64_t value, std::uint64_t limit,
                                   std::string_view text = {}) noexcept {
        return {.status = status,
                .operation = Operation::BringUp,
                .detail = detail,
                .device = signed_of(host.value()),
                .value = value,
                .limit = limit,
                .text = ShortText{text}};
    }
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
