// SPDX-License-Identifier: Apache-2.0
//
// One allocation, step by step, each undone when a later one fails.
// Owns: the order of steps, the second try, the way around a missing aligned call. Does not own:
// records and books (driver_owner.hpp), rules (allocation_request.hpp).
// Layer: dmem.   libnrt: dmem_alloc_internal, dmem_alloc_aligned. Source: tables.md 15 and 22
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/architecture.hpp"
#include "neuronbook/base/log.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/allocation_request.hpp"
#include "neuronbook/dmem/detail/block_record.hpp"
#include "neuronbook/dmem/detail/driver_owner.hpp"
#include "neuronbook/dmem/detail/refusal.hpp"
#include "neuronbook/dmem/memory_options.hpp"
#include "neuronbook/dmem/usage.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// Told once a process: from then on every aligned allocation takes more than it needs.
inline void warn_of_missing_aligned_call() noexcept {
    static std::atomic<bool> told{false};
    if (!told.exchange(true, std::memory_order_relaxed))
        Log::write(LogLevel::Warn, "the driver cannot allocate aligned memory: each aligned block "
                                   "takes its alignment in bytes on top");
}

template <class D, class L>
struct Obtain {
    D& driver;
    const Geometry& geometry;
    DriverOwner<D, L>& owner;

    /// Not an aggregate: a compiler clears those whole before it fills them in.
    Obtain(D& d, const Geometry& g, DriverOwner<D, L>& o) noexcept
        : driver(d), geometry(g), owner(o) {}

    /// Returns: a record with one handle, or null, and then why not. Results are big: on the good
    /// path none is handed on.
    BlockRecord* run(const AllocationRequest& request) {
        if (auto legal = translate(geometry, owner.core.core, request, tried); !legal)
            return refused(complete(legal.error(), request));
        BlockRecord* record = aligned(request);
        return record != nullptr ? record : again(request);
    }

    /// As run(), but one try, and nobody is asked or told: for who has other ways to make room.
    BlockRecord* once(const AllocationRequest& request) {
        if (auto legal = translate(geometry, owner.core.core, request, tried); !legal)
            return failed(legal.error(), request);
        return aligned(request);
    }

    static bool worth_a_retry(const Error& error) noexcept {
        return error.detail == Detail::OutOfDeviceMemory ||
               error.detail == Detail::OutOfHostMemory || error.detail == Detail::OverBudget ||
               error.detail == Detail::OutOfHandles;
    }

    /// Why run() returned null.
    [[nodiscard]] const Error& error() const noexcept { return *why; }

    std::optional<Error> why{};
    /// Live, with one handle: its bytes move into the new chunk, and it goes when that is booked.
    BlockRecord* replaced = nullptr;
    /// What the driver was asked last: larger where it cannot align.
    ChunkRequest tried{};

private:
    // What an allocation took is given back, newest first, unless it is kept.
    struct Reserved {
        DriverOwner<D, L>& owner;
        Bytes bytes{};

        explicit Reserved(DriverOwner<D, L>& o) noexcept : owner(o) {}
        Reserved(const Reserved&) = delete;
        Reserved& operator=(const Reserved&) = delete;
        ~Reserved() {
            if (bytes != Bytes{}) owner.ledger().unreserve(owner.account(), bytes);
        }
    };
    struct Taken {
        DriverOwner<D, L>& owner;
        const Arrival* arrival;

        Taken(DriverOwner<D, L>& o, const Arrival& a) noexcept : owner(o), arrival(&a) {}
        Taken(const Taken&) = delete;
        Taken& operator=(const Taken&) = delete;
        ~Taken() {
            if (arrival != nullptr) (void)owner.give_back(*arrival);
        }
    };

    /// The second try, if the user's function says so; then the reasons.
    [[gnu::cold, gnu::noinline]] BlockRecord* again(const AllocationRequest& request) {
        if (!worth_a_retry(*why)) return refused(*why);
        const MemoryOptions& options = owner.ledger().options();
        if (options.on_out_of_memory != nullptr && options.on_out_of_memory(options.context, *why))
            if (BlockRecord* record = once(request)) return record;
        if (!worth_a_retry(*why)) return refused(*why);
        Refusal<D, L> refusal{driver, geometry, owner};
        return refused(refusal.explain(*why, request, tried));
    }

    [[gnu::cold, gnu::noinline]] BlockRecord* refused(const Error& error) {
        why = error;
        owner.ledger().observer().refused(error);
        return nullptr;
    }
    [[gnu::cold, gnu::noinline]] BlockRecord* failed(const Error& error,
                                                     const AllocationRequest& request) {
        why = complete(error, request);
        return nullptr;
    }

    /// Where the driver has no aligned call: a chunk with room for the block wherever it begins.
    BlockRecord* aligned(const AllocationRequest& request) {
        BlockRecord* record = attempt(request);
        if (record != nullptr || why->detail != Detail::NotOnThisDriver || tried.alignment <= kPage)
            return record;
        warn_of_missing_aligned_call();
        // Both are below 2^37.
        tried.size = Bytes{tried.size.count() + tried.alignment.count()};
        tried.alignment = Bytes{};
        if (auto legal = check_request(geometry, tried); !legal)
            return failed(legal.error(), request);
        return attempt(request);
    }

    BlockRecord* attempt(const AllocationRequest& request) {
        const ChunkRequest& ask = tried;
        const bool on_host = ask.location == MemoryLocation::Host;
        auto& ledger = owner.ledger();
        Reserved reserved(owner);
        if (static_cast<const D&>(driver).usable()) { // else the driver says why not
            ledger.prepare(on_host ? kMaxHbm : ask.hbm);
            if (!on_host && ledger.limited(owner.account())) {
                const Bytes charged = whole_pages(ask.size).value_or(ask.size);
                if (auto room = ledger.reserve(owner.account(), charged); !room)
                    return failed(room.error(), request);
                reserved.bytes = charged;
            }
        }
        const auto made = driver.allocate(owner.device, ask);
        if (!made) return failed(made.error(), request);
        const Arrival arrival{*made, request, ask, ledger.clock().now()};
        Taken taken(owner, arrival);
        if (!arrival.believable()) return failed(disbelief(*made), request);
        if (ledger.options().zero)
            if (auto zeroed = zero(*made); !zeroed) return failed(zeroed.error(), request);
        if (replaced != nullptr)
            if (auto moved = move_bytes(arrival); !moved) return failed(moved.error(), request);
        const auto record = replaced == nullptr
                                ? owner.admit(arrival, reserved.bytes)
                                : owner.exchange(*replaced, arrival, reserved.bytes);
        if (!record) return failed(record.error(), request);
        taken.arrival = nullptr;
        reserved.bytes = Bytes{};
        return *record;
    }

    static Error disbelief(const Chunk& got) noexcept {
        return {.operation = Operation::Allocate,
                .detail = Detail::SelfCheckFailed,
                .value = got.size.count(),
                .text = std::string_view("the driver's chunk is not the one asked for")};
    }

    Result<void> move_bytes(const Arrival& to) {
        const Booking& from = replaced->facts.booking;
        if constexpr (ChunkCopyOps<D>)
            return driver.copy(owner.device, replaced->facts.chunk(), Bytes{from.align_offset},
                               to.chunk, Bytes{to.align_offset()}, from.requested);
        else
            return fail({.status = Status::Invalid,
                         .operation = Operation::Copy,
                         .detail = Detail::NotOnThisDriver,
                         .text = std::string_view("moving a block")});
    }

    Result<void> zero(const Chunk& chunk) {
        if constexpr (FillOps<D>) {
            return driver.fill(owner.device, chunk, Bytes{0}, chunk.size, std::byte{0});
        } else if constexpr (CopyOps<D>) {
            static constexpr std::array<std::byte, 65536> kZeros{};
            for (std::uint64_t done = 0; done < chunk.size.count(); done += kZeros.size()) {
                const auto piece =
                    std::min<std::uint64_t>(kZeros.size(), chunk.size.count() - done);
                auto put =
                    driver.write(owner.device, chunk, Bytes{done}, std::span(kZeros).first(piece));
                if (!put) return put;
            }
            return {};
        } else {
            return fail({.status = Status::Invalid,
                         .operation = Operation::Allocate,
                         .detail = Detail::NotOnThisDriver,
                         .text = std::string_view("filling new memory with zeros")});
        }
    }

    /// Puts in what the place of the failure did not know.
    [[nodiscard]] Error complete(Error error, const AllocationRequest& request) const noexcept {
        error.operation = Operation::Allocate;
        error.device = static_cast<std::int32_t>(owner.device.value());
        error.core = static_cast<std::int32_t>(owner.core.core.value());
        error.asked = request.size.count();
        if (request.location == MemoryLocation::Host) return error;
        const std::uint32_t hbm = request.hbm.value_or(geometry.default_hbm(owner.core.core));
        error.hbm = static_cast<std::int32_t>(hbm);
        if (error.detail == Detail::OutOfDeviceMemory) {
            error.limit = geometry.hbm_size.count();
            error.value = owner.ledger().used_on_channel(hbm).count();
            error.text = name_of(request.usage);
        }
        return error;
    }
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
