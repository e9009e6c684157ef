// SPDX-License-Identifier: Apache-2.0
//
// What an allocator and its block handles share, and who frees what when both may end first.
// Owns: the list of live blocks, its lock, the freeing protocol. Does not own: the driver or the
// ledger, which the allocator's own kind of owner knows. Layer: dmem.
#pragma once

#include <atomic>
#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/log.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/base/units.hpp"
#include "neuronbook/dmem/usage.hpp"

namespace neuronbook {
inline namespace v0 {

/// How many blocks, and their bytes.
struct BlockCount {
    std::uint64_t blocks = 0;
    Bytes charged{};   ///< as the driver rounded them
    Bytes requested{}; ///< as they were asked for
};

namespace detail {

/// All that is known of a block. Never changes once the block is linked.
struct BlockFacts {
    Chunk chunk{};
    Bytes requested{};
    HostDeviceId device{};
    PhysicalCore core{};
    Usage usage = Usage::Generic;
    std::uint32_t category = 0;
    ShortText hint{};
};

class BlockOwner;

/// One block. The count has a cache line of its own: handles are copied while others read facts.
struct alignas(64) BlockRecord : boost::intrusive::list_base_hook<> {
    explicit BlockRecord(BlockOwner& o) noexcept : owner(&o) {}
    BlockRecord(const BlockRecord&) = delete;
    BlockRecord& operator=(const BlockRecord&) = delete;

    BlockOwner* const owner;
    BlockFacts facts;
    /// Cleared when the allocator ends before the handles: the memory is no longer theirs.
    std::atomic<bool> held{true};
    alignas(64) std::atomic<std::uint64_t> count{1};
};

/// Lives until the allocator and the last record are gone.
///
/// The lock decides who frees a block: whoever finds it linked unlinks it, and only then calls the
/// driver, outside the lock. `freeing_` keeps the driver alive for a handle that is dropped while
/// the allocator ends: close() waits for it.
class BlockOwner {
public:
    BlockOwner() noexcept = default;
    BlockOwner(const BlockOwner&) = delete;
    BlockOwner& operator=(const BlockOwner&) = delete;

    /// Effects: `record` is listed and counted; it keeps the owner alive.
    void link(BlockRecord& record) noexcept {
        references_.fetch_add(1, std::memory_order_relaxed);
        const std::lock_guard lock(mutex_);
        live_.push_back(record);
        count(record.facts, census_, 1);
    }

    /// Effects: frees the block of a record whose last handle went, and the record.
    /// Returns: what the driver said; CLOSED if the allocator had freed it before.
    static Result<void> finish(BlockRecord& record) noexcept {
        auto& owner = *record.owner;
        owner.freeing_.fetch_add(1);
        const auto phase = owner.phase_.load();
        if (phase == Phase::Abandoned || (phase == Phase::Open && !owner.usable())) {
            owner.freed_one();
            return owner.abandon(record);
        }
        Result<void> said = closed();
        if (record.held.load(std::memory_order_acquire) && owner.unlink(record))
            said = owner.release(record.facts);
        owner.freed_one();
        owner.drop(record);
        return said;
    }

    /// Effects: the allocator ends. Frees every block still linked and tells the log of each; their
    /// handles stay valid and empty. With a driver that may not be spoken to, only forgets them.
    void close(std::string_view tier, std::string_view lifetime) noexcept {
        if (!usable()) {
            phase_.store(Phase::Abandoned);
            forget();
            release_reference();
            return;
        }
        phase_.store(Phase::Closed);
        BlockFacts facts;
        while (pop(facts)) {
            Log::write(LogLevel::Warn,
                       "%.*s allocator of device %u core %u ends with its %.*s: frees %llu bytes "
                       "of %.*s%s%.*s that are still held",
                       width(tier), tier.data(), facts.device.value(), facts.core.core.value(),
                       width(lifetime), lifetime.data(),
                       static_cast<unsigned long long>(facts.chunk.size.count()),
                       width(name_of(facts.usage)), name_of(facts.usage).data(),
                       facts.hint.view().empty() ? "" : ", ", width(facts.hint.view()),
                       facts.hint.view().data());
            (void)release(facts);
        }
        for (auto n = freeing_.load(); n != 0; n = freeing_.load()) freeing_.wait(n);
        release_reference();
    }

    /// Effects: counts a block that the driver refused to take back.
    void lose(const BlockFacts& facts) noexcept {
        const std::lock_guard lock(mutex_);
        count(facts, lost_, 1);
    }

    [[nodiscard]] BlockCount outstanding() const noexcept {
        const std::lock_guard lock(mutex_);
        return census_;
    }
    [[nodiscard]] BlockCount lost() const noexcept {
        const std::lock_guard lock(mutex_);
        return lost_;
    }

protected:
    ~BlockOwner() = default;

private:
    enum class Phase : std::uint8_t { Open, Closed, Abandoned };

    /// Whether the driver may be spoken to. Only called while the driver is known to live.
    [[nodiscard]] virtual bool usable() const noexcept = 0;
    /// Takes a block out of the ledger and gives it to the driver.
    virtual Result<void> release(const BlockFacts& facts) noexcept = 0;
    virtual void destroy() noexcept = 0;

    static int width(std::string_view text) noexcept { return static_cast<int>(text.size()); }

    static tl::unexpected<Error> closed() noexcept {
        return fail({.status = Status::Closed,
                     .operation = Operation::Free,
                     .detail = Detail::Closed,
                     .text = ShortText{"allocator"}});
    }

    static void count(const BlockFacts& facts, BlockCount& census, std::uint64_t sign) noexcept {
        census.blocks += sign;
        census.charged = Bytes{census.charged.count() + sign * facts.chunk.size.count()};
        census.requested = Bytes{census.requested.count() + sign * facts.requested.count()};
    }

    void take(BlockRecord& record) noexcept {
        live_.erase(live_.iterator_to(record));
        count(record.facts, census_, ~std::uint64_t{0});
    }

    bool unlink(BlockRecord& record) noexcept {
        const std::lock_guard lock(mutex_);
        if (!record.is_linked()) return false;
        take(record);
        return true;
    }

    /// Everything is copied out under the lock: its handle may delete the record right after.
    bool pop(BlockFacts& facts) noexcept {
        const std::lock_guard lock(mutex_);
        if (live_.empty()) return false;
        auto& record = live_.front();
        facts = record.facts;
        take(record);
        record.held.store(false, std::memory_order_release);
        return true;
    }

    /// In a forked child the lock may belong to a thread that is not there: then the record stays
    /// where it is, which costs a few hundred bytes of a process that is about to exec or end.
    Result<void> abandon(BlockRecord& record) noexcept {
        const auto said = fail({.status = Status::Uninitialized,
                                .operation = Operation::Free,
                                .detail = Detail::NotUp});
        if (record.held.load(std::memory_order_acquire)) {
            if (!mutex_.try_lock()) return said;
            if (record.is_linked()) take(record);
            mutex_.unlock();
        }
        drop(record);
        return said;
    }

    void forget() noexcept {
        if (!mutex_.try_lock()) return;
        while (!live_.empty()) {
            auto& record = live_.front();
            take(record);
            record.held.store(false, std::memory_order_release);
        }
        mutex_.unlock();
    }

    void freed_one() noexcept {
        if (freeing_.fetch_sub(1) == 1 && phase_.load() != Phase::Open) freeing_.notify_all();
    }

    void drop(BlockRecord& record) noexcept {
        delete &record;
        release_reference();
    }

    void release_reference() noexcept {
        if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
    }

    mutable std::mutex mutex_;
    boost::intrusive::list<BlockRecord, boost::intrusive::constant_time_size<false>> live_;
    BlockCount census_;
    BlockCount lost_;
    std::atomic<std::uint64_t> references_{1};
    std::atomic<std::uint32_t> freeing_{0};
    std::atomic<Phase> phase_{Phase::Open};
};

} // namespace detail
} // namespace v0
} // namespace neuronbook
