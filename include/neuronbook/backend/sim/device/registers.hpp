// SPDX-License-Identifier: Apache-2.0
//
// The registers of one device, as BAR 0 shows them.
// Owns: where each aperture's bytes are, what the firmware's mailbox says. Does not own: requests.
// Layer: backend (simulated kernel).   Source: driver-abi.md 4.3, 12 (measured: the mailbox)
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "neuronbook/backend/sim/device/register_windows.hpp"
#include "neuronbook/backend/sim/machine/machine_spec.hpp"
#include "neuronbook/backend/sim/memory/device_memory.hpp"
#include "neuronbook/base/architecture.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// BAR 0 of a device in the kernel's address space.
struct RegisterBar {
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    std::uint64_t mailbox = 0; ///< offset of the firmware's mailbox
};

[[nodiscard]] inline RegisterBar register_bar(const MachineSpec& machine, std::uint32_t device) {
    constexpr std::uint64_t kSlot = std::uint64_t{1} << 33; // the addresses are made up
    const bool first = machine.is(Architecture::Sunda);
    return {0xFFFFC90000000000u + device * kSlot, std::uint64_t{1} << (first ? 30 : 32),
            first ? 0x30FA0000u : 0x06C84000u};
}

/// Offsets in the mailbox.
namespace mailbox {
inline constexpr std::uint64_t kApiVersion = 0x00;
inline constexpr std::uint64_t kRoutingId = 0x24;
inline constexpr std::uint64_t kSerialLow = 0x38;
inline constexpr std::uint64_t kSerialHigh = 0x3C;
inline constexpr std::uint64_t kMetrics = 0x100;
inline constexpr std::uint64_t kRequestHigh = 0x1F0;
inline constexpr std::uint64_t kResponseLow = 0x1FC;
inline constexpr std::uint64_t kTrigger = 0x800;
} // namespace mailbox

/// Plain memory, in the file of the device's memory: the parts of cores and top synchronisation
/// processors where a map of them shows the same bytes, the rest in a place of its own. Nothing
/// happens when a register is written. Not thread-safe.
class Registers {
public:
    static constexpr std::uint64_t kCoreSize = 0x4000000; ///< of a core, in the BAR

    Registers(const MachineSpec& machine, std::uint32_t device)
        : bar_(register_bar(machine, device)), architecture_(machine.geometry().architecture),
          first_(machine.is(Architecture::Sunda)), routing_id_(machine.routing_id(device)),
          serial_(machine.hardware().serial + device), api_(machine.hardware().firmware_api) {}

    /// Declares what they need.
    void add_to(DeviceMemory& memory) const {
        memory.add(kRest, bar_.size);
        memory.add(cores_at(), cores() * kCoreSize);
        if (first_) return memory.add(top_at(0), 6 * kTopSize);
        // what only engines reach: two more processors a die, preprocessors, the rest of the cores
        for (std::uint64_t die = 0; die < 2; ++die) {
            const auto base = die << 47;
            memory.add(base + 0x8280000000, 10 * std::uint64_t{0x40000000});
            memory.add(base + 0x1200000000, 0x34C0000);
            memory.add(base + 0x5200000000, 0x34C0000);
        }
        for (std::uint64_t core = 0; core < cores(); ++core)
            memory.add(core_place(core, kCoreSize), 0x800000000);
    }

    [[nodiscard]] const RegisterBar& bar() const { return bar_; }

    /// A register's four bytes, or null beyond the end of the BAR.
    [[nodiscard]] std::byte* at(DeviceMemory& memory, std::uint64_t offset) {
        if (!loaded_) load(memory);
        if (offset >= bar_.size || bar_.size - offset < kWord) return nullptr;
        return memory.at(place(offset), kWord);
    }

    [[nodiscard]] std::optional<std::uint32_t> read(DeviceMemory& memory, std::uint64_t offset) {
        const auto* bytes = at(memory, offset);
        if (bytes == nullptr) return std::nullopt;
        std::uint32_t value = 0;
        std::memcpy(&value, bytes, kWord);
        return value;
    }

    void write(DeviceMemory& memory, std::uint64_t offset, std::uint32_t value) {
        if (auto* bytes = at(memory, offset)) std::memcpy(bytes, &value, kWord);
    }

    /// Where the bytes of a core or of a top synchronisation processor are, by the address at
    /// which an engine reaches them.
    [[nodiscard]] std::uint64_t core_place(std::uint64_t core, std::uint64_t offset) const {
        if (offset < kCoreSize) return cores_at() + core * kCoreSize + offset;
        return kBeyond + (core << 36) + offset;
    }

private:
    static constexpr std::size_t kWord = 4;
    static constexpr std::uint64_t kRest = std::uint64_t{1} << 50;
    static constexpr std::uint64_t kBeyond = kRest + (std::uint64_t{1} << 40);
    static constexpr std::uint64_t kTopSize = 0x400000;
    static constexpr std::uint64_t kTopsOfDie = 8;

    [[nodiscard]] std::uint64_t cores() const { return first_ ? 2 : 8; }
    [[nodiscard]] std::uint64_t cores_at() const { return core_window(architecture_, 0); }
    [[nodiscard]] std::uint64_t top_at(std::uint32_t top) const {
        return top_sp_window(architecture_, top);
    }

    /// An offset in the BAR as one in the file.
    [[nodiscard]] std::uint64_t place(std::uint64_t offset) const {
        struct Aperture {
            std::uint64_t at, size, to;
        };
        if (first_) {
            for (const auto& part : {Aperture{0, 2 * kCoreSize, cores_at()},
                                     Aperture{0x10000000, 6 * kTopSize, top_at(0)}})
                if (offset - part.at < part.size) return part.to + offset - part.at;
            return kRest + offset;
        }
        if (offset - 0xD0000000u < 8 * kCoreSize) return cores_at() + offset - 0xD0000000u;
        for (const std::uint64_t die : {0u, 1u}) {
            const auto into = offset - (die == 0 ? 0xF0000000u : 0xF2800000u);
            if (into < kTopsOfDie * kTopSize)
                return top_at(static_cast<std::uint32_t>(die * kTopsOfDie + into / kTopSize)) +
                       into % kTopSize;
        }
        return kRest + offset;
    }

    /// What the firmware wrote when it started.
    void load(DeviceMemory& memory) {
        loaded_ = true;
        write(memory, bar_.mailbox + mailbox::kApiVersion, api_);
        write(memory, bar_.mailbox + mailbox::kRoutingId, routing_id_);
        write(memory, bar_.mailbox + mailbox::kSerialLow, static_cast<std::uint32_t>(serial_));
        write(memory, bar_.mailbox + mailbox::kSerialHigh,
              static_cast<std::uint32_t>(serial_ >> 32));
    }

    RegisterBar bar_;
    Architecture architecture_;
    bool first_;
    std::uint32_t routing_id_;
    std::uint64_t serial_;
    std::uint32_t api_;
    bool loaded_ = false;
};

} // namespace sim
} // namespace v0
} // namespace neuronbook
