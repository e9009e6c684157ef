// SPDX-License-Identifier: Apache-2.0
// A driver of memory and nothing else: it counts, refuses what the real one would refuse, reuses
// handles at once, fails the n-th call when told to, and says at the end whether anything is left.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
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
        if (mapped_.count(at->first) != 0) ++misuses;
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
        if (!bytes) return fail_bounds();
        std::memcpy(bytes, from.data(), from.size());
        return {};
    }

    Result<void> read(HostDeviceId, const Chunk& chunk, Bytes offset, std::span<std::byte> to) {
        const std::lock_guard lock(mutex_);
        if (auto planned = next_call(); !planned) return planned;
        const auto* bytes = contents(chunk, offset, to.size());
        if (!bytes) return fail_bounds();
        std::memcpy(to.data(), bytes, to.size());
        return {};
    }

    Result<void> copy(HostDeviceId, const Chunk& from, Bytes from_offset, const Chunk& to,
                      Bytes to_offset, Bytes size) {
        const std::lock_guard lock(mutex_);
        if (size == Bytes{0}) return {};
        if (auto planned = next_call(); !planned) return planned;
        return move({from, from_offset, to, to_offset, size});
    }

    Result<void> fill(HostDeviceId, const Chunk& chunk, Bytes offset, Bytes size, std::byte value) {
        const std::lock_guard lock(mutex_);
        if (size == Bytes{0}) return {};
        if (auto planned = next_call(); !planned) return planned;
        auto* bytes = contents(chunk, offset, size.count());
        if (!bytes) return fail_bounds();
        std::memset(bytes, static_cast<int>(value), size.count());
        return {};
    }

    class CopyChain;
    Result<CopyChain> begin_copies(HostDeviceId, CoreIndex core);
    [[nodiscard]] bool copies_run_aside() const noexcept { return aside; }

    Result<void*> map(HostDeviceId, const Chunk& chunk) {
        const std::lock_guard lock(mutex_);
        if (auto planned = next_call(); !planned) return fail(planned.error());
        auto* bytes = contents(chunk, Bytes{0}, chunk.size.count());
        if (!bytes) return fail_bounds();
        ++mapped_[chunk.handle.value()];
        return bytes;
    }

    /// As with the system's call, the mapping is gone even when the call is told to fail.
    Result<void> unmap(void* address, const Chunk& chunk) {
        const std::lock_guard lock(mutex_);
        if (contents(chunk, Bytes{0}, chunk.size.count()) != address) ++misuses;
        if (mapped_.erase(chunk.handle.value()) == 0) ++misuses;
        return next_call();
    }

    /// Chunks that are mapped.
    [[nodiscard]] std::size_t mapped() const {
        const std::lock_guard lock(mutex_);
        return mapped_.size();
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
    bool aside = false;          ///< what copies_run_aside() says; nothing else depends on it
    std::uint64_t in_flight = 0; ///< copies that were started and not waited for
    std::uint64_t most_in_flight = 0;
    std::uint64_t calls = 0;
    std::uint64_t frees = 0;
    std::uint64_t misuses = 0; ///< frees of what is not held, or is mapped; unmapping what is not
    std::vector<ChunkRequest> requests;
    Chunk (*spoil)(Chunk) = nullptr; ///< changes what allocate() answers
    void (*before_free)(void* observer) = nullptr;
    void* observer = nullptr;

private:
    struct Move {
        Chunk from;
        Bytes from_offset;
        Chunk to;
        Bytes to_offset;
        Bytes size;
    };
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

    static tl::unexpected<Error> fail_bounds() {
        return neuronbook::fail({.status = Status::Invalid, .detail = Detail::OutOfBounds});
    }

    Result<void> move(const Move& what) {
        const auto* from = contents(what.from, what.from_offset, what.size.count());
        auto* to = contents(what.to, what.to_offset, what.size.count());
        if (!from || !to) return fail_bounds();
        std::memmove(to, from, what.size.count());
        return {};
    }

    std::byte* contents(const Chunk& chunk, Bytes offset, std::size_t size) {
        const auto at = live_.find(chunk.handle.value());
        if (at == live_.end()) return nullptr;
        if (!contains(at->second.chunk.size, offset, Bytes{size})) return nullptr;
        return at->second.bytes.data() + offset.count();
    }

    mutable std::mutex mutex_;
    std::array<std::mutex, 8> rings_; ///< by core; taken before mutex_
    std::map<std::uint64_t, Held> live_;
    std::map<std::uint64_t, unsigned> mapped_; ///< by handle
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> used_;
    std::vector<std::uint64_t> freed_;
    std::uint64_t room_;
    std::uint64_t last_handle_ = 0;
    std::uint64_t next_address_ = 16777216; ///< after the carve-out
    std::uint64_t failing_ = 0;
    Error failure_;
};

/// Moves the bytes of a copy as late as the contract allows: while it is waited for. Who touches
/// them before gets them wrong. Every start and every wait is a call that may be told to fail.
class FakeDriver::CopyChain {
public:
    CopyChain(FakeDriver& driver, std::mutex& ring) : driver_(&driver), ring_(ring) {}
    CopyChain(CopyChain&& other) noexcept
        : driver_(other.driver_), ring_(std::move(other.ring_)),
          before_(std::exchange(other.before_, std::nullopt)), done_(other.done_) {}
    CopyChain& operator=(CopyChain&& other) noexcept {
        if (this == &other) return *this;
        (void)finish();
        driver_ = other.driver_;
        before_ = std::exchange(other.before_, std::nullopt);
        done_ = other.done_;
        ring_ = std::move(other.ring_);
        return *this;
    }
    ~CopyChain() { (void)finish(); }

    Result<void> start(const Chunk& from, Bytes from_offset, const Chunk& to, Bytes to_offset,
                       Bytes size) {
        if (size == Bytes{0} || size > kMaxAsyncCopy || done_)
            return fail({.status = Status::Invalid,
                         .detail = size == Bytes{0} ? Detail::ZeroSize : Detail::OutOfBounds});
        std::unique_lock lock(driver_->mutex_);
        auto started = driver_->next_call();
        if (started && (!driver_->contents(from, from_offset, size.count()) ||
                        !driver_->contents(to, to_offset, size.count())))
            started = fail_bounds();
        if (started)
            driver_->most_in_flight = std::max(driver_->most_in_flight, ++driver_->in_flight);
        auto waited = started ? end_before() : Result<void>{};
        if (started) before_ = Move{from, from_offset, to, to_offset, size};
        if (started && waited) return {};
        lock.unlock();
        (void)finish();
        return started ? waited : started;
    }

    Result<void> finish() {
        if (std::exchange(done_, true) || !ring_.owns_lock()) return {};
        Result<void> waited;
        {
            const std::lock_guard lock(driver_->mutex_);
            if (before_) {
                waited = driver_->next_call();
                if (auto moved = end_before(); waited) waited = moved;
            }
        }
        ring_.unlock();
        return waited;
    }

private:
    Result<void> end_before() {
        if (!before_) return {};
        --driver_->in_flight;
        return driver_->move(*std::exchange(before_, std::nullopt));
    }

    FakeDriver* driver_;
    std::unique_lock<std::mutex> ring_;
    std::optional<Move> before_;
    bool done_ = false;
};

inline Result<FakeDriver::CopyChain> FakeDriver::begin_copies(HostDeviceId, CoreIndex core) {
    if (core.value() >= rings_.size())
        return neuronbook::fail({.status = Status::Invalid, .detail = Detail::CoreOutOfRange});
    return CopyChain(*this, rings_[core.value()]);
}

static_assert(MemoryOps<FakeDriver> && CopyOps<FakeDriver> && ChunkCopyOps<FakeDriver> &&
              FillOps<FakeDriver> && AsyncCopyOps<FakeDriver> && MapOps<FakeDriver>);

} // namespace neuronbook::test
