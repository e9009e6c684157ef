// SPDX-License-Identifier: Apache-2.0
//
// The piece of host memory that a core's copies go through.
// Owns: when it is got, mapped and given back, and whose turn it is. Does not own: where it comes
// from (a BounceProvider), what is copied (copy_engine.hpp).
// Layer: dmem.   libnrt: cpy_buf, ndl_get_copy_buf. Source: tables.md 16
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/log.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/copy/copy_plan.hpp"
#include "neuronbook/dmem/copy/detail/turn_lock.hpp"
#include "neuronbook/dmem/usage.hpp"

namespace neuronbook {
inline namespace v0 {

/// Gets host memory of the device that the buffer is for, and takes it back; whoever counts memory
/// does it here. Called with the buffer's lock held, one call at a time.
/// - `provide(size)`: a host chunk of that size; FAIL_HOST_MEM_ALLOC where there is none.
/// - `take_back(chunk)`: after its mapping is gone. What it cannot free, it counts as lost itself.
template <class P>
concept BounceProvider =
    std::move_constructible<P> && requires(P provider, Bytes size, const Chunk& chunk) {
        { provider.provide(size) } -> std::same_as<Result<Chunk>>;
        { provider.take_back(chunk) } noexcept -> std::same_as<Result<void>>;
    };

/// Straight from the driver, counted by nobody but it, as miscellaneous.
template <MemoryOps D>
class DriverBounce {
public:
    /// The driver must outlive it.
    DriverBounce(D& driver, HostDeviceId device, CoreIndex core) noexcept
        : driver_(&driver), device_(device), core_(core) {}

    [[nodiscard]] Result<Chunk> provide(Bytes size) {
        const auto category = category_of(Usage::Generic, MemoryLocation::Host);
        if (!category) return fail(category.error());
        return driver_->allocate(
            device_,
            {.size = size, .location = MemoryLocation::Host, .core = core_, .category = *category});
    }
    Result<void> take_back(const Chunk& chunk) noexcept { return driver_->free(device_, chunk); }

private:
    D* driver_;
    HostDeviceId device_;
    CoreIndex core_;
};

/// Host memory of a device, mapped, got when somebody first takes it: 2 MiB, or 1 MiB, 512 KiB or
/// 256 KiB where the host has no such piece in a row. Whoever has it has it alone; it goes round in
/// the order it was asked for.
///
/// Thread safety: take() from any thread; close(), abandon() and the destructor beside nothing.
/// Driver and provider are called with the buffer's lock held, and it may be held while a queue of
/// the driver's is waited for, never the other way round.
///
/// libnrt: ndl_get_copy_buf, cpy_buf
/// Differs: got on first use, not with the device; smaller where the host is short of memory.
template <class D, BounceProvider P = DriverBounce<D>>
    requires MemoryOps<D> && MapOps<D>
class BounceBuffer {
public:
    /// The smallest that is tried.
    static constexpr Bytes kLeast{std::uint64_t{256} << 10};

    /// The buffer while one has it; gives it on when it ends.
    class Turn {
    public:
        [[nodiscard]] const Chunk& chunk() const noexcept { return owner_->held_->chunk; }
        /// The same bytes in this process.
        [[nodiscard]] std::span<std::byte> bytes() const noexcept {
            return {static_cast<std::byte*>(owner_->held_->address), chunk().size.count()};
        }

    private:
        friend BounceBuffer;
        Turn(BounceBuffer& owner, std::unique_lock<detail::TurnLock> lock) noexcept
            : owner_(&owner), lock_(std::move(lock)) {}

        BounceBuffer* owner_;
        std::unique_lock<detail::TurnLock> lock_;
    };

    /// The driver must outlive it. Makes no call.
    BounceBuffer(D& driver, HostDeviceId device, P provider)
        : driver_(driver), device_(device), provider_(std::move(provider)) {}
    BounceBuffer(const BounceBuffer&) = delete;
    BounceBuffer& operator=(const BounceBuffer&) = delete;
    ~BounceBuffer() { close(); }

    /// Effects: waits for its turn; gets and maps the buffer if there is none.
    /// Requires: this thread has no turn, and the driver is usable: in a forked child a thread that
    /// does not exist may have the lock.
    /// Errors: FAIL_HOST_MEM_ALLOC with OutOfHostMemory when not even 256 KiB are there; CLOSED
    /// after close(); the driver's own. Nothing stays allocated then, and the next one tries again.
    [[nodiscard]] Result<Turn> take() {
        std::unique_lock lock(lock_);
        if (closed_) return fail(closed());
        if (!held_)
            if (auto got = get(); !got) return fail(got.error());
        return Turn(*this, std::move(lock));
    }

    /// Effects: unmaps, then gives the memory back; nothing in a forked child. What fails is
    /// logged. Afterwards take() answers CLOSED. Twice is once.
    void close() noexcept {
        closed_ = true;
        const auto held = std::exchange(held_, std::nullopt);
        if (!held || !static_cast<const D&>(driver_).usable()) return;
        if (const auto unmapped = driver_.unmap(held->address, held->chunk); !unmapped)
            report("unmapping", unmapped.error());
        give_back(held->chunk);
    }

    /// Effects: forgets the memory without a call, for a driver that is gone already.
    void abandon() noexcept {
        closed_ = true;
        held_.reset();
    }

    /// What it has now, for tests and reports; 0 before the first use.
    [[nodiscard]] Bytes size() {
        const std::lock_guard lock(lock_);
        return held_ ? held_->chunk.size : Bytes{0};
    }

private:
    struct Held {
        Chunk chunk;
        void* address;
    };

    Result<void> get() {
        auto chunk = provide();
        if (!chunk) return fail(chunk.error());
        auto mapped = driver_.map(device_, *chunk);
        if (!mapped) {
            give_back(*chunk);
            return fail(mapped.error());
        }
        held_ = Held{*chunk, *mapped};
        return {};
    }

    [[nodiscard]] Result<Chunk> provide() {
        for (Bytes size = kBounceSize;; size = Bytes{size.count() / 2}) {
            auto chunk = provider_.provide(size);
            if (chunk) return chunk;
            if (chunk.error().status != Status::FailHostMemAlloc) return chunk;
            if (size > kLeast) continue;
            auto error = chunk.error();
            error.operation = Operation::Copy;
            error.device = static_cast<std::int32_t>(device_.value());
            error.asked = size.count();
            error.text = std::string_view("bounce buffer of a copy");
            return fail(error);
        }
    }

    void give_back(const Chunk& chunk) noexcept {
        if (const auto back = provider_.take_back(chunk); !back) report("freeing", back.error());
    }

    void report(const char* what, const Error& error) const noexcept {
        const auto status = name_of(error.status);
        Log::write(LogLevel::Error, "%s the copy buffer of device %u: %.*s, errno %d", what,
                   device_.value(), static_cast<int>(status.size()), status.data(), error.os_error);
    }

    [[nodiscard]] Error closed() const noexcept {
        Error error{
            .status = Status::Closed, .operation = Operation::Copy, .detail = Detail::Closed};
        error.device = static_cast<std::int32_t>(device_.value());
        error.text = std::string_view("bounce buffer");
        return error;
    }

    D& driver_;
    const HostDeviceId device_;
    P provider_;
    detail::TurnLock lock_;
    std::optional<Held> held_;
    bool closed_ = false;
};

namespace detail {

/// In place of a bounce buffer where the driver has nothing to use it with.
struct NoBounceBuffer {
    template <class... Any>
    explicit NoBounceBuffer(Any&&...) noexcept {}
    void close() noexcept {}
    void abandon() noexcept {}
    [[nodiscard]] Bytes size() const noexcept { return Bytes{0}; }
};

} // namespace detail

} // namespace v0
} // namespace neuronbook
