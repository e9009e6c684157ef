// SPDX-License-Identifier: Apache-2.0
//
// Asynchronous copies on the queue of one core, one after the other.
// Owns: which copies are in flight, and the wait for each of them. Does not own: the lock of the
// queue (door.hpp), which all drivers of the process share.
// Layer: backend.   Source: driver-abi.md 8.3 (measured)
#pragma once

#include <cerrno>
#include <cstdint>
#include <mutex>
#include <utility>

#include "neuronbook/backend/door/door_lease.hpp"
#include "neuronbook/backend/driver.hpp"
#include "neuronbook/backend/ioctl/driver_rules.hpp"
#include "neuronbook/backend/ioctl/transfer_requests.hpp"
#include "neuronbook/backend/uapi.hpp"
#include "neuronbook/base/log.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// Models AsyncCopies. A copy that nobody waits for keeps its descriptors until the core is reset,
/// and after some thousands the engine is of no use to anybody: so whatever may have been started
/// is waited for, also when a start or a wait fails. The driver tells by EINVAL what it knows
/// nothing of. In a forked child nothing is called and no lock is touched.
template <Port P>
class CopyChain {
public:
    /// Requires: the device's descriptor `fd` stays open, and the lease lives, until the end.
    CopyChain(DoorLease<P>& lease, int fd, const DriverFacts& facts, HostDeviceId device,
              CoreIndex core)
        : lease_(&lease), facts_(facts), fd_(fd), device_(device), core_(core),
          queue_(lease.copies(device, core)) {}

    CopyChain(CopyChain&& other) noexcept { take(other); }
    CopyChain& operator=(CopyChain&& other) noexcept {
        if (this == &other) return *this;
        (void)finish();
        take(other);
        return *this;
    }
    ~CopyChain() {
        if (lease_ && !lease_->alive()) queue_.release(); // the parent's lock
        (void)finish();
    }

    /// Effects, errors: as AsyncCopies.
    Result<void> start(const Chunk& from, Bytes from_offset, const Chunk& to, Bytes to_offset,
                       Bytes size) {
        if (auto legal = check(from, from_offset, to, to_offset, size); !legal)
            return fail(here(legal.error()));
        const InFlight next{last_.number == 1 ? 2u : 1u, from.handle, to.handle};
        auto started = send(next, from_offset, to_offset, size);
        if (started) {
            if (last_.number != 0) arrived();
            last_ = next;
            return {};
        }
        // The driver waits for the copy before only after it started this one.
        const auto before = std::exchange(last_, {});
        if (before.number != 0) (void)wait(before);
        if (may_have_started(started.error())) (void)wait(next);
        queue_.unlock();
        return fail(here(started.error()));
    }

    /// Effects, errors: as AsyncCopies. Once more is nothing.
    Result<void> finish() {
        if (!queue_.owns_lock()) return {};
        if (!lease_->alive()) return fail(here(forked()));
        const auto last = std::exchange(last_, {});
        auto waited = last.number != 0 ? wait(last) : Result<void>{};
        queue_.unlock();
        if (!waited) return fail(here(waited.error()));
        return waited;
    }

    /// How many copies, from the first one on, were waited for with success: their bytes are surely
    /// there. Stays after the end, and after an error.
    [[nodiscard]] std::uint64_t completed() const noexcept { return completed_; }

private:
    /// A copy as the driver names it; number 0: none.
    struct InFlight {
        std::uint32_t number = 0;
        ChunkHandle from{};
        ChunkHandle to{};
    };

    void take(CopyChain& other) noexcept {
        lease_ = std::exchange(other.lease_, nullptr);
        facts_ = other.facts_;
        fd_ = other.fd_;
        device_ = other.device_;
        core_ = other.core_;
        queue_ = std::move(other.queue_);
        last_ = std::exchange(other.last_, {});
        completed_ = std::exchange(other.completed_, 0);
        unsure_ = other.unsure_;
    }

    static Error forked() {
        return {.status = Status::Uninitialized,
                .operation = Operation::Copy,
                .detail = Detail::Forked};
    }
    [[nodiscard]] Error here(Error error) const {
        error.device = static_cast<std::int32_t>(device_.value());
        error.core = static_cast<std::int32_t>(core_.value());
        return error;
    }

    [[nodiscard]] Result<void> check(const Chunk& from, Bytes from_offset, const Chunk& to,
                                     Bytes to_offset, Bytes size) const {
        constexpr auto operation = Operation::Copy;
        if (lease_ && !lease_->alive()) return fail(forked());
        if (!queue_.owns_lock())
            return fail(
                {.status = Status::Invalid, .operation = operation, .detail = Detail::CopiesEnded});
        if (size == Bytes{0} || size > kMaxAsyncCopy)
            return fail({.status = Status::Invalid,
                         .operation = operation,
                         .detail = Detail::AsyncCopySize,
                         .value = size.count(),
                         .limit = kMaxAsyncCopy.count(),
                         .asked = size.count()});
        return check_between(facts_, from, from_offset, to, to_offset, size);
    }

    Result<void> send(const InFlight& next, Bytes from_offset, Bytes to_offset, Bytes size) {
        const auto ask = [&](auto form, std::uint32_t word) {
            form.src_mem_handle = next.from.value();
            form.dst_mem_handle = next.to.value();
            form.size = static_cast<decltype(form.size)>(size.count());
            form.src_offset = static_cast<decltype(form.src_offset)>(from_offset.count());
            form.dst_offset = static_cast<decltype(form.dst_offset)>(to_offset.count());
            form.pwait_handle = last_.number != 0 ? last_.number : kStartOfChain;
            return lane().copy(word, form);
        };
        if (facts_.features & uapi::kFeatureMemAlloc64)
            return ask(uapi::MemCopyAsync64{}, uapi::kMemCopyAsync64);
        return ask(uapi::MemCopyAsync{}, uapi::kMemCopyAsync);
    }

    /// The driver's refusals come before it starts anything. A wait that takes too long, and an
    /// answer that could not be delivered, come after.
    static bool may_have_started(const Error& error) {
        return error.detail == Detail::TimedOut || error.detail == Detail::DriverPositive ||
               error.os_error == EFAULT;
    }

    /// Waits for one copy. A wait that fails is tried once more: then the driver either waits after
    /// all or says that it knows nothing of it, as after a timeout.
    Result<void> wait(const InFlight& copy) {
        const uapi::MemCopyAsyncWait ask{.src_mem_handle = copy.from.value(),
                                         .dst_mem_handle = copy.to.value(),
                                         .pwait_handle = copy.number};
        auto waited = lane().copy(uapi::kMemCopyAsyncWait, ask);
        if (waited) return arrived(), waited;
        const auto again = lane().copy(uapi::kMemCopyAsyncWait, ask);
        if (again)
            arrived();
        else
            unsure_ = true;
        if (!again && !is_unknown(again))
            Log::write(LogLevel::Error,
                       "a copy on device %u core %u may be in flight for ever: the driver answered "
                       "%d to the wait for it",
                       device_.value(), core_.value(), again.error().os_error);
        if (is_unknown(waited) && is_unknown(again)) {
            waited.error().status = Status::Failure;
            waited.error().detail = Detail::CopyLost;
        }
        return waited;
    }
    /// Copies behind one that may be lost do not count: completed() is how many from the first on.
    void arrived() noexcept {
        if (!unsure_) ++completed_;
    }
    static bool is_unknown(const Result<void>& waited) {
        return !waited && waited.error().detail == Detail::UnknownHandle;
    }

    [[nodiscard]] Lane<P> lane() { return {lease_->port(), fd_, facts_}; }

    static constexpr std::uint32_t kStartOfChain = 0xFFFFFFFFu;

    DoorLease<P>* lease_ = nullptr;
    DriverFacts facts_{};
    int fd_ = -1;
    HostDeviceId device_{};
    CoreIndex core_{};
    std::unique_lock<std::mutex> queue_; ///< held from begin to end
    InFlight last_;                      ///< the only copy in flight between calls
    std::uint64_t completed_ = 0;
    bool unsure_ = false; ///< a wait failed for good
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
