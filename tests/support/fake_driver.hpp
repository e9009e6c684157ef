// SPDX-License-Identifier: Apache-2.0
// A driver of memory and nothing else: it counts, refuses what the real one would refuse, reuses
// handles at once, fails the n-th call when told to, and says at the end whether anything is left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "neuronbook/backend/driver.hpp"

namespace neuronbook::test {

class FakeDriver {
public:
    /// Bytes an HBM has room for; nothing but the sum is modelled.
    explicit FakeDriver(Bytes room = Bytes{std::uint64_t{1} << 40}) : room_(room.count()) {}

    Result<Chunk> allocate(HostDeviceId device, const ChunkRequest& ask) {
        const std::lock_guard lock(mutex_);
        requests.push_back(ask);
        if (auto planned = next_call(); !planned) return fail(planned.error());
        const bool host = ask.location == MemoryLocation::Host;
        const auto size = whole_pages(ask.size)->count();
        auto& used = used_[{device.value(), host ? ~0u : ask.hbm}];
        if (size > room_ || used > room_ - size)
            return fail({.status = host ? Status::FailHostMemAlloc : Status::Resource,
                         .operation = Operation::Allocate,
                         .detail = host ? Detail::OutOfHostMemory : Detail::OutOfDeviceMemory,
                         .os_error = 12});
        used += size;
        std::uint64_t handle = ++last_handle_;
        if (!freed_.empty()) {
            handle = freed_.back();
            freed_.pop_back();
            --last_handle_;
        }
        const std::uint64_t step = ask.alignment.count() > 4096 ? ask.alignment.count() : 4096;
        next_address_ = (next_address_ + step - 1) / step * step;
        const Chunk chunk{ChunkHandle{handle}, DeviceAddress{next_address_}, Bytes{size},
                          ask.location, ask.hbm};
        next_address_ += size;
        live_[handle] = {device, chunk, std::vector<std::byte>(size)};
        return spoil ? spoil(chunk) : chunk;
    }

    Result<void> free(HostDeviceId device, const Chunk& chunk) {
        if (before_free) before_free(observer);
        const std::lock_guard lock(mutex_);
        ++frees;
        if (auto planned = next_call(); !planned) return planned;
        const auto at = live_.find(chunk.handle.value());
        if (at == live_.end() || at->second.device != device) {
            ++misuses;
            return fail({.status = Status::InvalidHandle, .detail = Detail::UnknownHandle});
        }
        const auto& held = at->second.chunk;
        const bool host = held.location == MemoryLocation::Host;
        used_[{device.value(), host ? ~0u : held.hbm}] -= held.size.count();
        freed_.push_back(at->first);
        live_.erase(at);
        return {};
    }

    Result<void> write(HostDeviceId, const Chunk& chunk, Bytes offset,
                       std::span<const std::byte> from) {
        const std::lock_guard lock(mutex_);
        if (auto planned = next_call(); !planned) return planned;
        auto* bytes = contents(chunk, offset, from.size());
        if (!bytes) return fail({.status = Status::Invalid, .detail = Detail::OutOfBounds});
        std::memcpy(bytes, from.data(), from.size());
        return {};
    }

    Result<void> read(HostDeviceId, const Chunk& chunk, Bytes offset, std::span<std::byte> to) {
        const std::lock_guard lock(mutex_);
        if (auto planned = next_call(); !planned) return planned;
        const auto* bytes = contents(chunk, offset, to.size());
        if (!bytes) return fail({.status = Status::Invalid, .detail = Detail::OutOfBounds});
        std::memcpy(to.data(), bytes, to.size());
        return {};
    }

    [[nodiscard]] bool usable() const noexcept { return up; }

    /// The n-th call from now on (1 is the next) answers with `error` and does nothing.
    void fail_nth(std::uint64_t n, const Error& error) {
        failing_ = calls + n;
        failure_ = error;
    }

    [[nodiscard]] std::size_t outstanding() const {
        const std::lock_guard lock(mutex_);
        return live_.size();
    }
    [[nodiscard]] Bytes outstanding_bytes() const {
        const std::lock_guard lock(mutex_);
        std::uint64_t sum = 0;
        for (const auto& [handle, held] : live_) sum += held.chunk.size.count();
        return Bytes{sum};
    }

    bool up = true;
    std::uint64_t calls = 0;
    std::uint64_t frees = 0;
    std::uint64_t misuses = 0; ///< frees of what is not held
    std::vector<ChunkRequest> requests;
    Chunk (*spoil)(Chunk) = nullptr; ///< changes what allocate() answers
    void (*before_free)(void* observer) = nullptr;
    void* observer = nullptr;

private:
    struct Held {
        HostDeviceId device;
        Chunk chunk;
        std::vector<std::byte> bytes;
    };

    Result<void> next_call() {
        ++calls;
        if (calls == failing_) return fail(failure_);
        return {};
    }

    std::byte* contents(const Chunk& chunk, Bytes offset, std::size_t size) {
        const auto at = live_.find(chunk.handle.value());
        if (at == live_.end()) return nullptr;
        if (!contains(at->second.chunk.size, offset, Bytes{size})) return nullptr;
        return at->second.bytes.data() + offset.count();
    }

    mutable std::mutex mutex_;
    std::map<std::uint64_t, Held> live_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> used_;
    std::vector<std::uint64_t> freed_;
    std::uint64_t room_;
    std::uint64_t last_handle_ = 0;
    std::uint64_t next_address_ = 16777216; ///< after the carve-out
    std::uint64_t failing_ = 0;
    Error failure_;
};

static_assert(MemoryOps<FakeDriver> && CopyOps<FakeDriver>);

} // namespace neuronbook::test
